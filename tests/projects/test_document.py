"""The whole text of a resume state: nothing that a person wrote is lost."""

import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from leftoff.errors import DocumentError
from leftoff.projects import project_state
from leftoff.projects.document import LARGEST_BYTES, Document
from leftoff.projects.project_state import Planning
from tests.projects.builders import SEED, document


@pytest.mark.parametrize("text", ["", "# no front matter\n", "---\na: 1\n", "x\n---\na: 1\n---\n"])
def test_a_file_without_front_matter_is_reported_with_what_to_do(text):
    with pytest.raises(DocumentError, match="leftoff project import"):
        _ = document(text).state


def test_a_file_that_is_too_large_is_refused():
    with pytest.raises(DocumentError, match="too large"):
        Document.of_bytes(b" " * (LARGEST_BYTES + 1), "x")


def test_bytes_that_are_not_utf8_survive_in_the_body():
    data = SEED.encode() + b"\xff\xfe broken \x00\n"
    updated = Document.of_bytes(data, "x").with_values({"session_count": 3})
    assert updated.to_bytes() == data.replace(b"session_count: 2", b"session_count: 3")


def test_a_generated_reading_list_is_updated_until_a_person_edits_it():
    updated = document().with_reads(("a.md", "b.md"))
    assert updated.state.files_to_load == ("a.md", "b.md")
    assert updated.with_reads(("a.md", "b.md")) is updated
    assert updated.with_reads(("c.md",)).state.files_to_load == ("c.md",)
    theirs = updated.with_text(lambda text: text.replace("  - b.md\n", "  - b.md\n  - mine.md\n"))
    assert theirs.with_reads(("c.md",)) is theirs
    assert document("---\nfiles_to_load: [x]\n---\n").with_reads(("c.md",)).state.files_to_load == ("x",)


# A person and leftoff edit one file, a thousand times
# Explaining a failure traces every line of the parser, which takes minutes.
_PHASES = (Phase.explicit, Phase.generate)


_words = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\x00", exclude_categories=("Cc", "Cs")), max_size=30
)


_odd = st.sampled_from(
    [
        "on: off",
        "'quoted: key': \"a # b\"",
        "übung: größe 😀",
        "list: [1, 'two', {three: 4}]",
        "nested:\n  deeper:\n    - a\n    - b: c\n  # a comment inside",
        "text: |\n  line: one\n    # not a comment\n\n  line two",
        "folded: >-\n  words\n  and words",
        "empty:",
        "date: 2026-01-01",
        "# a comment of its own",
        "",
    ]
)


_phase = st.sampled_from(project_state.PHASES)


_change = st.one_of(
    st.fixed_dictionaries({"next_action": _words}),
    st.fixed_dictionaries({"session_count": st.integers(0, 10**9), "project_name": _words}),
    st.fixed_dictionaries({"current_phase": _phase, "current_skill": _words}),
    st.fixed_dictionaries({"files_to_load": st.lists(_words.filter(bool), max_size=4)}),
    st.fixed_dictionaries(
        {"planning_completed": st.fixed_dictionaries({flag: st.booleans() for flag in project_state.FLAGS})}
    ),
)


# Ways in which a person may have written what we set ourselves, each in the place of the usual lines of its key.
_flags_lines = st.sampled_from(
    [
        "planning_completed: {research: true, reviewers: [ann, 'b # c']}  # ask Bob",
        "planning_completed: [{research: false}, {by: ann}]  # ask Bob",
        "planning_completed:  # none yet",
        "planning_completed: ~  # none yet",
        "planning_completed: {}",
        "planning_completed:\n  research: true  # r\n  # between\n  by: [ann]\n  steps: false",
    ]
)


_own_lines = st.sampled_from(
    [
        "next_action: |  # c\n  two: lines\n  # not a comment",
        "next_action: >-\n  folded\n  text",
        "next_action: 'quoted'  # q",
        "files_to_load:  # mine\n  # first\n  - a.md  # why\n  - 'b # c.md'\n  # last\n  - c.md",
        "files_to_load: [a.md, 'b # c']  # short",
        "files_to_load: [a.md,  # one\n  b.md]  # two",
        "files_to_load:  # none",
    ]
)


@st.composite
def a_persons_file(draw):
    """Draw a state as a person may have edited it: odd keys and spellings, notes, either kind of line end."""
    front = SEED.split("---\n")[1]
    if draw(st.booleans()):
        front = front[: front.index("planning_completed:")] + draw(_flags_lines)
    chunks = front.splitlines()
    odds = draw(st.lists(_odd, max_size=6, unique=True))
    own = draw(st.lists(_own_lines, max_size=2, unique_by=lambda line: line.partition(":")[0]))
    for odd in [*odds, *own]:
        free = [at for at, chunk in enumerate(chunks) if not chunk.startswith("  ")]
        chunks.insert(draw(st.sampled_from([*free, len(chunks)])), odd)
    notes = "\n".join(draw(st.lists(_words, max_size=4)))
    text = "---\n" + "\n".join(chunks) + f"\n---\n\n# Notes\n\n{notes}\n"
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def lose_nothing(text, changes):
    """After every save: the values that were set, every other value, and every line that is not of a value."""
    found = document(text)
    for change in changes:
        before = found.values
        updated = found.with_values(change)
        assert updated.with_values(change).text == updated.text
        after = updated.values
        assert {key: after[key] for key in after if key not in change} == {
            key: before[key] for key in before if key not in change
        }
        for key, value in change.items():
            if key == "planning_completed":
                assert updated.state.planning == Planning(**value)
                assert unknown_flags(after[key]) == unknown_flags(before.get(key))
            else:
                assert after[key] == value
        assert updated.body == found.body
        assert comments(updated) == comments(found)
        assert ("\r\n" in updated.text) == ("\r\n" in text)
        assert updated.text.count("\n") - updated.text.count("\r\n") in {0, updated.text.count("\n")}
        found = updated


_COMMENTS = (
    *(
        "ask Bob",
        "none yet",
        "r",
        "between",
        "c",
        "q",
        "mine",
        "first",
        "why",
        "last",
        "short",
        "one",
        "two",
        "none",
    ),
    *("Resume State Metadata", "How many times conversation was compacted", "a comment inside"),
    "a comment of its own",
)


def comments(found):
    """Count each comment at the end of a line; those of an item move with it, so their order is free."""
    text = found.front.text
    return {each: len(re.findall(rf"(?m)(?:^|[ \t])# {each}[ \t]*\r?$", text)) for each in _COMMENTS}


def unknown_flags(value):
    """Return the entries among the flags that are not flags."""
    parts = value if isinstance(value, list) else [value or {}]
    return [(name, each) for part in parts for name, each in part.items() if name not in project_state.FLAGS]


@given(a_persons_file(), st.lists(_change, min_size=1, max_size=4))
@settings(max_examples=20, phases=_PHASES, suppress_health_check=[HealthCheck.too_slow])
def test_an_edit_changes_what_it_says_and_nothing_else(text, changes):
    """This holds for unusual YAML, handwritten notes and Windows line ends."""
    lose_nothing(text, changes)


@pytest.mark.stress
@given(a_persons_file(), st.lists(_change, min_size=4, max_size=4))
@settings(max_examples=250, phases=_PHASES, suppress_health_check=[HealthCheck.too_slow])
def test_a_thousand_edits_lose_nothing(text, changes):
    """Four edits each are made to 250 files."""
    lose_nothing(text, changes)
