"""How facts are put into words."""

from leftoff.extract.phrases import clipped, coded, condensed, listed, quoted, relative


def test_clipping_cuts_at_a_word() -> None:
    """On one line, never longer than asked; a word without spaces is cut in the middle."""
    assert clipped("a  b\nc", 10) == "a b c"
    assert clipped("some words to be cut here", 20) == "some words to be…"
    assert clipped("x" * 50, 10) == "x" * 9 + "…"


def test_condensing_keeps_whole_sentences() -> None:
    """From the beginning; the first is cut if even that does not fit."""
    assert condensed("One is. Two is. Three is.", 18) == "One is. Two is."
    assert condensed("A single sentence that is long.", 20) == "A single sentence…"
    assert condensed("", 10) == ""


def test_names_and_quotes() -> None:
    """Back-ticks around each, or around all."""
    assert quoted("said so", 20) == "“said so”"
    assert listed(["a", "b"]) == "`a`, `b`"
    assert coded(["a", "b"]) == "`a, b`"


def test_paths_are_told_as_people_say_them() -> None:
    """Below the project without the project's own; elsewhere whole."""
    assert relative("/p/src/a.py", "/p/") == "src/a.py"
    assert relative("/q/a.py", "/p") == "/q/a.py"
    assert relative("/q/a.py", "") == "/q/a.py"
