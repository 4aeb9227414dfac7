"""What the conversation still shows of files: lines that are gone, lines that have moved, and the seams between."""

from collections.abc import Iterator, Set
from random import Random

from leftoff.core.actions import Answer, Changed, Looked, Ran, Wrote
from leftoff.shrink import file_views
from leftoff.shrink.file_views import (
    FileText,
    droppable_lines,
    file_history,
    inner_words,
    lines_gone,
    lines_shown_in,
    shingles,
)
from leftoff.shrink.placeholder import Origin, placeholder
from leftoff.shrink.steps import Message
from tests.shrink.builders import step


def look(*lines: str, order: int = 0) -> FileText:
    return FileText(order, "a.py", lines, lines)


def test_only_lines_that_an_edit_changed_are_gone() -> None:
    change = Changed("a.py", "one\ntwo\nthree", "one\nTWO\nthree")
    assert lines_gone(look("zero", "one", "two", "three"), [(1, change)]) == [False, False, True, False]


def test_an_edit_before_the_look_or_elsewhere_changes_nothing() -> None:
    lines = look("one", "two", order=5)
    changes = [
        (4, Changed("a.py", "one", "x")),
        (6, Changed("a.py", "nine", "x")),
        (7, Changed("a.py", "", "x")),
    ]
    assert lines_gone(lines, changes) == [False, False]


def test_a_file_that_was_written_again_is_gone_completely() -> None:
    assert lines_gone(look("one", "two"), [(1, Wrote("a.py", "one"))]) == [True, True]


def test_removed_lines_are_gone_and_an_insertion_removes_none() -> None:
    assert lines_gone(look("a", "b", "c"), [(1, Changed("a.py", "a\nb\nc", "a\nc"))]) == [False, True, False]
    assert lines_gone(look("a", "b"), [(1, Changed("a.py", "a\nb", "a\nnew\nb"))]) == [False, False]
    assert lines_gone(look("a", "b"), [(1, Changed("a.py", "a", "a\nnew"))]) == [False, False]


def test_lines_are_shown_later_only_with_their_neighbours() -> None:
    later = set(shingles(["a", "b", "c", "d"]))
    assert lines_shown_in(["a", "b", "c", "d"], later) == [True] * 4
    assert lines_shown_in(["x", "b", "c", "d"], later) == [False, False, False, True]
    assert lines_shown_in(["b", "a"], later) == [False, False]
    assert lines_shown_in(["a"], set(shingles(["a"]))) == [True]


class OnlyAsked(Set[file_views.Shingle]):
    """A set that may be asked what is in it, and not gone through."""

    def __init__(self, *lines: str) -> None:
        self._known = {*shingles(lines)}

    def __contains__(self, shingle: object) -> bool:
        return shingle in self._known

    def __iter__(self) -> Iterator[file_views.Shingle]:
        raise AssertionError("copied")

    def __len__(self) -> int:
        raise AssertionError("measured")


def test_one_more_text_counts_without_copying_the_others() -> None:
    """The texts shown later may be large."""
    later, too = OnlyAsked("a", "b", "c"), OnlyAsked("b", "c", "d")
    assert lines_shown_in(["a", "b", "c", "d"], later, too) == [True] * 4
    assert lines_shown_in(["a", "b", "c", "d"], later) == [True, False, False, False]
    assert lines_shown_in(["x", "b", "c", "d"], later, too) == [False, False, False, True]


def test_an_old_text_is_searched_only_where_its_words_occur() -> None:
    """The words of the old text are determined once."""
    assert inner_words("beginning of_the_long text, some short end") == {"of_the_long", "text", "short"}
    assert inner_words("one") == inner_words("one two") == inner_words("") == frozenset()
    change = Changed("a.py", "one two three", "x")
    assert lines_gone(look("one two three"), [(1, change)]) == [True]
    assert lines_gone(look("one two three"), [(1, change)], lambda _: frozenset({"four"})) == [False]


def test_searching_by_words_first_gives_the_same_result() -> None:
    random = Random(7)
    hits = 0
    for _ in range(600):
        words = "".join(random.choices(["ab", "a", " ", "\n", "é", "_", "-"], k=40))
        pieces = [words[begin : begin + random.randint(1, 12)] for begin in random.choices(range(30), k=5)]
        changes = [(order, Changed("a.py", old, "new")) for order, old in enumerate(pieces, 1)]
        text = look(*words.split("\n"))
        without = lines_gone(text, changes, lambda _: frozenset())
        assert lines_gone(text, changes) == without
        hits += any(without)
    assert hits > 300


def test_only_changes_after_a_text_count() -> None:
    conversation = [
        step(1, Changed("a.py", "x", "one")),
        step(3, Looked("a.py"), answer="one\ntwo"),
        step(5, Changed("b.py", "one", "1")),
        step(7, Changed("a.py", "two", "2")),
    ]
    files = file_history(conversation)
    assert [order for order, _ in files.changes_since("a.py", 0)] == [3]
    assert [order for order, _ in files.changes_since("a.py", -1)] == [0, 3]
    assert files.changes_since("c.py", 0) == []
    assert files.gone(files.looks[1]) == [False, True]


def test_a_stretch_shown_later_keeps_margins() -> None:
    """A future edit may begin in it and end after it."""
    shown = [True] * 30 + [False] * 5
    spare = droppable_lines(shown, [False] * 35)
    assert spare == [True] * 22 + [False] * 13
    assert droppable_lines([True] * 3, [False] * 3) == [True] * 3
    assert droppable_lines([False, *[True] * 10, False], [False] * 12) == [False] * 12
    assert droppable_lines([], []) == []


def test_line_numbers_are_removed() -> None:
    assert file_views.without_line_number("   12→\tcode") == "\tcode"
    assert file_views.without_line_number("7\tcode") == "code"
    assert file_views.without_line_number("7 apples") == "7 apples"


def test_files_are_known_from_successful_looks_edits_and_writes() -> None:
    conversation = [
        Message("hello"),
        step(1, Looked("./a.py"), answer="1\tx\n2\ty"),
        step(3, Changed("a.py", "x", "z"), answer="updated"),
        step(5, Looked("b.py"), answer=Answer(text="no such file", failed=True)),
        step(7, Wrote("c.py", "all"), answer=None),
        step(9, Ran("ls"), answer="a.py"),
        step(11, Wrote("d.py", "one\ntwo"), answer="1\n2\n3\n4\n5\n6"),
    ]
    files = file_history(conversation)
    assert files.looks[1].lines == ("x", "y")
    assert files.looks[1].shown == ("1\tx", "2\ty")
    assert [text.lines for text in files.texts(2)] == [("z",)]
    assert files.texts(3) == []
    assert [len(text.lines) for text in files.texts(6)] == [6, 2]  # the answer shows what is there now
    assert [*files.changed] == ["a.py", "d.py"]


def test_a_placeholder_shows_and_changes_nothing() -> None:
    cut = placeholder("Read", 900, "", Origin("0123abcd", 1, "deadbeef00"))
    files = file_history([step(1, Looked("a.py"), answer=cut), step(3, Changed("a.py", "x", cut))])
    assert (files.looks, files.written, files.changed) == ({}, {}, {})
