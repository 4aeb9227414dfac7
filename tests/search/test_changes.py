"""What a search checks before it answers; it reads only what changed."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from leftoff.catalogue import database
from leftoff.catalogue.database import LOCK_NAME, library_folder
from leftoff.config.load import FILE_NAME
from leftoff.config.save import save_setting
from leftoff.errors import NothingToDoError
from leftoff.platform import locks, paths
from leftoff.search.changes import Changes, find_changes, folder_variables_digest
from leftoff.search.search import SearchRequest, search
from leftoff.search.update_index import update_library
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.forget.support import NOW, OTHER, SESSION


def news():
    """Return what a search would read."""
    with closing(database.open_for_search(library_folder())) as connection:
        return find_changes(connection, folder_variables_digest(paths.environment()))


def grow(transcript):
    """Append a line."""
    with transcript.open("ab") as file:
        file.write(transcript.read_bytes().splitlines(keepends=True)[-1])


def test_a_line_in_any_session_is_news_and_an_archived_session_without_file_is_none(home):
    """The archive has what an agent deleted."""
    old = home.claude(Story(session_id=SESSION, project=str(Path.cwd())).asked("A koala").replied("yes"))
    update_library(Workspace.open())
    with closing(database.open_for_writing(library_folder())) as connection, database.transaction(connection):
        connection.executemany(
            "INSERT INTO sources(type, path, modified_ns, size_bytes, archived) VALUES ('session', ?, ?, 1, 1)",
            [(f"/gone/{number}.jsonl", 2_000_000_000_000_000_000 + number) for number in range(1000)],
        )
    assert news() == Changes()
    grow(old)
    assert news() == Changes(changed=(str(old),))


def test_while_the_lock_is_held_a_change_waits_for_the_next_search(home):
    """The search says that not everything was read."""
    old = home.claude(Story(session_id=SESSION, project=str(Path.cwd())).asked("A koala").replied("yes"))
    update_library(Workspace.open())
    with old.open("ab") as file:
        file.write(old.read_bytes().replace(b"koala", b"platypus"))
    with locks.hold(Path(library_folder(), LOCK_NAME)):
        waiting = search(Workspace.open(), SearchRequest(query="platypus"), NOW)
    assert (waiting.sessions, waiting.unread) == ((), True)
    found = search(Workspace.open(), SearchRequest(query="platypus"), NOW)
    assert (len(found.sessions), found.unread) == (1, False)


def test_many_changes_lead_to_a_complete_update(home):
    """A missing file leads to a complete update too."""
    ids = [f"{number:08x}-1111-4111-8111-111111111111" for number in range(21)]
    transcripts = [home.claude(Story(session_id=each).asked("A koala").replied("yes")) for each in ids]
    update_library(Workspace.open())
    for transcript in transcripts:
        os.utime(transcript, ns=(1, 1))
    assert news().everywhere
    update_library(Workspace.open())
    assert news() == Changes()
    transcripts[0].unlink()
    assert news().everywhere


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


def test_nothing_of_a_newly_excluded_tool_is_found_even_while_another_process_updates(home):
    """No transcript has changed since the tool was allowed."""
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("Go")
    home.claude(story.replied("", call("shell", {"command": "wombat"}, "echidna")))
    request = SearchRequest(query="echidna")
    assert search(Workspace.open(), request, NOW).sessions
    save_setting(paths.config_folder() / FILE_NAME, "capture.exclude_tools", ["Bash"])
    with (
        locks.hold(Path(library_folder()) / LOCK_NAME),
        pytest.raises(NothingToDoError, match="exclude_tools"),
    ):
        search(Workspace.open(), request, NOW)
    assert not search(Workspace.open(), request, NOW).sessions
    assert search(Workspace.open(), SearchRequest(query="go"), NOW).sessions
