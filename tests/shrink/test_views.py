"""What the conversation still shows of files: lines that are gone, lines that stand elsewhere, and the seams between."""

from collections.abc import Iterator, Set
from random import Random

from leftoff.model.actions import Answer, Changed, Looked, Ran, Wrote
from leftoff.shrink import views
from leftoff.shrink.placeholders import Origin, placeholder
from leftoff.shrink.steps import Said
from leftoff.shrink.views import FileText, files_of, gone, inner_words, shingles, shown_in, without_seams
from tests.shrink.making import step


def look(*lines: str, order: int = 0) -> FileText:
    return FileText(order, "a.py", lines, lines)


def test_a_replaced_line_is_gone_and_its_unchanged_neighbours_are_not() -> None:
    """What the new text begins and ends with too is still there."""
    change = Changed("a.py", "one\ntwo\nthree", "one\nTWO\nthree")
    assert gone(look("zero", "one", "two", "three"), [(1, change)]) == [False, False, True, False]


def test_an_edit_before_the_look_or_elsewhere_changes_nothing() -> None:
    """Neither does one without an old text."""
    lines = look("one", "two", order=5)
    changes = [
        (4, Changed("a.py", "one", "x")),
        (6, Changed("a.py", "nine", "x")),
        (7, Changed("a.py", "", "x")),
    ]
    assert gone(lines, changes) == [False, False]


def test_a_file_that_was_written_anew_is_gone_whole() -> None:
    """Whatever it holds now."""
    assert gone(look("one", "two"), [(1, Wrote("a.py", "one"))]) == [True, True]


def test_removed_lines_are_gone_and_an_inserted_one_takes_nothing() -> None:
    """A pure insertion leaves every line of the old text."""
    assert gone(look("a", "b", "c"), [(1, Changed("a.py", "a\nb\nc", "a\nc"))]) == [False, True, False]
    assert gone(look("a", "b"), [(1, Changed("a.py", "a\nb", "a\nnew\nb"))]) == [False, False]
    assert gone(look("a", "b"), [(1, Changed("a.py", "a", "a\nnew"))]) == [False, False]


def test_lines_are_shown_later_only_with_their_neighbours() -> None:
    """A line that stands elsewhere in other company is not the same text."""
    later = set(shingles(["a", "b", "c", "d"]))
    assert shown_in(["a", "b", "c", "d"], later) == [True] * 4
    assert shown_in(["x", "b", "c", "d"], later) == [False, False, False, True]
    assert shown_in(["b", "a"], later) == [False, False]
    assert shown_in(["a"], set(shingles(["a"]))) == [True]


class OnlyAsked(Set[views.Shingle]):
    """A set that may be asked what is in it, and not gone through."""

    def __init__(self, *lines: str) -> None:
        self._known = {*shingles(lines)}

    def __contains__(self, shingle: object) -> bool:
        return shingle in self._known

    def __iter__(self) -> Iterator[views.Shingle]:
        raise AssertionError("copied")

    def __len__(self) -> int:
        raise AssertionError("measured")


def test_what_one_more_text_shows_counts_too_and_none_is_copied_for_it() -> None:
    """What all later texts show may be much, and is asked for each edit."""
    later, too = OnlyAsked("a", "b", "c"), OnlyAsked("b", "c", "d")
    assert shown_in(["a", "b", "c", "d"], later, too) == [True] * 4
    assert shown_in(["a", "b", "c", "d"], later) == [True, False, False, False]
    assert shown_in(["x", "b", "c", "d"], later, too) == [False, False, False, True]


def test_an_old_text_is_looked_for_only_where_its_words_stand() -> None:
    """The longest words that something stands around in it; and what they are is found once for all looks."""
    assert inner_words("beginning of_the_long text, some short end") == {"of_the_long", "text", "short"}
    assert inner_words("one") == inner_words("one two") == inner_words("") == frozenset()
    change = Changed("a.py", "one two three", "x")
    assert gone(look("one two three"), [(1, change)]) == [True]
    assert gone(look("one two three"), [(1, change)], lambda _: frozenset({"four"})) == [False]


def test_looking_for_words_first_finds_the_same() -> None:
    """In texts of few words: pieces of them, whose words may be cut in two, are found as without."""
    random = Random(7)
    hits = 0
    for _ in range(600):
        words = "".join(random.choices(["ab", "a", " ", "\n", "é", "_", "-"], k=40))
        pieces = [words[begin : begin + random.randint(1, 12)] for begin in random.choices(range(30), k=5)]
        changes = [(order, Changed("a.py", old, "new")) for order, old in enumerate(pieces, 1)]
        text = look(*words.split("\n"))
        without = gone(text, changes, lambda _: frozenset())
        assert gone(text, changes) == without
        hits += any(without)
    assert hits > 300


def test_only_changes_behind_a_text_count_for_it() -> None:
    """Those of its own call, before it, and of other files do not."""
    told = [
        step(1, Changed("a.py", "x", "one")),
        step(3, Looked("a.py"), answer="one\ntwo"),
        step(5, Changed("b.py", "one", "1")),
        step(7, Changed("a.py", "two", "2")),
    ]
    files = files_of(told)
    assert [order for order, _ in files.changes_since("a.py", 0)] == [3]
    assert [order for order, _ in files.changes_since("a.py", -1)] == [0, 3]
    assert files.changes_since("c.py", 0) == []
    assert files.gone(files.looks[1]) == [False, True]


def test_a_stretch_that_is_shown_later_keeps_margins_where_the_text_goes_on() -> None:
    """An edit to come may begin in it and end behind it."""
    shown = [True] * 30 + [False] * 5
    spare = without_seams(shown, [False] * 35)
    assert spare == [True] * 22 + [False] * 13
    assert without_seams([True] * 3, [False] * 3) == [True] * 3
    assert without_seams([False, *[True] * 10, False], [False] * 12) == [False] * 12
    assert without_seams([], []) == []


def test_numbers_before_lines_are_no_part_of_them() -> None:
    """Both ways in which agents show them."""
    assert views.plain("   12→\tcode") == "\tcode"
    assert views.plain("7\tcode") == "code"
    assert views.plain("7 apples") == "7 apples"


def test_files_are_known_from_looks_edits_and_writings_that_succeeded() -> None:
    """A failed call shows nothing; words between calls show nothing either."""
    told = [
        Said("hello"),
        step(1, Looked("./a.py"), answer="1\tx\n2\ty"),
        step(3, Changed("a.py", "x", "z"), answer="updated"),
        step(5, Looked("b.py"), answer=Answer(text="no such file", failed=True)),
        step(7, Wrote("c.py", "all"), answer=None),
        step(9, Ran("ls"), answer="a.py"),
        step(11, Wrote("d.py", "one\ntwo"), answer="1\n2\n3\n4\n5\n6"),
    ]
    files = files_of(told)
    assert files.looks[1].lines == ("x", "y")
    assert files.looks[1].shown == ("1\tx", "2\ty")
    assert [text.lines for text in files.texts(2)] == [("z",)]
    assert files.texts(3) == []
    assert [len(text.lines) for text in files.texts(6)] == [6, 2]  # the answer shows what is there now
    assert [*files.changed] == ["a.py", "d.py"]


def test_what_was_cut_shows_nothing_and_changes_nothing() -> None:
    """A placeholder is no text of the file."""
    cut = placeholder("Read", 900, "", Origin("0123abcd", 1, "deadbeef00"))
    files = files_of([step(1, Looked("a.py"), answer=cut), step(3, Changed("a.py", "x", cut))])
    assert (files.looks, files.written, files.changed) == ({}, {}, {})
