"""Sentences, telling lines of output, identifiers, quotes and shortening."""

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


def test_a_statement_followed_by_a_question_is_split() -> None:
    """Each part is judged separately, and a very long sentence is split at its semicolons."""
    sentences = [*wording.typed_sentences("we need a safety net, can you add one?", is_casual=False)]
    assert sentences == ["we need a safety net", "can you add one?"]
    long = "; ".join(["this part of a very long sentence goes on and on and on"] * 6)
    assert len([*wording.typed_sentences(long, is_casual=False)]) == 6


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("collected 3\n==== 3 passed in 1s ====\n", "3 passed in 1s"),
        ("ok  \tgithub.com/x/y\t0.3s\n", "ok  \tgithub.com/x/y\t0.3s"),
        ("nothing to see", ""),
        ("", ""),
    ],
)
def test_success_lines(output: str, line: str) -> None:
    """The last line that reports success; empty when none does."""
    assert wording.success_line(output) == line


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("a\nE  ValueError: no\nb", "E  ValueError: no"),
        ("one\n\nlast line\n", "last line"),
        ("", ""),
        ("x\n" * 9_000 + "fatal: at the end", "fatal: at the end"),
    ],
)
def test_failure_lines(output: str, line: str) -> None:
    """The first line that names an error, else the last one."""
    assert wording.failure_line(output) == line


def test_identifiers_have_several_words() -> None:
    """Identifiers are not too short, and each is listed once in its order."""
    text = "parseLine calls max_size, parseLine and MAX but not word or aB or " + "x_" * 60
    assert wording.find_identifiers(text) == ["parseLine", "max_size"]
    assert wording.find_code_spans("see `Store`, `app.run()` and `Store`, not `x y`") == ["Store", "app.run"]


def test_identifiers_are_the_same_in_any_script() -> None:
    """A word that begins with another letter is not an identifier, in ASCII and other texts alike."""
    text = "see parseLine → max_size, étéVert, straßeName and x1Y\\nfooBar"
    assert wording.find_identifiers(text) == ["parseLine", "max_size", "straßeName", "fooBar"]
    plain = "see parseLine -> max_size, 2fooBar and x1Y\\nfooBar"
    assert wording.find_identifiers(plain) == ["parseLine", "max_size", "fooBar"]


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("12 PASSED in 3s", "12 PASSED in 3s"),
        ("✓ 12 passed", "✓ 12 passed"),
        ("Tests: 4", "Tests: 4"),
        ("ok  example/store  0.3s", "ok  example/store  0.3s"),
        ("the tests passed over it", ""),
        ("error: none of 12", ""),
    ],
)
def test_success_lines_in_any_case_and_script(output: str, line: str) -> None:
    """Words that only look like success are ignored."""
    assert wording.success_line(f"begun\n{output}\nended") == line


def test_shortening_cuts_at_a_word() -> None:
    """The result is one line, never longer than asked; a word without spaces is cut in the middle."""
    assert wording.shorten("a  b\nc", 10) == "a b c"
    assert wording.shorten("some words to be cut here", 20) == "some words to be…"
    assert wording.shorten("x" * 50, 10) == "x" * 9 + "…"


def test_first_sentences_are_whole() -> None:
    """The first sentence is cut if it does not fit."""
    assert wording.first_sentences("One is. Two is. Three is.", 18) == "One is. Two is."
    assert wording.first_sentences("A single sentence that is long.", 20) == "A single sentence…"
    assert wording.first_sentences("", 10) == ""


def test_quotes_and_code_spans() -> None:
    """Back-ticks go around each name, or around all of them."""
    assert wording.quote("said so", 20) == "“said so”"
    assert wording.code_list(["a", "b"]) == "`a`, `b`"
    assert wording.code_span(["a", "b"]) == "`a, b`"


def test_paths_below_the_project_are_relative() -> None:
    """Other paths stay whole."""
    assert wording.relative_path("/p/src/a.py", "/p/") == "src/a.py"
    assert wording.relative_path("/q/a.py", "/p") == "/q/a.py"
    assert wording.relative_path("/q/a.py", "") == "/q/a.py"
