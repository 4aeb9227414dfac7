"""Keeping finished sessions, and putting back what an agent deleted."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leftoff.errors import AmbiguousSessionError, NotFoundError, NothingToDoError
from leftoff.flows.archive_sessions import archive_here, keep_finished, list_archive, restore_session
from leftoff.flows.library_tend import after_session, tend
from leftoff.flows.search import Asked, search
from leftoff.model.watch_state import WatchState

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CLAUDE_ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"


@pytest.fixture
def wanted(own_world):
    """The user wants an archive."""
    mine = own_world / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)

    def write(keep_days=0):
        text = f"context_management:\n  archive:\n    enabled: true\n    keep_days: {keep_days}\n"
        mine.write_text(text, encoding="utf-8")

    write()
    return write


def test_without_being_asked_for_nothing_is_archived(two_sessions):
    """It is off until the user wants it."""
    assert keep_finished(NOW) == []
    assert list_archive() == []


def test_finished_sessions_are_archived_once(two_sessions, wanted):
    """One that was touched a moment ago is not finished, unless its agent said so."""
    os.utime(two_sessions[0], (NOW.timestamp() - 60, NOW.timestamp() - 60))
    assert [each.agent for each in keep_finished(NOW)] == ["codex"]
    assert keep_finished(NOW) == []
    assert [each.agent for each in keep_finished(NOW, ended=str(two_sessions[0]))] == ["claude"]
    assert keep_finished(NOW, deadline=0.0) == []


def test_a_deleted_session_is_still_found_and_comes_back(two_sessions, wanted):
    """With its number again."""
    beside = two_sessions[0].with_suffix("") / "subagents" / "one.jsonl"
    beside.parent.mkdir(parents=True)
    beside.write_bytes(b"{}\n")
    content = two_sessions[0].read_bytes()
    tend(NOW)
    two_sessions[0].unlink()
    beside.unlink()
    (found,) = search(Asked(query="login"), NOW).sessions
    assert (found.number, found.found.archived) == (None, True)
    assert [each.deleted for each in list_archive()].count(True) == 1
    _, restored = restore_session(CLAUDE_ID[:8])
    assert restored == [two_sessions[0], beside]
    assert two_sessions[0].read_bytes() == content
    assert search(Asked(query="login"), NOW).sessions[0].number == 1
    with pytest.raises(NothingToDoError, match="all there"):
        restore_session(CLAUDE_ID)


def test_copies_are_kept_for_as_long_as_the_user_says(two_sessions, wanted):
    """Then they go."""
    keep_finished(NOW)
    assert len(list_archive()) == 2
    wanted(keep_days=30)
    for path in two_sessions:
        path.unlink()
    keep_finished(NOW + timedelta(days=29))
    assert len(list_archive()) == 2
    keep_finished(NOW + timedelta(days=31))
    assert list_archive() == []


def test_a_session_is_named_by_its_id_alone(two_sessions, wanted):
    """No id, several, or none such."""
    keep_finished(NOW)
    with pytest.raises(NotFoundError):
        restore_session("")
    with pytest.raises(NotFoundError, match="archive list --all"):
        restore_session("nobody")
    with pytest.raises(AmbiguousSessionError, match="names 2"):
        restore_session("0")


def test_the_end_of_a_session_updates_library_and_archive(two_sessions, wanted):
    """In the process that nobody waits for."""
    now = two_sessions[0].stat().st_mtime
    os.utime(two_sessions[0], (now, now))
    state = WatchState(agent="claude", session_id=CLAUDE_ID, transcript=str(two_sessions[0]))
    after_session(state)
    assert {each.session_id for each in archive_here().sessions()} >= {CLAUDE_ID}
    assert search(Asked(query="login"), NOW).sessions
    assert Path(two_sessions[0]).exists()
