"""Front matter changed in place: only changed entries are written, all others keep their bytes."""

import pytest
from ruamel.yaml import YAML

from leftoff.errors import DocumentError
from leftoff.projects.front_matter import LARGEST_CHARS, FrontMatter, scalar_text
from leftoff.projects.project_state import KEYS

ORDER = [*KEYS]
ODD = """\
# metadata
resume_version: 1.0
"on": 'yes: no'   # a word that older YAML takes for true
off: no
notes: |
  key: value
  # no comment, but text

list: [a, "b: c", {d: e}]
compaction_count: 0  # how often
project_name: "A: 'quoted' name"   # of ours
nested:
    deeper:
        - 1
        # between
        - {x: y}
current_skill: &anchor execute-project
copy: *anchor
next_task_description: >-
  folded
  text
# the end
"""


def text_of(text, **changes):
    return FrontMatter(text=text, where="x").with_values(changes, ORDER).text


def test_only_the_changed_key_differs():
    """The comment and spacing of the changed key are kept."""
    assert text_of(ODD, compaction_count=3) == ODD.replace("compaction_count: 0  #", "compaction_count: 3  #")


def test_setting_the_current_value_changes_nothing():
    """Not even spacing that ruamel would normalise changes."""
    odd = "session_count:    2 # c\nplanning_completed: { research:  true }\n"
    assert text_of(odd, session_count=2, planning_completed={"research": True, "plan": None}) == odd


def test_a_value_keeps_its_quotes():
    """A person may have quoted it for a reason."""
    changed = text_of(
        "a: 1\nproject_name: 'x'  # c\nproject_id: \"y\"\n", project_name="it's", project_id='a "b"'
    )
    assert changed == "a: 1\nproject_name: 'it''s'  # c\nproject_id: \"a \\\"b\\\"\"\n"


def test_an_alias_becomes_a_value_of_its_own():
    """The anchor that it names keeps its value, and the comment is kept below."""
    changed = text_of("a: &x 1\ncurrent_section: *x  # c\n", current_section=2)
    assert changed == "a: &x 1\ncurrent_section: 2\n  # c\n"


def test_a_folded_text_is_replaced_as_a_whole():
    changed = text_of(ODD, next_task_description="short")
    assert changed.endswith("next_task_description: >-\n  short\n# the end\n")


@pytest.mark.parametrize("line", ["current_section:\n", "current_section:  # none\n", "current_section: ~\n"])
def test_an_empty_value_is_filled_and_keeps_its_comment(line):
    changed = text_of(f"a: 1\n{line}b: 2\n", current_section=7)
    assert FrontMatter(text=changed, where="x").values == {"a": 1, "current_section": 7, "b": 2}
    assert ("# none" in changed) == ("# none" in line)


def test_an_unknown_value_is_written_as_null():
    assert text_of("current_section: 3  # c\n", current_section=None) == "current_section: null  # c\n"


def test_a_timestamp_is_written_without_quotes():
    assert (
        text_of("a: 1\n", last_updated="2026-01-03T15:30:00Z") == "a: 1\nlast_updated: 2026-01-03T15:30:00Z\n"
    )


def test_a_new_key_goes_after_the_key_that_precedes_it_in_a_new_file():
    assert text_of("session_count: 1  # c\n\nproject_id: x\n", project_name="N") == (
        "session_count: 1  # c\n\nproject_id: x\nproject_name: N\n"
    )
    assert text_of("project_id: x", session_count=2) == "session_count: 2\nproject_id: x"
    assert text_of("other: x", session_count=2) == "other: x\nsession_count: 2\n"
    assert text_of("", session_count=2) == "session_count: 2\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "planning_completed:\n- research: false  # r\n# c\n- other: 1\n",
            "planning_completed:\n- research: true   # r\n# c\n- other: 1\n- overview: true\n",
        ),
        (
            "planning_completed:\n    research: false\n",
            "planning_completed:\n    research: true\n    overview: true\n",
        ),
        (
            "planning_completed: {research: false, reviewers: [ann, bob]}  # ask Bob\n",
            "planning_completed: {research: true, reviewers: [ann, bob], overview: true} # ask Bob\n",
        ),
        (
            "planning_completed: [{research: false}, {by: x}]\n",
            "planning_completed: [research: true, by: x, overview: true]\n",
        ),
        (
            "planning_completed:  # c\nx: 1\n",
            "planning_completed:  # c\n  - research: true\n  - overview: true\nx: 1\n",
        ),
        ("planning_completed:", "planning_completed:\n  - research: true\n  - overview: true\n"),
    ],
)
def test_flags_are_set_in_place_and_new_ones_follow(before, after):
    """Unknown flags and comments stay, in a list, in a mapping and on one line."""
    flags = {"research": True, "overview": True, "plan": None}
    changed = text_of(before, planning_completed=flags)
    assert changed == after
    assert text_of(changed, planning_completed=flags) == after


