"""The first session or document in a place that did not exist at the last update."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from leftoff.catalogue import database
from leftoff.catalogue.database import library_folder
from leftoff.platform import clock, paths
from leftoff.resume_logs.save import save_log
from leftoff.search.changes import (
    Changes,
    find_changes,
    first_missing_folder,
    folder_stamp,
    folder_variables_digest,
    watched_folders,
)
from leftoff.search.search import SearchRequest, search
from leftoff.search.sources import list_with_folders
from leftoff.search.update_index import update_library
from leftoff.sessions.listing import list_transcripts
from leftoff.testing.builders import Story
from leftoff.workspace import Workspace
from tests.forget.support import OTHER, SESSION

THREAD = "01a1e0be-dee8-7b23-ae31-94e0123734a3"


def story_about(word, session_id=SESSION):
    """Return a story in the current project."""
    return Story(session_id=session_id, project=str(Path.cwd())).asked(f"A {word}").replied("yes", used=1000)


def ids(query):
    """Return the sessions or documents that a search finds."""
    return [
        each.source.session_id
        for each in search(Workspace.open(), SearchRequest(query=query), clock.now()).sessions
    ]


def is_up_to_date():
    """Return whether a search would read nothing."""
    with closing(database.open_for_search(library_folder())) as connection:
        variables = folder_variables_digest(paths.environment())
        return find_changes(connection, variables) == Changes()


def test_the_first_session_of_a_second_agent_is_found(home):
    """The agent had no folder before."""
    home.claude(story_about("koala"))
    assert ids("koala") == [SESSION]
    home.codex(story_about("wombat", THREAD))
    assert ids("wombat") == [THREAD]
    assert is_up_to_date()


@pytest.mark.parametrize("folder", [None, ".claude", ".claude/projects", ".claude/projects/-emptied"])
def test_the_first_session_of_all_is_found(home, isolated_home, folder):
    """The agent may have had no home or only empty folders before."""
    if folder is not None:
        (isolated_home / folder).mkdir(parents=True)
    update_library(Workspace.open())
    assert is_up_to_date()
    transcript = home.claude(story_about("koala"))
    assert ids("koala") == [SESSION]
    assert is_up_to_date()
    assert transcript.exists()


def test_a_first_session_in_an_emptied_project_folder_is_found(home):
    """The agent deleted its old sessions and kept the folder."""
    first = home.claude(story_about("koala"))
    empty = first.parent.parent / "-emptied"
    empty.mkdir()
    update_library(Workspace.open())
    other = empty / f"{OTHER}.jsonl"
    other.write_bytes(
        first.read_bytes().replace(SESSION.encode(), OTHER.encode()).replace(b"koala", b"quoll")
    )
    assert ids("quoll") == [OTHER]


def test_files_in_an_agents_home_are_not_changes(home):
    """Files there change all the time, but a new folder counts."""
    transcript = home.claude(story_about("koala"))
    update_library(Workspace.open())
    own = transcript.parent.parent.parent
    (own / "history.jsonl").write_text("{}", encoding="utf-8")
    assert is_up_to_date()
    (own / "todos").mkdir()
    assert not is_up_to_date()


def test_the_first_log_of_a_project_is_found(home):
    """The log is found even while its session continues."""
    Path(".git").mkdir()
    transcript = home.claude(story_about("koala"))
    assert ids("koala") == [SESSION]
    assert is_up_to_date()
    save_log(str(transcript), Workspace.open())
    with transcript.open("ab") as file:
        file.write(transcript.read_bytes().splitlines(keepends=True)[-1])
    assert ids("koala kind:log") == [SESSION]
    assert is_up_to_date()


@pytest.mark.parametrize(("kind", "folder"), [("pause", "sessions"), ("chat", "chats")])
def test_the_first_pause_and_chat_of_a_project_are_found(home, kind, folder):
    Path(".git").mkdir()
    home.claude(story_about("koala"))
    update_library(Workspace.open())
    Path(".leftoff").mkdir()
    assert ids(f"wombat kind:{kind}") == []
    assert is_up_to_date()
    Path(".leftoff", folder).mkdir()
    Path(".leftoff", folder, "session-20260107-120000.md").write_text("A wombat", encoding="utf-8")
    assert len(ids(f"wombat kind:{kind}")) == 1


def test_a_session_created_while_others_are_read_is_found_by_the_next_search(home):
    """The times of folders are taken before reading."""
    first = home.claude(story_about("koala"))
    came = []

    def progress(_done, _to_do):
        if not came:
            came.append(home.claude(story_about("wombat", OTHER)))
            os.utime(first.parent, ns=(1, 1))

    update_library(Workspace.open(), progress=progress)
    assert came
    assert ids("wombat") == [OTHER]


@pytest.mark.parametrize("folder", ["-slug", "-new"])
def test_a_session_created_while_listing_is_found_by_the_next_search(home, folder):
    """The new session may be beside others or in a folder of its own."""
    home.claude(story_about("koala"))

    def find():
        found = list_transcripts()
        if not came:
            came.append(home.claude(story_about("wombat", OTHER), folder))
            os.utime(came[0].parent, ns=(1, 1))
        return found

    came = []
    update_library(Workspace.open())
    update_library(Workspace.open(), find=find)
    assert ids("wombat") == [OTHER]
    assert is_up_to_date()


def test_listing_ends_even_if_new_folders_appear_all_the_time(home):
    """The next search lists again."""
    home.claude(story_about("koala"))
    came = []

    def find():
        found = list_transcripts()
        came.append(f"{len(came):08x}{OTHER[8:]}")
        home.claude(story_about("wombat", came[-1]), f"-new{len(came)}")
        return found

    update_library(Workspace.open(), find=find)
    assert not is_up_to_date()
    _, folders = list_with_folders(find, ())
    assert [Path(each).name for each, then in folders.items() if then < 0] == [f"-new{len(came)}"]
    assert sorted(ids("wombat")) == came
    assert is_up_to_date()


def test_a_folder_whose_name_is_not_utf_8_is_skipped(home, isolated_home):
    """The library cannot store its name."""
    (isolated_home / ".codex").mkdir()
    Path(isolated_home, ".codex", os.fsdecode(b"\xff")).mkdir()
    home.claude(story_about("koala"))
    assert ids("koala") == [SESSION]


def test_the_first_missing_folder_on_a_path_is_watched(tmp_path):
    """The creation of that folder announces everything below it."""
    assert first_missing_folder(str(tmp_path / "a" / "b" / "c")) == str(tmp_path / "a")
    (tmp_path / "a").mkdir()
    assert first_missing_folder(str(tmp_path / "a" / "b" / "c")) == str(tmp_path / "a" / "b")
    assert first_missing_folder("/") == "/"
    assert folder_stamp(str(tmp_path / "nowhere")) == 0


def test_the_number_of_watched_empty_folders_is_limited(tmp_path):
    """The nearest are watched."""
    for number in range(30):
        (tmp_path / f"{number:02}" / "below" / "deep").mkdir(parents=True)
        for more in range(20):
            (tmp_path / f"{number:02}" / "below" / f"{more}").mkdir()
    seen = watched_folders(str(tmp_path), [])
    assert len(seen) == 501
    assert {str(tmp_path / f"{number:02}" / "below") for number in range(30)} <= {*seen}


def test_a_search_without_any_session_leaves_the_index_up_to_date(home):
    """The next search reads nothing until there is something."""
    assert ids("koala") == []
    assert is_up_to_date()
