"""Changing JSON in place: any layout, any content, and every byte of others stays."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.agents import json_text
from leftoff.errors import ConfigError
from leftoff.model.wiring import reverted

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
    """A JSON object as somebody could have written it."""
    text = json.dumps(draw(st.dictionaries(TEXTS, VALUES, max_size=4)), **draw(LAYOUTS))
    text = (
        draw(st.sampled_from(["", "\ufeff", " ", "\n\n"])) + text + draw(st.sampled_from(["", "\n", " \n\n"]))
    )
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n", "\n\n"])))


def said(text):
    return json.loads(text.removeprefix("\ufeff"))


@given(settings(), TEXTS, VALUES)
def test_a_member_is_added_and_nothing_else_changes(text, key, value):
    """Taken back, the text is the same byte for byte; removed, it says the same."""
    before = said(text)
    draft = json_text.begun(text, Path("x"))
    at = json_text.root(draft.text)
    draft.add_member(at, key, value)
    assert said(draft.text) == {**before, key: value}
    assert reverted(draft.text, draft.edits) == text
    draft.remove(at, json_text.items(draft.text, at)[-1])
    assert said(draft.text) == before


@given(st.lists(VALUES, max_size=4), VALUES, LAYOUTS, st.integers(0, 3))
def test_any_element_can_be_taken_out(values, new, layout, position):
    """The first, the last, one in the middle, the only one."""
    draft = json_text.begun(json.dumps({"a": values}, **layout), Path("x"))
    listed = json_text.member(draft.text, json_text.root(draft.text), "a")
    draft.add_element(listed.at, new)
    assert said(draft.text)["a"] == [*values, new]
    there = json_text.items(draft.text, listed.at)
    position %= len(there)
    draft.remove(listed.at, there[position])
    expected = [*values, new]
    del expected[position]
    assert said(draft.text)["a"] == expected


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
def test_what_is_added_takes_the_layout_it_finds(before, after):
    """Indentation, line ends, one line or many."""
    draft = json_text.begun(before, Path("x"))
    draft.add_member(json_text.root(draft.text), "k", [1])
    assert draft.text == after


def test_an_empty_list_in_a_laid_out_text_is_opened():
    """Its lines are indented as the line is that it stands on."""
    draft = json_text.begun('{\n  "a": {\n    "b": [ ]\n  }\n}\n', Path("x"))
    outer = json_text.member(draft.text, json_text.root(draft.text), "a")
    draft.add_element(json_text.member(draft.text, outer.at, "b").at, 1)
    assert draft.text == '{\n  "a": {\n    "b": [\n      1\n    ]\n  }\n}\n'.replace("\n    ]", "\n     ]")


def test_of_two_members_of_one_name_the_last_one_counts():
    """As for those who read the file."""
    text = '{"a": 1, "a": 2}'
    assert json_text.member(text, 0, "a").value == 2
    assert json_text.member(text, 0, "b") is None


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
def test_what_is_no_json_object_is_refused(text, words):
    """With the file, and the line where there is one."""
    with pytest.raises(ConfigError, match=rf"x\.json: .*({words}).*Nothing was changed"):
        json_text.begun(text, Path("x.json"))