def test_flags_behind_an_alias_are_refused():
    """Writing them would lose the flags that only the anchor names."""
    with pytest.raises(DocumentError, match="says planning_completed in a way that cannot be changed"):
        text_of("a: &a {by: x}\nplanning_completed: *a\n", planning_completed={"research": True})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("next_action: |  # c\n  old\n  # words\nx: 1\n", "next_action: |-  # c\n  new\nx: 1\n"),
        ("next_action:  # c\n  - a  # d\nx: 1\n", "next_action: new  # c\n  # d\nx: 1\n"),
        ("next_action: [a,  # d\n  'x # y']  # e\nx: 1\n", "next_action: new  # e\n  # d\nx: 1\n"),
    ],
)
def test_a_value_over_several_lines_keeps_its_comments(before, after):
    """A comment without a place beside the new value goes below it."""
    assert text_of(before, next_action="new") == after


def test_the_comment_of_a_block_text_survives_its_replacement():
    assert text_of("next_action: |  # c\n  a # b\n", next_action=None) == "next_action: null\n  # c\n"


def test_a_list_keeps_its_comments():
    """Comments beside items that stay move with them; comments of other items go below the list."""
    before = "files_to_load:  # mine\n  # first\n  - a.md  # why\n  - b.md\n  # last\n  - c.md\n\nx: 1\n"
    assert text_of(before, files_to_load=["c.md", "new: one.md", "a.md"]) == (
        "files_to_load:  # mine\n  # first\n  - c.md\n  - 'new: one.md'\n  - a.md  # why\n  # last\n\nx: 1\n"
    )
    for value in ([], ["b.md"], ["e"]):
        changed = text_of(before, files_to_load=value)
        assert FrontMatter(text=changed, where="x").values == {"files_to_load": value, "x": 1}
        assert all(changed.count(f"# {comment}\n") == 1 for comment in ("mine", "first", "why", "last"))
        assert changed.endswith("\n\nx: 1\n")
    assert (
        text_of("files_to_load: ['a # b',  # c\n  d]\n", files_to_load=["e"]) == "files_to_load: [e]\n  # c\n"
    )


def test_windows_line_ends_stay():
    updated = text_of("a: 1\r\nproject_id: x\r\n", project_name="N", project_id="y")
    assert updated == "a: 1\r\nproject_id: y\r\nproject_name: N\r\n"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "a: b",
        "# x",
        "yes",
        "null",
        "1.0",
        "- x",
        "é😀",
        "line\nline",
        "\ttab",
        "'",
        '"',
        "\u2028",
        "[",
        "&a",
        "x" * 500,
    ],
)
def test_every_text_survives_a_round_trip(value):
    scalar = scalar_text(value)
    assert "\n" not in scalar
    assert YAML(typ="safe").load(f"k: {scalar}\n")["k"] == value
    assert (
        FrontMatter(text=text_of("a: 1\nnext_action: old\n", next_action=value), where="x").values[
            "next_action"
        ]
        == value
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1\n", "line 3: the front matter is not YAML"),
        ("- a\n- b\n", "not made of keys and values"),
        ("a: 1\na: 2\n", "line 3: the front matter says a twice"),
        ("x" * (LARGEST_CHARS + 1), "longer than"),
        ("a: \x01\n", "is not YAML"),
    ],
)
def test_invalid_front_matter_is_reported_with_its_line(text, words):
    """The line is counted in the file."""
    with pytest.raises(DocumentError, match=words):
        _ = FrontMatter(text=text, where="x", first_line=2).values


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{a: 1, b: 2}\n", "one key to a line"),
        ("a: 1\nsession_count: &c 2\nb: [*c]\n", "would be broken by setting session_count"),
        ("a: &c 1\nsession_count: &c 2\nb: [*c]\n", "would lose b"),
    ],
)
def test_a_change_that_would_touch_another_key_is_refused(text, words):
    with pytest.raises(DocumentError, match=words):
        text_of(text, session_count=5)


def test_aliases_that_multiply_or_contain_themselves_are_refused():
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)
    )
    for text, words in (
        (bomb, "repeats its aliases|holds itself"),
        ("a: &a [*a]\n", "holds itself"),
        ("a: &a\n  - *a\n", "holds itself"),
        ("a: &a {b: *a}\n", "holds itself"),
    ):
        with pytest.raises(DocumentError, match=words):
            _ = FrontMatter(text=text, where="x").values
        with pytest.raises(DocumentError, match=words):
            text_of(text, session_count=1)


def test_keys_that_are_not_text_stay():
    updated = text_of("? [a, b]\n: 1\n1: {? [c] : d}\nsession_count: 1\n", session_count=2)
    assert updated == "? [a, b]\n: 1\n1: {? [c] : d}\nsession_count: 2\n"
    assert FrontMatter(text="null\n", where="x").values == {}
    assert FrontMatter(text="n: 0x1F\nf: 1e3\nh: 12_000\n", where="x").values == {
        "n": "0x1F",
        "f": 1000.0,
        "h": 12000,
    }
