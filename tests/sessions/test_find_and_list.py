"""Finding, listing and choosing sessions."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from leftoff.catalogue.database import FILE_NAME, library_folder
from leftoff.errors import AmbiguousSessionError, NotFoundError, TranscriptError, UsageError
from leftoff.platform import paths
from leftoff.sessions.find import find_session, open_session
from leftoff.sessions.listing import (
    entries,
    entries_from_files,
    entries_from_index,
    entries_of_project,
    list_transcripts,
    numbered_transcript,
    remember_numbers,
)
from leftoff.sessions.status import list_sessions, status
from leftoff.testing.builders import Story
from leftoff.workspace import Workspace

CLAUDE_ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
CODEX_ID = "01a1e0be-dee8-7b23-ae31-94e0123734a3"


def kept_bytes():
    """All that the catalogue's files hold."""
    files = [*Path(library_folder()).iterdir()]
    assert files
    return b"".join(file.read_bytes() for file in files)


def listed(agent=None, project=None):
    return [*list_sessions(Workspace.open(), agent, project)]


def test_sessions_of_all_agents_are_listed_newest_first(two_sessions):
    """Each session is listed with its first prompt, project and usage."""
    found = listed()
    assert [each.entry.session_id for each in found] == [CODEX_ID, CLAUDE_ID]
    assert [each.entry.first_prompt for each in found] == ["Write docs", "Fix the login"]
    assert 83_500 <= found[1].status.metrics.used_tokens < 83_600  # with what came after the last reply
    assert found[1].to_dict()["context"]["total_budget"] == 167_000


def test_a_list_can_be_of_one_agent_or_one_project(two_sessions):
    """A project is the same from any folder below it."""
    below = Path("src/deep")
    below.mkdir(parents=True)
    Path(".git").mkdir()
    assert [each.entry.agent for each in listed(agent="codex")] == ["codex"]
    assert [each.entry.session_id for each in listed(project=below)] == [CLAUDE_ID]
    with pytest.raises(UsageError, match="claude, codex"):
        listed(agent="nobody")


