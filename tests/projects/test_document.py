"""The whole text of a resume state: values, the reading list, generated blocks; nothing that a person wrote is lost."""

import dataclasses
import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from leftoff.errors import DocumentError
from leftoff.projects import blocks, body, update, values
from leftoff.projects.derive import Given
from leftoff.projects.document import LARGEST_BYTES, Document
from leftoff.projects.facts import Facts
from leftoff.projects.sessions import Worked
from leftoff.projects.steps import Steps
from leftoff.projects.update import News
from leftoff.projects.values import Planning, State
from tests.projects.making import AT

SEED = """---
# Resume State Metadata
resume_version: 1.0
last_updated: 2026-01-03T15:30:00
compaction_count: 0  # How many times conversation was compacted
session_count: 2

project_id: 24-project-skills
project_name: Project Skills Research & Resume Expansion
project_status: IN_PROGRESS  # RESEARCH | PLANNING | IN_PROGRESS | COMPLETE

current_phase: execution
current_section: 2
next_task_number: 15

planning_completed:
  - research: true
  - steps: false
---

# Resume State: Skills

## Critical Context to Remember

**Key Decisions Made**:
1. SQLite, because nothing has to be started

**Blockers/Risks Identified**:
- [ ] CI is slow
- [x] No key - we got one
"""


def document(text=SEED):
    return Document.of_bytes(text.encode("utf-8", "surrogateescape"), "a/_resume.md")


def test_the_front_matter_of_the_design_is_read_as_values():
    """Groups, types, and None for what it does not say."""
    state = document().state
    assert state.metadata.resume_version == "1.0"
    assert state.metadata.last_updated.isoformat() == "2026-01-03T15:30:00+00:00"
    assert (state.project.project_status, state.location.current_phase) == ("IN_PROGRESS", "execution")
    assert (state.execution.next_task_number, state.execution.progress_percentage) == (15, None)
    assert state.planning == Planning(research=True, steps=False)
    assert state.planning.first_open == "overview"


