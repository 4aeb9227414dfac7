"""What a search checks before it answers; it reads only what changed."""

import os
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from leftoff.catalogue import database
from leftoff.catalogue.database import LOCK_NAME, library_folder
from leftoff.platform import clock, locks, paths
from leftoff.search.changes import FULL_CHECK_FILE, Changes, find_changes, folder_variables_digest
from leftoff.search.search import SearchRequest, search
from leftoff.search.update_index import update_library
from leftoff.testing.builders import Story
from leftoff.workspace import Workspace
from tests.forget.support import NOW, OTHER, SESSION

TEN_MINUTES = 600


@pytest.fixture
def old(home):
    """An old known session, and a thousand newer ones that only the archive has."""
    transcript = home.claude(
        Story(session_id=SESSION, project=str(Path.cwd())).asked("A koala").replied("yes")
    )
    update_library(Workspace.open())
    with closing(database.open_for_writing(library_folder())) as connection, database.transaction(connection):
        connection.executemany(
            "INSERT INTO sources(type, path, modified_ns, size_bytes, archived) VALUES ('session', ?, ?, 1, 1)",
            [(f"/gone/{number}.jsonl", 2_000_000_000_000_000_000 + number) for number in range(1000)],
        )
    return transcript


def new_at(seconds):
    """Return the changes, some seconds after the last full check."""
    looked = Path(library_folder(), FULL_CHECK_FILE)
    at = looked.stat().st_mtime if seconds is not None else 0
    with closing(database.open_for_search(library_folder())) as connection:
        return find_changes(
            connection, library_folder(), folder_variables_digest(paths.environment()), at + (seconds or 0)
        )


def grow(transcript):
    """Append a line."""
    with transcript.open("ab") as file:
        file.write(transcript.read_bytes().splitlines(keepends=True)[-1])


def test_old_sessions_are_checked_every_ten_minutes(old):
    """The newest thousand at each search; a clock that was set back does not delay it."""
    assert new_at(0) == Changes()
    grow(old)
    assert new_at(TEN_MINUTES - 1) == Changes()
    assert new_at(TEN_MINUTES) == Changes(changed=(str(old),))
    assert new_at(-1) == Changes(changed=(str(old),))


def test_old_sessions_are_checked_again_until_they_are_read(old):
    """A check counts only if its changes were read, or if there were none."""
    looked = Path(library_folder(), FULL_CHECK_FILE)
    before = looked.stat().st_mtime
    grow(old)
    assert new_at(TEN_MINUTES).changed
    assert looked.stat().st_mtime == before
    assert new_at(TEN_MINUTES).changed
    os.utime(old, ns=(3_000_000_000_000_000_000, 3_000_000_000_000_000_000))
    update_library(Workspace.open(), changed=[str(old)])
    grow(old)  # the newest now, and those are looked at each time
    assert new_at(TEN_MINUTES).changed
    assert looked.stat().st_mtime == pytest.approx(before + TEN_MINUTES)


def test_while_the_lock_is_held_a_change_of_an_old_session_waits_for_the_next_search(old):
    """The next search finds the change without waiting for the next full check."""
    with old.open("ab") as file:
        file.write(old.read_bytes().replace(b"koala", b"platypus"))
    later = clock.now() + timedelta(seconds=TEN_MINUTES + 1)
    with locks.hold(Path(library_folder(), LOCK_NAME)):
        waiting = search(Workspace.open(), SearchRequest(query="platypus"), later)
    assert (waiting.sessions, waiting.unread) == ((), True)
    found = search(Workspace.open(), SearchRequest(query="platypus"), later + timedelta(seconds=1))
    assert (len(found.sessions), found.unread) == (1, False)


def test_without_write_permission_all_sessions_are_checked_again(old):
    """Without write permission, the time of the check cannot be noted."""
    Path(library_folder(), FULL_CHECK_FILE).unlink()
    Path(library_folder(), FULL_CHECK_FILE).symlink_to("/nowhere/at/all")
    grow(old)
    assert new_at(None) == Changes(changed=(str(old),))
    assert new_at(None) == Changes(changed=(str(old),))


def test_many_changes_lead_to_a_complete_update(home):
    """A missing file leads to a complete update too."""
    ids = [f"{number:08x}-1111-4111-8111-111111111111" for number in range(21)]
    transcripts = [home.claude(Story(session_id=each).asked("A koala").replied("yes")) for each in ids]
    update_library(Workspace.open())
    for transcript in transcripts:
        os.utime(transcript, ns=(1, 1))
    assert new_at(0).everywhere
    update_library(Workspace.open())
    assert new_at(0) == Changes()
    transcripts[0].unlink()
    assert new_at(0).everywhere


def test_only_what_has_changed_is_read(home):
    """A new session waits for a complete update; a document is read too, and a vanished one is skipped."""
    Path(".git").mkdir()
    pauses = Path(".leftoff/sessions")
    pauses.mkdir(parents=True)
    pause = pauses / "session-20260107-120000.md"
    pause.write_text("wombat", encoding="utf-8")
    transcript = home.claude(
        Story(session_id=SESSION, project=str(Path.cwd())).asked("A koala").replied("yes")
    )
    gone = home.claude(Story(session_id=SESSION[:-1] + "9").asked("A dodo").replied("yes"))
    update_library(Workspace.open())
    with transcript.open("ab") as file:
        file.write(transcript.read_bytes().replace(b"koala", b"platypus"))
    pause.write_text("echidna", encoding="utf-8")
    home.claude(Story(session_id=OTHER).asked("A quokka").replied("yes"))
    gone.unlink()
    known = [str(transcript), str(gone), str(pause.absolute()), "/never/heard/of.jsonl"]
    done = update_library(Workspace.open(), changed=known)
    assert (done.sessions, done.documents, done.finished) == (1, 1, True)
    with closing(database.open_for_search(library_folder())) as connection:
        held = {
            word: bool(connection.execute("SELECT 1 FROM words WHERE words MATCH ?", (word,)).fetchone())
            for word in ("koala", "platypus", "echidna", "wombat", "quokka")
        }
    assert held == {"koala": True, "platypus": True, "echidna": True, "wombat": False, "quokka": False}
    assert search(Workspace.open(), SearchRequest(query="quokka"), NOW).sessions


def test_a_newly_excluded_tool_leads_to_a_complete_update(home, isolated_home):
    """Otherwise its calls would stay."""
    transcript = home.claude(
        Story(session_id=SESSION, project=str(Path.cwd())).asked("A koala").replied("yes")
    )
    update_library(Workspace.open())
    home.claude(Story(session_id=OTHER).asked("A quokka").replied("yes"))
    settings = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("context_management:\n  capture:\n    exclude_tools: [shell]\n", encoding="utf-8")
    update_library(Workspace.open(), changed=[str(transcript)])
    with closing(
        database.open_for_search(library_folder())
    ) as connection:  # only a whole update finds the new one
        assert {row[0] for row in connection.execute("SELECT session_id FROM sources")} == {SESSION, OTHER}


def test_an_update_of_changed_sources_keeps_to_its_budget(home):
    """The next update reads the rest."""
    transcript = home.claude(
        Story(session_id=SESSION, project=str(Path.cwd())).asked("A koala").replied("yes")
    )
    update_library(Workspace.open())
    grow(transcript)
    done = update_library(Workspace.open(), changed=[str(transcript)], budget_seconds=0)
    assert (done.sessions, done.finished) == (0, False)
    assert update_library(Workspace.open(), changed=[str(transcript)]).sessions == 1
