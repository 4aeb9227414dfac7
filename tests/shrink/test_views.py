"""What the conversation still shows of files: lines that are gone, lines that stand elsewhere, and the seams between."""

from leftoff.model.actions import Answer, Changed, Looked, Ran, Wrote
from leftoff.shrink import views
from leftoff.shrink.placeholders import Origin, placeholder
from leftoff.shrink.steps import Said
from leftoff.shrink.views import FileText, files_of, gone, shingles, shown_in, without_seams
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
    """A failed call shows nothing, but names its file; words between calls show nothing either."""
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
    assert files.touched == {"a.py": 2, "b.py": 3, "c.py": 4, "d.py": 6}
    assert [*files.changed] == ["a.py", "d.py"]


def test_what_was_cut_shows_nothing_and_changes_nothing() -> None:
    """A placeholder is no text of the file."""
    cut = placeholder("Read", 900, "", Origin("0123abcd", 1, "deadbeef00"))
    files = files_of([step(1, Looked("a.py"), answer=cut), step(3, Changed("a.py", "x", cut))])
    assert (files.looks, files.written, files.changed) == ({}, {}, {})
