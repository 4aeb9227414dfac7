"""Changing JSON in place: any layout, any content, and every byte of others stays."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.agents import json_edit
from leftoff.core.hook_settings import revert_edits
from leftoff.errors import ConfigError

TEXTS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
LAYOUTS = st.sampled_from(
    [
        {},
        {"indent": 2},
        {"indent": "\t"},
        {"indent": 4, "ensure_ascii": False},
        {"separators": (",", ":")},
        {"indent": 0},
    ]
)


@st.composite
def settings(draw):
    """A JSON object as a person could have written it."""
    text = json.dumps(draw(st.dictionaries(TEXTS, VALUES, max_size=4)), **draw(LAYOUTS))
    text = (
        draw(st.sampled_from(["", "\ufeff", " ", "\n\n"])) + text + draw(st.sampled_from(["", "\n", " \n\n"]))
    )
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n", "\n\n"])))


def parsed(text):
    return json.loads(text.removeprefix("\ufeff"))


@given(settings(), TEXTS, VALUES)
def test_a_member_is_added_and_nothing_else_changes(text, key, value):
    """Taken back, the text is the same byte for byte; removed, it says the same."""
    before = parsed(text)
    draft = json_edit.start_draft(text, Path("x"))
    at = json_edit.root(draft.text)
    draft.add_member(at, key, value)
    assert parsed(draft.text) == {**before, key: value}
    assert revert_edits(draft.text, draft.edits) == text
    draft.remove(at, json_edit.items(draft.text, at)[-1])
    assert parsed(draft.text) == before


@given(st.lists(VALUES, max_size=4), VALUES, LAYOUTS, st.integers(0, 3))
def test_any_element_can_be_removed(values, new, layout, position):
    """The first, the last, a middle and an only element can all be removed."""
    draft = json_edit.start_draft(json.dumps({"a": values}, **layout), Path("x"))
    listed = json_edit.member(draft.text, json_edit.root(draft.text), "a")
    draft.add_element(listed.at, new)
    assert parsed(draft.text)["a"] == [*values, new]
    there = json_edit.items(draft.text, listed.at)
    position %= len(there)
    draft.remove(listed.at, there[position])
    expected = [*values, new]
    del expected[position]
    assert parsed(draft.text)["a"] == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "k": [\n    1\n  ]\n}'),
        ("{ }", '{\n  "k": [\n    1\n  ]\n }'),
        ("{\n}\n", '{\n  "k": [\n    1\n  ]\n}\n'),
        ('{"a":1}', '{"a":1, "k": [1]}'),
        ('{ "a": 1 }', '{ "a": 1, "k": [1] }'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"k": [\n\t\t1\n\t]\n}'),
        ('{\r\n    "a": 1\r\n}', '{\r\n    "a": 1,\r\n    "k": [\r\n        1\r\n    ]\r\n}'),
        ('{\n  "a": 1,\n\n  "b": 2\n}', '{\n  "a": 1,\n\n  "b": 2,\n  "k": [\n    1\n  ]\n}'),
        ("", '{\n  "k": [\n    1\n  ]\n}\n'),
        ("\ufeff{}", '\ufeff{\n  "k": [\n    1\n  ]\n}'),
    ],
)
def test_additions_follow_the_layout_of_the_text(before, after):
    """Indentation, line ends and a layout on one line are followed."""
    draft = json_edit.start_draft(before, Path("x"))
    draft.add_member(json_edit.root(draft.text), "k", [1])
    assert draft.text == after


def test_an_empty_list_in_a_laid_out_text_is_opened():
    """Added lines are indented relative to the line of the list."""
    draft = json_edit.start_draft('{\n  "a": {\n    "b": [ ]\n  }\n}\n', Path("x"))
    outer = json_edit.member(draft.text, json_edit.root(draft.text), "a")
    draft.add_element(json_edit.member(draft.text, outer.at, "b").at, 1)
    assert draft.text == '{\n  "a": {\n    "b": [\n      1\n    ]\n  }\n}\n'.replace("\n    ]", "\n     ]")


def test_of_two_members_of_one_name_the_last_one_counts():
    """JSON parsers also use the last of two members with the same name."""
    text = '{"a": 1, "a": 2}'
    assert json_edit.member(text, 0, "a").value == 2
    assert json_edit.member(text, 0, "b") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{\n "a": 1,\n}', "line 3"),
        ("[1]", "not a JSON object"),
        ('{"a": ' + "[" * 100_000, "not JSON|cannot be read"),
        ('{"a": ' + "9" * 5000 + "}", "cannot be read"),
        ("// a comment\n{}", "line 1"),
    ],
)
def test_a_text_that_is_not_a_json_object_is_refused(text, words):
    """The error names the file, and the line if there is one."""
    with pytest.raises(ConfigError, match=rf"x\.json: .*({words}).*Nothing was changed"):
        json_edit.start_draft(text, Path("x.json"))
