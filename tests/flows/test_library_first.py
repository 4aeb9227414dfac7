"""The first session or document of a place that did not exist when the library was last made whole."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from leftoff.flows.library_folder import library_folder
from leftoff.flows.library_listing import listed
from leftoff.flows.library_stale import News, at, folder_variables, folders_of, missing, news
from leftoff.flows.library_update import update_library
from leftoff.flows.save_log import save_log
from leftoff.flows.search import Asked, search
from leftoff.flows.sessions import found_sessions
from leftoff.library import shelf as shelves
from leftoff.system import clock, paths
from leftoff.testing.builders import Story
from tests.flows.test_forget import OTHER, SESSION

THREAD = "01a1e0be-dee8-7b23-ae31-94e0123734a3"


def told(word, session_id=SESSION):
    """A story of the project we are in."""
    return Story(session_id=session_id, project=str(Path.cwd())).asked(f"A {word}").replied("yes", used=1000)


def ids(query):
    """Which sessions or documents a search finds."""
    return [each.found.session_id for each in search(Asked(query=query), clock.now()).sessions]


def is_up_to_date():
    """Whether a search would read nothing."""
    with closing(shelves.opened_to_read(library_folder())) as shelf:
        variables = folder_variables(paths.environment())
        return news(shelf, library_folder(), variables, clock.now().timestamp()) == News()


def test_the_first_session_of_a_second_agent_is_found(home):
    """Though that agent had no folder."""
    home.claude(told("koala"))
    assert ids("koala") == [SESSION]
    home.codex(told("wombat", THREAD))
    assert ids("wombat") == [THREAD]
    assert is_up_to_date()


@pytest.mark.parametrize("folder", [None, ".claude", ".claude/projects", ".claude/projects/-emptied"])
def test_the_first_session_of_all_is_found(home, own_world, folder):
    """Whether its agent had nothing, or empty folders."""
    if folder is not None:
        (own_world / folder).mkdir(parents=True)
    update_library()
    assert is_up_to_date()
    transcript = home.claude(told("koala"))
    assert ids("koala") == [SESSION]
    assert is_up_to_date()
    assert transcript.exists()


def test_a_first_session_in_a_project_s_emptied_folder_is_found(home):
    """The agent deleted its old sessions and kept the folder."""
    first = home.claude(told("koala"))
    empty = first.parent.parent / "-emptied"
    empty.mkdir()
    update_library()
    other = empty / f"{OTHER}.jsonl"
    other.write_bytes(
        first.read_bytes().replace(SESSION.encode(), OTHER.encode()).replace(b"koala", b"quoll")
    )
    assert ids("quoll") == [OTHER]


def test_files_that_an_agent_keeps_in_its_home_are_no_news(home):
    """They change at every moment; a new folder there is."""
    transcript = home.claude(told("koala"))
    update_library()
    own = transcript.parent.parent.parent
    (own / "history.jsonl").write_text("{}", encoding="utf-8")
    assert is_up_to_date()
    (own / "todos").mkdir()
    assert not is_up_to_date()


def test_a_project_s_first_log_is_found(home):
    """Also while its session goes on."""
    Path(".git").mkdir()
    transcript = home.claude(told("koala"))
    assert ids("koala") == [SESSION]
    assert is_up_to_date()
    save_log(str(transcript), Path.cwd())
    with transcript.open("ab") as file:
        file.write(transcript.read_bytes().splitlines(keepends=True)[-1])
    assert ids("koala kind:log") == [SESSION]
    assert is_up_to_date()


@pytest.mark.parametrize(("kind", "folder"), [("pause", "sessions"), ("chat", "chats")])
def test_a_project_s_first_pause_and_chat_are_found(home, kind, folder):
    """Beside a folder of ours that is there, or with it."""
    Path(".git").mkdir()
    home.claude(told("koala"))
    update_library()
    Path(".leftoff").mkdir()
    assert ids(f"wombat kind:{kind}") == []
    assert is_up_to_date()
    Path(".leftoff", folder).mkdir()
    Path(".leftoff", folder, "session-20260107-120000.md").write_text("A wombat", encoding="utf-8")
    assert len(ids(f"wombat kind:{kind}")) == 1


def test_a_session_that_comes_while_others_are_read_is_found_by_the_next_search(home):
    """What a folder was is asked before reading, not after."""
    first = home.claude(told("koala"))
    came = []

    def progress(_done, _to_do):
        if not came:
            came.append(home.claude(told("wombat", OTHER)))
            os.utime(first.parent, ns=(1, 1))

    update_library(progress=progress)
    assert came
    assert ids("wombat") == [OTHER]


@pytest.mark.parametrize("folder", ["-slug", "-new"])
def test_a_session_that_comes_while_they_are_listed_is_found_by_the_next_search(home, folder):
    """Beside others, and in a folder of its own."""
    home.claude(told("koala"))

    def find():
        found = found_sessions()
        if not came:
            came.append(home.claude(told("wombat", OTHER), folder))
            os.utime(came[0].parent, ns=(1, 1))
        return found

    came = []
    update_library()
    update_library(find=find)
    assert ids("wombat") == [OTHER]
    assert is_up_to_date()


def test_where_new_folders_come_all_the_time_the_next_search_looks_again(home):
    """Listing ends all the same."""
    home.claude(told("koala"))
    came = []

    def find():
        found = found_sessions()
        came.append(f"{len(came):08x}{OTHER[8:]}")
        home.claude(told("wombat", came[-1]), f"-new{len(came)}")
        return found

    update_library(find=find)
    assert not is_up_to_date()
    _, folders = listed(find, ())
    assert [Path(each).name for each, then in folders.items() if then < 0] == [f"-new{len(came)}"]
    assert sorted(ids("wombat")) == came
    assert is_up_to_date()


def test_a_folder_whose_name_is_not_utf_8_is_passed_over(home, own_world):
    """The library cannot hold its name."""
    (own_world / ".codex").mkdir()
    Path(own_world, ".codex", os.fsdecode(b"\xff")).mkdir()
    home.claude(told("koala"))
    assert ids("koala") == [SESSION]


def test_of_an_absent_folder_the_first_that_will_come_is_remembered(tmp_path):
    """One look at it tells of all below it."""
    assert missing(str(tmp_path / "a" / "b" / "c")) == str(tmp_path / "a")
    (tmp_path / "a").mkdir()
    assert missing(str(tmp_path / "a" / "b" / "c")) == str(tmp_path / "a" / "b")
    assert missing("/") == "/"
    assert at(str(tmp_path / "nowhere")) == 0


def test_no_more_than_some_folders_of_an_agent_without_sessions_are_remembered(tmp_path):
    """The nearest."""
    for number in range(30):
        (tmp_path / f"{number:02}" / "below" / "deep").mkdir(parents=True)
        for more in range(20):
            (tmp_path / f"{number:02}" / "below" / f"{more}").mkdir()
    seen = folders_of(str(tmp_path), [])
    assert len(seen) == 501
    assert {str(tmp_path / f"{number:02}" / "below") for number in range(30)} <= {*seen}


def test_a_search_without_any_session_remembers_what_it_did_not_see(home):
    """Nothing is found, and nothing is looked through again until there is something."""
    assert ids("koala") == []
    assert is_up_to_date()
