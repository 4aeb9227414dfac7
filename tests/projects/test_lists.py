"""Entries added to the lists of a resume state."""

import re
from pathlib import Path

import pytest

from leftoff.errors import NotFoundError
from leftoff.projects import body, update
from leftoff.projects.history import SessionWork
from leftoff.projects.progress import UserInput
from tests.projects.builders import OVERVIEW, STEPS, first, news, project, update_twice


@pytest.fixture
def home():
    return project(Path.cwd(), overview=OVERVIEW, steps=STEPS)


EDITS = {
    "as it is": lambda text: text,
    "edited": lambda text: text.replace("- (none yet)", "- my own words"),
    "markers gone": lambda text: re.sub(r"<!-- /?leftoff:[^\n]*\n", "", text),
    "labels gone": lambda text: re.sub(r"\*\*[^\n]*:\n|<!-- /?leftoff:[^\n]*\n", "", text),
    "sections gone": lambda text: text[: text.index("## Session History")],
    "windows": lambda text: text.replace("- (none yet)", "- my own words").replace("\n", "\r\n"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_the_user_says_is_never_lost(home, edit):
    """Every list and note gets its entry once, and the user's own text is kept."""
    document = first(home).with_text(EDITS[edit])
    user_input = UserInput(
        decisions=("SQLite: x", "y" * 900),
        assumptions=("one user",),
        blockers=("CI is slow",),
        models=("Pre-Mortem: p",),
        pending=("a.py - tests",),
        notes=("hello",),
    )
    updated = update_twice(document, news(home, given=user_input))
    for name, words in (
        ("decisions", "SQLite: x"),
        ("decisions", "y" * 900),
        ("assumptions", "one user"),
        ("blockers", "CI is slow"),
        ("mental-models", "Pre-Mortem: p"),
        ("pending", "a.py - tests"),
    ):
        assert [item.text for item in body.list_items(updated.body, name)].count(words) == 1
    assert [item.text for item in body.items_below(updated.body, *body.NOTES)] == ["hello"]
    assert updated.text.count("my own words") == document.text.count("my own words")
    later = update_twice(updated, news(home, given=UserInput(decisions=("Another",), resolved=("ci is",))))
    assert [item.text for item in body.list_items(later.body, "decisions")][-1] == "Another"
    assert [item.is_done for item in body.list_items(later.body, "blockers")][-1] is True
    assert ("\r\n" in later.text) == (edit == "windows")


def test_a_blocker_written_by_hand_is_ticked_and_an_unknown_one_is_an_error(home):
    edited = first(home).with_text(
        lambda text: text.replace(
            "**Blockers/Risks Identified**:\n", "**Blockers/Risks Identified**:\n* [ ] CI is slow\n"
        )
    )
    updated = update_twice(edited, news(home, given=UserInput(resolved=("ci",))))
    assert "* [x] CI is slow\n" in updated.text
    with pytest.raises(NotFoundError, match="There are: CI is slow"):
        update.update_document(updated, news(home, given=UserInput(resolved=("nobody",))))


def test_many_decisions_are_all_kept_once(home):
    many = tuple(f"decision {number}" for number in range(45))
    updated = update_twice(
        first(home), news(home, work=SessionWork(agent="a", session_id="s", decisions=many))
    )
    updated = update_twice(updated, news(home, given=UserInput(decisions=("the last",))))
    assert [item.text for item in body.list_items(updated.body, "decisions")] == [*many, "the last"]


def test_an_entry_deleted_by_a_person_does_not_come_back_from_the_transcript(home):
    one = SessionWork(agent="a", session_id="s", decisions=("wrong", "right"))
    updated = update.update_document(first(home), news(home, work=one))
    theirs = updated.with_text(lambda text: text.replace("1. wrong\n2. right", "1. right"))
    assert "wrong" not in [
        item.text for item in body.list_items(update_twice(theirs, news(home, work=one)).body, "decisions")
    ]
