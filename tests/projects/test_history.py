"""The session history of a resume state."""

from dataclasses import replace
from pathlib import Path

import pytest

from leftoff.projects import body, history, update
from leftoff.projects.history import SessionWork
from leftoff.projects.progress import UserInput
from tests.projects.builders import OVERVIEW, STEPS, first, news, project, update_twice


@pytest.fixture
def home():
    return project(Path.cwd(), overview=OVERVIEW, steps=STEPS)


def test_a_session_has_one_entry_and_keeps_its_notes(home):
    """An entry lists what was done in its session, and a later session becomes the current one."""
    one = SessionWork(
        agent="a",
        session_id="s-1",
        compactions=2,
        decisions=("SQLite",),
        created=("x.py",),
        modified=("y.py",),
    )
    document = update.update_document(
        first(home), news(home, work=one, given=UserInput(notes=("hello",), pending=("y.py - tests",)))
    )
    assert history.has_session(document, "a", "s-1")
    home.part("steps").write_text(STEPS.replace("[ ] four", "[x] four"), encoding="utf-8")
    document = update.update_document(document, news(home, work=replace(one, compactions=3)))
    text = document.text
    for words in (
        "- Completed 1 task (4/5)",
        "compacted 3 times",
        "- Note: hello",
        "1. SQLite",
        "- `x.py`",
        "- `y.py`",
    ):
        assert text.count(words) == 1, words
    assert "Decided" not in text, "a decision is listed once"
    assert (document.state.metadata.session_count, document.state.metadata.compaction_count) == (1, 3)
    assert body.list_items(document.body, "pending") == []
    document = update.update_document(
        document,
        news(home, work=SessionWork(agent="b", session_id="s-2", created=("x.py",), modified=("x.py",))),
    )
    assert document.text.count("(Current)") == 1
    assert "### Session 2 (Current): " in document.text
    assert "(Current)" not in history.end_sessions(document).text
    without = document.with_text(lambda whole: whole.replace("## Session History", "## What we did"))
    again = update.update_document(without, news(home, work=SessionWork(agent="c", session_id="s-3")))
    assert again.text.index("session.b.s-2") < again.text.index("session.c.s-3")


def test_a_session_is_counted_once_even_if_its_entry_was_edited_or_removed(home):
    """The text stays as a person left it; the counts are kept."""
    one = SessionWork(agent="a", session_id="s-1", compactions=2)
    edited = update.update_document(first(home), news(home, work=one)).with_text(
        lambda text: text.replace("### Session 1 (Current)", "### My own words")
    )
    updated = update_twice(edited, news(home, work=replace(one, compactions=3)))
    assert "### My own words" in updated.text
    assert (updated.state.metadata.session_count, updated.state.metadata.compaction_count) == (1, 3)
    bare = first(home).with_text(lambda text: text.replace("## Session History", "## What we did"))
    updated = update_twice(bare, news(home, work=one))
    assert (updated.state.metadata.session_count, updated.state.metadata.compaction_count) == (1, 2)
    updated = update_twice(updated, news(home, work=replace(one, compactions=3)))
    assert (updated.state.metadata.session_count, updated.state.metadata.compaction_count) == (1, 3)
    assert "Session 1" not in updated.text


def test_a_rule_inside_a_code_fence_does_not_end_the_history(home):
    document = first(home).with_text(
        lambda text: text.replace("## Session History\n", "## Session History\n\n```\na\n---\nb\n```\n")
    )
    updated = update_twice(document, news(home, work=SessionWork(agent="a", session_id="s-1")))
    assert "```\na\n---\nb\n```\n\n<!-- leftoff:session.a.s-1" in updated.text


def test_a_note_for_an_edited_entry_is_added_beside_it(home):
    one = SessionWork(agent="a", session_id="s-1")
    edited = update.update_document(first(home), news(home, work=one)).with_text(
        lambda text: text.replace("### Session 1 (Current)", "### My own words")
    )
    updated = update_twice(edited, news(home, work=one, given=UserInput(notes=("hello",))))
    assert [item.text for item in body.items_below(updated.body, *body.NOTES)] == ["hello"]