def test_a_transcript_is_read_again_only_when_it_has_changed(two_sessions):
    """The second list only asks the file system; a session that grew is read again."""
    listed()
    first = two_sessions[0]
    stamp = first.stat()
    data = first.read_bytes()
    first.write_bytes(b"x" * len(data))  # same size, same time: taken from what is known
    os.utime(first, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert listed()[1].entry.first_prompt == "Fix the login"
    first.write_bytes(data + b"\n")
    assert listed()[0].entry.size_bytes == len(data) + 1


def test_a_lost_or_broken_catalogue_changes_no_list(two_sessions):
    expected = [each.entry for each in listed()]
    kept = Path(library_folder(), FILE_NAME)
    for damage in (b"", b"{", b"SQLite format 3\0" + b"\xff" * 5000):
        for end in ("-wal", "-shm"):
            Path(f"{kept}{end}").unlink(missing_ok=True)
        kept.write_bytes(damage)
        assert [each.entry for each in listed()] == expected


def test_prompts_are_redacted_before_they_are_saved(home):
    """The catalogue never holds a credential."""
    secret = "ghp_" + "a1B2" * 9
    home.claude(Story(project=str(Path.cwd())).asked(f"use {secret} please").replied("no"))
    (only,) = listed()
    assert secret not in (only.entry.first_prompt or "")
    assert secret.encode() not in kept_bytes()


def test_one_bad_transcript_hides_no_other(home, two_sessions):
    """Unreadable, empty and vanishing files are skipped or shown as they are."""
    folder = two_sessions[0].parent
    (folder / "11111111-1111-4111-8111-111111111111.jsonl").symlink_to(folder / "nowhere")
    (folder / "22222222-2222-4222-8222-222222222222.jsonl").write_bytes(b"")
    (folder / "33333333-3333-4333-8333-333333333333.jsonl").mkdir()
    found = list_transcripts()
    two_sessions[1].unlink()
    assert CLAUDE_ID in {entry.session_id for entry in entries(found)}


def test_numbers_stay_bound_to_the_list_last_shown(home, two_sessions):
    """A newer session does not shift them."""
    remember_numbers([each.entry.transcript for each in listed()])
    home.claude(Story(session_id="44444444-4444-4444-8444-444444444444").asked("newer").replied("yes"))
    assert find_session("1", Workspace.open()).transcript == two_sessions[1]
    assert find_session("2", Workspace.open()).transcript == two_sessions[0]
    assert numbered_transcript(3) is None
    with pytest.raises(NotFoundError, match="no number 3"):
        find_session("3", Workspace.open())


def test_without_a_readable_list_there_are_no_numbers(two_sessions):
    assert numbered_transcript(1) is None
    paths.state_folder().mkdir(parents=True)
    (paths.state_folder() / "last-list.json").write_text("nonsense", encoding="utf-8")
    assert numbered_transcript(1) is None


def test_a_full_or_read_only_state_folder_does_not_stop_a_list(two_sessions):
    """The numbers are then not remembered."""
    paths.state_folder().parent.mkdir(parents=True, exist_ok=True)
    paths.state_folder().write_text("a file where the folder should be", encoding="utf-8")
    found = listed()
    remember_numbers([each.entry.transcript for each in found])
    assert len(found) == 2


def test_a_projects_sessions_are_the_same_with_and_without_a_catalogue(home, two_sessions):
    """Sessions of another or an unknown project are left out either way."""
    home.claude(
        Story(session_id="55555555-5555-4555-8555-555555555555", project=None).asked("where?").replied("?")
    )
    assert not Path(library_folder()).exists()
    first = [entry.transcript for entry in entries_of_project(Path.cwd(), list_transcripts())]
    known = [entry.transcript for entry in entries_of_project(Path.cwd(), list_transcripts())]
    assert first == known == [str(two_sessions[0])]
    assert len([*entries(list_transcripts())]) == 3


def test_finding_a_session_creates_a_catalogue_only_after_reading_many(home):
    """Otherwise users with many sessions would wait each time."""
    for number in range(3):
        home.claude(Story(session_id=f"{number:08}-5555-4555-8555-555555555555").asked("a").replied("b"))
    assert len([*entries_from_index(list_transcripts())]) == 3
    assert not Path(library_folder()).exists()
    (one, *_) = list_transcripts()
    many = [*list_transcripts(), *(one._replace(size_bytes=number) for number in range(200))]
    assert len([*entries_from_index(many)]) == len(many)
    assert Path(library_folder(), FILE_NAME).exists()


def test_latest_is_the_newest_of_this_project(two_sessions):
    """The newest session of this project need not be the newest of all."""
    assert find_session("latest", Workspace.open()).transcript == two_sessions[0]
    assert open_session().session_id == CLAUDE_ID
    elsewhere = Path("/")
    with pytest.raises(NotFoundError, match="To list those of all projects"):
        find_session("latest", Workspace.open(elsewhere))


@pytest.mark.parametrize("newer", [0, 2, 3, 5])
def test_latest_is_found_behind_any_number_of_newer_sessions(home, two_sessions, newer):
    """The session is found among the few that are read directly and beyond them."""
    for number in range(newer):
        path = home.claude(
            Story(session_id=f"{number:08}-5555-4555-8555-555555555555", project="/else").asked("a")
        )
        os.utime(path, (4_000_000_000 + number,) * 2)
    (path := two_sessions[0].with_name("broken.jsonl")).write_bytes(b"no transcript")
    os.utime(path, (4_100_000_000,) * 2)
    assert find_session("latest", Workspace.open()).transcript == two_sessions[0]


def test_entries_read_from_files_have_no_prompts(two_sessions):
    """A prompt would have to be redacted first; everything else is the same."""
    looked_at = [*entries_from_files(list_transcripts())]
    assert [entry.first_prompt for entry in looked_at] == [None, None]
    assert looked_at == [entry._replace(first_prompt=None) for entry in entries(list_transcripts())]
    assert [
        entry.agent
        for entry in entries_from_files(list_transcripts(), lambda project: project == "/somewhere/else")
    ] == ["codex"]


def test_an_id_or_a_unique_prefix_names_a_session(two_sessions):
    for words in (CODEX_ID, CODEX_ID[:8], CODEX_ID[:4]):
        assert find_session(words, Workspace.open()).transcript == two_sessions[1]
    with pytest.raises(NotFoundError, match="No session has the id"):
        find_session("ffffffff", Workspace.open())
    with pytest.raises(NotFoundError):
        find_session(CODEX_ID[:3], Workspace.open())


def test_a_prefix_of_two_sessions_is_ambiguous_and_says_which(home, two_sessions):
    """The error lists for each what is enough of its id."""
    home.claude(Story(session_id=CLAUDE_ID[:8] + "-1111-4111-8111-111111111111").asked("x").replied("y"))
    with pytest.raises(AmbiguousSessionError, match="names 2 sessions") as caught:
        find_session(CLAUDE_ID[:8], Workspace.open())
    assert {choice.selector for choice in caught.value.choices} == {CLAUDE_ID[:10], CLAUDE_ID[:8] + "-1"}
    assert find_session(CLAUDE_ID, Workspace.open()).transcript == two_sessions[0]


def test_a_path_names_a_session_whatever_its_place(two_sessions, tmp_path):
    """The agent is recognised by the head of the file."""
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes(two_sessions[1].read_bytes())
    chosen = find_session(str(moved), Workspace.open())
    assert (chosen.agent.id, chosen.session.session_id) == ("codex", CODEX_ID)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "is not a transcript that leftoff knows"),
        (b'{"some": "other tool"}\n' * 5, "is not a transcript that leftoff knows"),
        (b'{"torn', "is not a transcript that leftoff knows"),
        (None, "no such file"),
        ("folder", "this is a folder"),
        ("loop", "cannot be read"),
        ("pipe", "a pipe, socket or device"),
    ],
)
def test_a_file_that_is_not_a_transcript_gets_a_clear_error(tmp_path, content, words):
    """The error names the file and what is wrong with it."""
    path = tmp_path / "odd.jsonl"
    if content == "folder":
        path.mkdir()
    elif content == "loop":
        path.symlink_to(path)
    elif content == "pipe":
        os.mkfifo(path)
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(TranscriptError, match=words) as caught:
        assert find_session(str(path), Workspace.open()).session
    assert str(path) in caught.value.message


