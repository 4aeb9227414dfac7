"""Sentences, what the user typed and did not paste, quotes and shortening."""

import pytest

from leftoff.extraction import wording


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three? four", ["One.", "Two!", "Three? four"]),
        ("version 1.2 is out. `Code` follows", ["version 1.2 is out.", "`Code` follows"]),
        ("これは一つ。これは二つ。", ["これは一つ。", "これは二つ。"]),
        ("# Title\n- **Bold** entry\n2) second\n[x] third", ["Title", "Bold entry", "second", "third"]),
        ("before\n```py\ncode. More\n```\nafter", ["before", "after"]),
        ("open\n```\nnever closed. At all", ["open"]),
        ("| a | b |\n| - | - |", []),
        ("use **kwargs and `__init__` here", ["use **kwargs and `__init__` here"]),
        ("", []),
    ],
)
def test_sentences_have_no_code_blocks_bullets_or_tables(text: str, found: list[str]) -> None:
    """Code within a sentence is kept."""
    assert [*wording.sentences(text)] == found


def test_only_what_was_typed_around_pasted_output_is_a_paragraph() -> None:
    """A few pasted lines are taken out; where there are many, everything between them is output too."""
    few = "Look at this:\n\n$ make test\n    at run (main.js:12)\n\nIt should pass."
    assert [*wording.typed_paragraphs(few)] == ["Look at this:", "It should pass."]
    log = "\n".join(f"10:11:{second:02} line {second}\nwrapped words" for second in range(9))
    assert [*wording.typed_paragraphs(f"Before.\n{log}\nAfter.")] == ["Before.", "wrapped words\nAfter."]


def test_shortening_cuts_at_a_word() -> None:
    """The result is one line, never longer than asked; a word without spaces is cut in the middle."""
    assert wording.shorten("a  b\nc", 10) == "a b c"
    assert wording.quote("said so", 20) == "“said so”"
    assert wording.shorten("some words to be cut here", 20) == "some words to be…"
    assert wording.shorten("x" * 50, 10) == "x" * 9 + "…"


def test_first_sentences_are_whole() -> None:
    """The first sentence is cut if it does not fit."""
    assert wording.first_sentences("One is. Two is. Three is.", 18) == "One is. Two is."
    assert wording.first_sentences("A single sentence that is long.", 20) == "A single sentence…"
    assert wording.first_sentences("", 10) == ""


def test_paths_below_the_project_are_relative() -> None:
    """Other paths stay whole."""
    assert wording.relative_path("/p/src/a.py", "/p/") == "src/a.py"
    assert wording.relative_path("/q/a.py", "/p") == "/q/a.py"
    assert wording.relative_path("/q/a.py", "") == "/q/a.py"
