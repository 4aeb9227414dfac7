"""Front matter edited in place: what changes is spliced in, everything else stays to the byte."""

import pytest
from ruamel.yaml import YAML

from leftoff.errors import DocumentError
from leftoff.projects.values import KEYS
from leftoff.projects.yaml_text import LARGEST_CHARS, YamlText
from leftoff.projects.yaml_values import scalar_text

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
    return YamlText(text=text, where="x").with_values(changes, ORDER).text


def test_a_value_is_replaced_and_the_comment_beside_it_stays():
    """One line differs, in the characters of the value."""
    assert text_of(ODD, compaction_count=3) == ODD.replace("compaction_count: 0  #", "compaction_count: 3  #")


def test_a_value_keeps_its_quotes():
    """Whoever quoted it had a reason."""
    made = text_of(
        "a: 1\nproject_name: 'x'  # c\nproject_id: \"y\"\n", project_name="it's", project_id='a "b"'
    )
    assert made == "a: 1\nproject_name: 'it''s'  # c\nproject_id: \"a \\\"b\\\"\"\n"


def test_an_anchor_stays_and_an_alias_becomes_a_value_of_its_own():
    """The place that the alias names is somebody else's."""
    assert text_of("current_skill: &x a  # c\n", current_skill="b") == "current_skill: &x b  # c\n"
    other = text_of("a: &x 1\ncurrent_section: *x  # c\n", current_section=2)
    assert other == "a: &x 1\ncurrent_section: 2  # c\n"


def test_a_folded_text_is_replaced_as_a_whole():
    """And nothing behind it."""
    made = text_of(ODD, next_task_description="short")
    assert made.endswith("next_task_description: short\n# the end\n")


@pytest.mark.parametrize("line", ["current_section:\n", "current_section:  # none\n", "current_section: ~\n"])
def test_an_empty_value_is_filled(line):
    """In its line, before its comment."""
    made = text_of(f"a: 1\n{line}b: 2\n", current_section=7)
    assert YamlText(text=made, where="x").values == {"a": 1, "current_section": 7, "b": 2}
    assert ("# none" in made) == ("# none" in line)


def test_a_new_key_stands_where_its_group_is():
    """Behind the key that comes before it in a new file."""
    assert text_of("session_count: 1  # c\n\nproject_id: x\n", project_name="N") == (
        "session_count: 1  # c\n\nproject_id: x\nproject_name: N\n"
    )
    assert text_of("project_id: x", session_count=2) == "session_count: 2\nproject_id: x"
    assert text_of("other: x", session_count=2) == "other: x\nsession_count: 2\n"
    assert text_of("", session_count=2) == "session_count: 2\n"


def test_flags_are_set_where_they_stand_and_new_ones_follow():
    """In a list of flags, in a mapping of them, and in either on one line."""
    flags = {"research": True, "overview": True, "plan": None}
    listed = "planning_completed:\n- research: false  # r\n# c\n- other: 1\n"
    assert text_of(listed, planning_completed=flags) == (
        "planning_completed:\n- research: true  # r\n# c\n- other: 1\n- overview: true\n"
    )
    mapped = "planning_completed:\n  research: false\n"
    assert (
        text_of(mapped, planning_completed=flags)
        == "planning_completed:\n  research: true\n  overview: true\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "planning_completed: {research: false, reviewers: [ann, bob]}  # ask Bob\n",
            "planning_completed: {research: true, reviewers: [ann, bob], overview: true}  # ask Bob\n",
        ),
        ("planning_completed: {}  # c\n", "planning_completed: {research: true, overview: true}  # c\n"),
        (
            "planning_completed: [{research: false}, {by: x}]\n",
            "planning_completed: [{research: true}, {by: x}, {overview: true}]\n",
        ),
        ("planning_completed: [ ]\n", "planning_completed: [{research: true}, {overview: true} ]\n"),
        (
            "planning_completed:  # c\nx: 1\n",
            "planning_completed:  # c\n  - research: true\n  - overview: true\nx: 1\n",
        ),
        (
            "planning_completed: ~  # c\n",
            "planning_completed:   # c\n  - research: true\n  - overview: true\n",
        ),
        ("planning_completed:", "planning_completed:\n  - research: true\n  - overview: true\n"),
    ],
)
def test_flags_on_one_line_or_none_keep_what_stands_with_them(before, after):
    """Parts that nobody knows, and comments."""
    made = text_of(before, planning_completed={"research": True, "overview": True})
    assert made == after
    assert text_of(made, planning_completed={"research": True, "overview": True}) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("next_action: |  # c\n  old\n  # words\nx: 1\n", "next_action: new  # c\nx: 1\n"),
        ("next_action: >-\n  old\nx: 1\n", "next_action: new\nx: 1\n"),
        ("next_action:  # c\n  - a  # d\nx: 1\n", "next_action:  # c\n  new\n  # d\nx: 1\n"),
        ("next_action: [a,  # d\n  'x # y']  # e\nx: 1\n", "next_action: new  # e\n  # d\nx: 1\n"),
    ],
)
def test_a_value_over_several_lines_keeps_its_comments(before, after):
    """Beside it and inside of it; and a list in the place of a text is replaced like any other."""
    assert text_of(before, next_action="new") == after