@pytest.mark.parametrize("folder", ["/tmp/a\0b", "/" + "x" * 5_000, "relative", ""])
def test_an_impossible_project_folder_stops_no_command(home, two_sessions, folder):
    """A transcript may name anything as its folder."""
    story = (
        Story(session_id="55555555-5555-4555-8555-555555555555", project=folder).asked("odd").replied("yes")
    )
    home.claude(story)
    assert len(listed()) == 3
    assert find_session("latest", Workspace.open()).transcript == two_sessions[0]
    assert status(story.session_id, Workspace.open()).session_id == story.session_id


def test_the_users_own_patterns_are_redacted_before_a_prompt_is_saved(home, isolated_home):
    """``redaction.deny`` applies to the catalogue, and so does ``enabled: false``."""
    mine = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  redaction:\n    deny: ['Project Swan']\n", encoding="utf-8")
    home.claude(Story(project=str(Path.cwd())).asked("about Project Swan").replied("yes"))
    (only,) = listed()
    assert only.entry.first_prompt == "about [REDACTED:denied]"
    assert b"Swan" not in kept_bytes()


@pytest.mark.parametrize("damage", ["", "x", "[]", "{}", '{"parent": null, "modified_at": "x"}'])
def test_a_damaged_entry_is_read_from_its_transcript(two_sessions, damage):
    """The other entries are used as they are."""
    expected = [each.entry for each in listed()]
    with closing(sqlite3.connect(Path(library_folder(), FILE_NAME))) as connection, connection:
        connection.execute("UPDATE entries SET entry = ? WHERE path = ?", (damage, str(two_sessions[0])))
    assert [each.entry for each in listed()] == expected
