"""The pauses of a forgotten session are deleted; those of others only lose its id."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.pause.finalize import Ending, finalize
from leftoff.pause.folders import manual_pause, session_pause
from leftoff.pause.journal import Origin
from leftoff.pause.lifecycle import record, start
from leftoff.resume_logs.save import save_log
from leftoff.search.update_index import update_library
from leftoff.workspace import Workspace
from tests.forget.support import OTHER, SESSION, all_kept, finds, forget_session, indexed_text

THIRD = "33333333-3333-4333-8333-333333333333"


def paused(home, *messages, hour, origin=None):
    """The id of a finished pause."""
    at = datetime(2026, 1, 6, hour, tzinfo=UTC)
    begun = start(home, 0.9, {}, origin=origin, at=at)
    for message in messages:
        record(home, "user_message", {"message": message}, 0.91)
    finalize(home, Ending())
    return begun


def paused_by_hooks(session_id, hour):
    origin = Origin(agent="claude", session_id=session_id)
    return paused(session_pause("claude", session_id, Workspace.open()), "wombat", hour=hour, origin=origin)


def pause_files(pause):
    return {*Path(".leftoff/sessions").glob(f"{pause}*")}


def test_a_pause_that_mentions_the_session_loses_only_its_id(session):
    """Any other file among the pauses also loses only the id."""
    save_log(str(session), Workspace.open())
    pause = paused(manual_pause(Workspace.open()), f"{SESSION} had the same fault; precious notes", hour=9)
    files = pause_files(pause)
    assert len(files) == 4
    note = Path(".leftoff/sessions/note.txt")
    note.write_text(f"see {SESSION}", encoding="utf-8")
    update_library(Workspace.open())
    assert forget_session(SESSION).left == ()
    assert pause_files(pause) == files
    assert note.read_text(encoding="utf-8") == "see [forgotten]"
    for each in files:
        assert "[forgotten] had the same fault; precious notes" in each.read_text(encoding="utf-8")
    assert SESSION.encode() not in all_kept()
    assert Path(".leftoff/sessions/LATEST-SESSION.txt").read_text(encoding="utf-8") == f"{pause}\n"
    assert finds('"precious notes"')


def test_a_running_pause_of_another_session_keeps_its_lines(session):
    """The running pauses of hooks are in the user's state folder."""
    home = session_pause("claude", OTHER, Workspace.open())
    start(home, 0.9, {}, origin=Origin(agent="claude", session_id=OTHER))
    record(home, "user_message", {"message": f"as in {SESSION}"}, 0.91)
    forget_session(SESSION)
    lines = home.file.path.read_text(encoding="utf-8").splitlines()
    assert ["as in [forgotten]" in line for line in lines] == [False, True]


@pytest.mark.parametrize("part", [".md", ".json", "-incremental.jsonl", "-incremental.jsonl.gz"])
def test_a_pause_is_recognised_by_any_part_that_is_left(session, part):
    """A torn part is deleted with the others."""
    pause = paused_by_hooks(SESSION, 9)
    kept = Path(".leftoff/sessions", pause + part)
    lines = kept.with_name(f"{pause}-incremental.jsonl")
    if part.endswith(".gz"):
        kept.write_bytes(gzip.compress(lines.read_bytes()))
    for each in pause_files(pause) - {kept}:
        each.unlink()
    torn = kept.with_name(f"{pause}.json" if part != ".json" else f"{pause}.md")
    torn.write_text("{ torn", encoding="utf-8")
    assert forget_session(SESSION).left == ()
    assert pause_files(pause) == set()


def test_the_pointer_names_the_newest_pause_that_is_left(session):
    """The pointer is deleted with the last pause."""
    pointer = Path(".leftoff/sessions/LATEST-SESSION.txt")
    oldest, older = paused_by_hooks(OTHER, 8), paused_by_hooks(OTHER, 9)
    gone, newest = paused_by_hooks(THIRD, 10), paused_by_hooks(SESSION, 11)
    forget_session(THIRD)
    assert not pause_files(gone)
    assert pointer.read_text(encoding="utf-8") == f"{newest}\n"
    forget_session(SESSION)
    assert pointer.read_text(encoding="utf-8") == f"{older}\n"
    assert pause_files(oldest)
    forget_session(OTHER)
    assert not pointer.exists()


def test_a_pause_of_a_forgotten_session_leaves_the_library(saved_sessions):
    """Pauses of a forgotten session are not found, even if they are written later."""
    pause = Path(".leftoff/sessions/session-20260106-120000.md")
    pause.write_text(f"# Pause\n\n- **Session**: claude {SESSION}\n\nplatypus words\n", encoding="utf-8")
    other = pause.with_name("session-20260106-120000-2.md")
    other.write_text("# Another\nwombat words\n", encoding="utf-8")
    update_library(Workspace.open())
    assert "platypus" in indexed_text()
    assert forget_session(SESSION).left == ()
    assert "platypus" not in indexed_text()
    assert SESSION not in indexed_text()
    assert other.exists()
    pause.with_name("session-20260109-120000.md").write_text(f"# {SESSION}\nechidna\n", encoding="utf-8")
    save_log(str(saved_sessions[0]), Workspace.open())
    assert not finds("echidna")
    assert not finds("koala")