def test_the_state_has_every_key_in_the_order_of_a_new_file():
    """Known or not, with the manifest before the rest."""
    told = document().state.to_dict()
    assert [*told] == [*values.KEYS]
    assert told["planning_completed"] == {"research": True, "overview": None, "plan": None, "steps": False}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("session_count: two", "line 6: session_count is 'two', and takes a whole number"),
        ("session_count: -1", "takes a whole number, 0 or more"),
        ("session_count: true", "takes a whole number"),
        ("current_phase: dreaming", "takes one of research, planning, execution, testing, deployment"),
        ("project_name: [a]", "project_name is .*, and takes text"),
        ("last_updated: yesterday", "takes a time such as"),
        ("files_to_load: x.md", "takes a list of paths"),
        ("planning_completed: [research]", "takes flags such as"),
        ("planning_completed:\n  - research: maybe", "takes true or false"),
        (f"project_status: {'x' * 99}", "…, and takes one of RESEARCH"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(line, words):
    """With its line and what it takes."""
    text = f"---\na: 1\nb: 2\nc: 3\nd: 4\n{line}\n---\n"
    with pytest.raises(DocumentError, match=words) as trouble:
        _ = document(text).state
    assert trouble.value.line == 6


def test_a_name_that_is_a_number_is_text():
    """People call projects 2026."""
    assert document("---\nproject_name: 2026\n---\n").state.project.project_name == "2026"


@pytest.mark.parametrize("text", ["", "# no front matter\n", "---\na: 1\n", "x\n---\na: 1\n---\n"])
def test_a_file_without_front_matter_is_named(text):
    """With what makes one."""
    with pytest.raises(DocumentError, match="leftoff project import"):
        _ = document(text).state


def test_a_file_too_large_is_refused():
    """Before anything of it is read."""
    with pytest.raises(DocumentError, match="too large"):
        Document.of_bytes(b" " * (LARGEST_BYTES + 1), "x")


def test_bytes_that_are_no_text_survive_in_the_body():
    """Whatever somebody pasted."""
    data = SEED.encode() + b"\xff\xfe broken \x00\n"
    made = Document.of_bytes(data, "x").with_values({"session_count": 3})
    assert made.to_bytes() == data.replace(b"session_count: 2", b"session_count: 3")


def test_our_reading_list_is_kept_and_a_persons_is_theirs_for_good():
    """One comment added to it is enough."""
    made = document().with_reads(("a.md", "b.md"))
    assert made.state.files_to_load == ("a.md", "b.md")
    assert made.with_reads(("a.md", "b.md")) is made
    assert made.with_reads(("c.md",)).state.files_to_load == ("c.md",)
    theirs = made.with_text(lambda text: text.replace("  - b.md\n", "  - b.md\n  - mine.md\n"))
    assert theirs.with_reads(("c.md",)) is theirs
    assert document("---\nfiles_to_load: [x]\n---\n").with_reads(("c.md",)).state.files_to_load == ("x",)


def test_a_block_that_was_edited_or_taken_out_is_a_persons():
    """Its hash tells; and what is gone is not put back."""
    text = f"before\n{blocks.written('x', 'ours')}after\n"
    assert blocks.replaced(text, "x", "new") == f"before\n{blocks.written('x', 'new')}after\n"
    edited = text.replace("ours", "ours, mended")
    assert blocks.replaced(edited, "x", "new") is edited
    assert blocks.replaced("before\nafter\n", "x", "new") == "before\nafter\n"
    assert blocks.replaced(text, "x", "ours") is text
    assert blocks.replaced(text, "x", "ours", {"n": "1"}) != text


def test_a_block_is_known_with_line_ends_of_windows():
    """Who opens it there has not edited it."""
    text = ("a\n" + blocks.written("x", "one\ntwo", {"n": "1"})).replace("\n", "\r\n")
    assert blocks.found_in(text)["x"].is_ours
    assert blocks.replaced(text, "x", "three").count("\r\n") == text.count("\r\n") - 1


def test_broken_markers_are_no_blocks():
    """One without an end, and the second of a name."""
    assert blocks.found_in("<!-- leftoff:x 12345678 -->\nno end\n") == {}
    twice = blocks.written("x", "first") + blocks.written("x", "second")
    assert blocks.found_in(twice)["x"].content == "first"


def test_lists_are_read_whoever_wrote_them():
    """Numbers, bullets, boxes; not those of other labels."""
    assert [item.text for item in body.listed(document().body, "decisions")] == [
        "SQLite, because nothing has to be started"
    ]
    assert [(item.text, item.is_done) for item in body.listed(document().body, "blockers")] == [
        ("CI is slow", False),
        ("No key - we got one", True),
    ]
    assert body.listed(document().body, "assumptions") == []


def test_a_heading_in_a_fence_is_none():
    """Sections end at headings only."""
    found = body.sections("## A\nx\n```\n## B\n```\ny\n## C\nz\n## A\nagain\n")
    assert found == {"A": "x\n```\n## B\n```\ny", "C": "z"}


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
_phase = st.sampled_from(values.PHASES)
_change = st.one_of(
    st.fixed_dictionaries({"next_action": _words}),
    st.fixed_dictionaries({"session_count": st.integers(0, 10**9), "project_name": _words}),
    st.fixed_dictionaries({"current_phase": _phase, "current_skill": _words}),
    st.fixed_dictionaries({"files_to_load": st.lists(_words.filter(bool), max_size=4)}),
    st.fixed_dictionaries(
        {"planning_completed": st.fixed_dictionaries({flag: st.booleans() for flag in values.FLAGS})}
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
    """Ours or the design's, with odd keys between, own spellings of our keys, notes in the body, either kind of line end."""
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
        made = found.with_values(change)
        assert made.with_values(change).text == made.text
        after = made.values
        assert {key: after[key] for key in after if key not in change} == {
            key: before[key] for key in before if key not in change
        }
        for key, value in change.items():
            if key == "planning_completed":
                assert made.state.planning == Planning(**value)
                assert unknown_flags(after[key]) == unknown_flags(before.get(key))
            else:
                assert after[key] == value
        assert made.body == found.body
        assert comments(made) == comments(found)
        assert ("\r\n" in made.text) == ("\r\n" in text)
        assert made.text.count("\n") - made.text.count("\r\n") in {0, made.text.count("\n")}
        found = made


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
    """How often each comment stands at the end of a line; those of an item go with it, so their order is free."""
    text = found.front.text
    return {each: len(re.findall(rf"(?m)(?:^|[ \t])# {each}[ \t]*\r?$", text)) for each in _COMMENTS}


def unknown_flags(value):
    """What stands with the flags and is none."""
    parts = value if isinstance(value, list) else [value or {}]
    return [(name, each) for part in parts for name, each in part.items() if name not in values.FLAGS]


@given(a_persons_file(), st.lists(_change, min_size=1, max_size=4))
@settings(max_examples=20, phases=_PHASES, suppress_health_check=[HealthCheck.too_slow])
def test_no_edit_and_save_loses_anything(text, changes):
    """Odd YAML, hand-written notes, Windows: each edit changes what it says, and nothing else."""
    lose_nothing(text, changes)


@pytest.mark.stress
@given(a_persons_file(), st.lists(_change, min_size=4, max_size=4))
@settings(max_examples=250, phases=_PHASES, suppress_health_check=[HealthCheck.too_slow])
def test_a_thousand_edits_and_saves_lose_nothing(text, changes):
    """The same, 250 files with four edits each."""
    lose_nothing(text, changes)


_given = st.builds(
    Given,
    decisions=st.lists(_words, max_size=2).map(tuple),
    blockers=st.lists(_words, max_size=2).map(tuple),
    notes=st.lists(_words, max_size=2).map(tuple),
    next_action=st.none() | _words.filter(bool),
)
_worked = st.none() | st.builds(
    Worked,
    agent=st.sampled_from(["a", "b"]),
    session_id=st.sampled_from(["s-1", "s-2"]),
    compactions=st.integers(0, 3),
    decisions=st.lists(_words, max_size=2).map(tuple),
    modified=st.lists(_words.filter(bool), max_size=2).map(tuple),
)


@given(st.lists(st.tuples(_given, _worked), min_size=1, max_size=4), st.booleans())
@settings(max_examples=15, phases=_PHASES, suppress_health_check=[HealthCheck.too_slow])
def test_telling_the_same_twice_changes_not_a_byte(told, is_windows):
    """Whatever is told, by whom, in whichever line ends; and a note outside of blocks is always there."""
    empty = Facts(steps=Steps(), purpose=None, planning=Planning(), reads=("_resume.md",))
    found = update.created("1-x", "X", News(facts=empty, at=AT, words_for_it="1"))
    found = found.with_text(
        lambda text: text.replace("## Session History\n", "## Session History\n\nMY NOTE\n")
    )
    if is_windows:
        found = found.with_text(lambda text: text.replace("\n", "\r\n"))
    for number, (said, worked) in enumerate(told):
        at = AT.replace(day=4 + number)
        news = News(facts=empty, at=at, words_for_it="1", given=said, worked=worked)
        found = update.updated(found, news)
        again = update.updated(found, dataclasses.replace(news, at=at.replace(hour=23)))
        assert again.text == found.text
        assert "MY NOTE" in found.text
        assert all(block.is_ours for block in blocks.found_in(found.text).values())
        assert found.text.count("\r\n") in ({found.text.count("\n")} if is_windows else {0})
    assert isinstance(found.state, State)