def test_a_list_keeps_the_lines_of_what_stays_in_it():
    """With the comments before and beside them, also those of what goes."""
    before = "files_to_load:  # mine\n  # first\n  - a.md  # why\n  - b.md\n  # last\n  - c.md\n\nx: 1\n"
    made = text_of(before, files_to_load=["c.md", "new: one.md", "a.md"])
    assert made == (
        "files_to_load:  # mine\n  # last\n  - c.md\n  - 'new: one.md'\n  # first\n  - a.md  # why\n\nx: 1\n"
    )
    gone = text_of(before, files_to_load=["b.md"])
    assert gone == "files_to_load:  # mine\n  # first\n  # why\n  # last\n  - b.md\n\nx: 1\n"
    assert text_of(before, files_to_load=[]) == (
        "files_to_load: []  # mine\n  # first\n  # why\n  # last\n\nx: 1\n"
    )
    assert text_of("files_to_load: ['a # b',  # c\n  d]\n", files_to_load=["e"]) == (
        'files_to_load: ["e"]\n  # c\n'
    )
    assert text_of("files_to_load: [a]  # c\n", files_to_load=[]) == "files_to_load: []  # c\n"
    assert text_of("files_to_load:  # c\n", files_to_load=["a, b"]) == 'files_to_load: ["a, b"]  # c\n'


def test_line_ends_of_windows_stay():
    """In what is there and in what is added."""
    made = text_of("a: 1\r\nproject_id: x\r\n", project_name="N", project_id="y")
    assert made == "a: 1\r\nproject_id: y\r\nproject_name: N\r\n"


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
def test_every_text_comes_back_as_it_was(value):
    """Written by a real emitter on one line."""
    told = scalar_text(value)
    assert "\n" not in told
    assert YAML(typ="safe").load(f"k: {told}\n")["k"] == value
    assert (
        YamlText(text=text_of("a: 1\nnext_action: old\n", next_action=value), where="x").values["next_action"]
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
def test_what_cannot_be_read_is_named_with_its_line(text, words):
    """Of the file, not of the front matter."""
    with pytest.raises(DocumentError, match=words):
        _ = YamlText(text=text, where="x", first_line=2).values


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{a: 1, b: 2}\n", "one key to a line"),
        ("a: 1\nsession_count: &c 2\nb: [*c]\n", "would lose b"),
    ],
)
def test_an_edit_that_would_touch_anything_else_is_refused(text, words):
    """The text is read again after every edit."""
    with pytest.raises(DocumentError, match=words):
        text_of(text, session_count=5)


def test_aliases_that_multiply_or_hold_themselves_are_refused():
    """A front matter can come from anywhere."""
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
            _ = YamlText(text=text, where="x").values
        with pytest.raises(DocumentError, match=words):
            text_of(text, session_count=1)


def test_the_root_may_hold_keys_that_are_no_text():
    """They are nobody's business, and stay."""
    made = text_of("? [a, b]\n: 1\n1: {? [c] : d}\nsession_count: 1\n", session_count=2)
    assert made == "? [a, b]\n: 1\n1: {? [c] : d}\nsession_count: 2\n"
    assert YamlText(text="null\n", where="x").values == {}
    assert YamlText(text="n: 0x1F\nf: 1e3\nh: 12_000\n", where="x").values == {
        "n": "0x1F",
        "f": 1000.0,
        "h": 12000,
    }
