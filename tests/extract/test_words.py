"""Taking text apart: sentences, telling lines of output, identifiers."""

import pytest

from leftoff.extract import words


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
def test_sentences(text: str, found: list[str]) -> None:
    """Without code blocks, bold print, bullets and tables; code in them stays as it is."""
    assert [*words.sentences(text)] == found


def test_a_statement_with_a_question_behind_it_is_two() -> None:
    """So that each can be judged for itself; a very long sentence is cut at its semicolons."""
    asked = [*words.typed_sentences("we need a safety net, can you add one?", is_casual=False)]
    assert asked == ["we need a safety net", "can you add one?"]
    long = "; ".join(["this part of a very long sentence goes on and on and on"] * 6)
    assert len([*words.typed_sentences(long, is_casual=False)]) == 6


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("collected 3\n==== 3 passed in 1s ====\n", "3 passed in 1s"),
        ("ok  \tgithub.com/x/y\t0.3s\n", "ok  \tgithub.com/x/y\t0.3s"),
        ("nothing to see", ""),
        ("", ""),
    ],
)
def test_the_line_that_tells_a_good_end(output: str, line: str) -> None:
    """The last one that says how good; empty when none does."""
    assert words.telling_line(output) == line


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("a\nE  ValueError: no\nb", "E  ValueError: no"),
        ("one\n\nlast line\n", "last line"),
        ("", ""),
        ("x\n" * 9_000 + "fatal: at the end", "fatal: at the end"),
    ],
)
def test_the_line_that_tells_the_trouble(output: str, line: str) -> None:
    """The first that names an error, else the last."""
    assert words.trouble(output) == line


def test_names_are_what_somebody_made_up() -> None:
    """Of several words, not too short, each once in its order."""
    text = "parseLine calls max_size, parseLine and MAX but not word or aB or " + "x_" * 60
    assert words.names_in(text) == ["parseLine", "max_size"]
    assert words.ticked_in("see `Store`, `app.run()` and `Store`, not `x y`") == ["Store", "app.run"]


def test_names_are_the_same_beside_letters_of_any_script() -> None:
    """A name that begins with another letter is none, whatever way a text is taken apart."""
    text = "see parseLine → max_size, étéVert, straßeName and x1Y\\nfooBar"
    assert words.names_in(text) == ["parseLine", "max_size", "straßeName", "fooBar"]
    plain = "see parseLine -> max_size, 2fooBar and x1Y\\nfooBar"
    assert words.names_in(plain) == ["parseLine", "max_size", "fooBar"]


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
def test_telling_lines_are_found_in_any_case_and_script(output: str, line: str) -> None:
    """And words that only look like one are passed over."""
    assert words.telling_line(f"begun\n{output}\nended") == line
