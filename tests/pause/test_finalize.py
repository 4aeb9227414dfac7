"""How a pause ends: what is written, in which order, and what is never overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.cli.main import run
from leftoff.pause.finalize import Ending, end_selected, finalize, snapshot_without_pause
from leftoff.pause.folders import manual_pause, session_pause
from leftoff.pause.journal import Origin
from leftoff.pause.lifecycle import record, recover, start
from leftoff.pause.list_pauses import list_pauses
from leftoff.pause.snapshot_store import list_finished, read_archive
from leftoff.platform import paths
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.support.transcripts import write_transcript

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def home():
    return manual_pause(Workspace.open())


def begin(home, *messages, **more):
    session_id = start(home, 0.9, {}, **more)
    for message in messages:
        record(home, "user_message", {"message": message}, 0.91)
    return session_id


def add_line(home, **fields):
    """Append a line as another program would."""
    line = {"type": "tool_call", "timestamp": "2026-01-01T00:00:00Z", "session_id": "x", "data": {}}
    with home.file.path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line | {"context_percentage": 0.9} | fields) + "\n")


def pointer(home):
    return (home.sessions / "LATEST-SESSION.txt").read_text("utf-8").strip()


# The register


def test_a_register_that_cannot_be_written_is_only_reported(home, capsys):
    """The snapshot is written and the pause has ended."""
    session_id = begin(home, "one")
    paths.data_folder().parent.mkdir(parents=True, exist_ok=True)
    paths.data_folder().write_text("a file where the folder should be", encoding="utf-8")
    assert run(["pause", "finalize"]) == 0
    captured = capsys.readouterr()
    assert f"Kept {session_id}" in captured.out
    assert "not noted in the register" in captured.err
    assert "register.jsonl" in captured.err or str(paths.data_folder()) in captured.err
    assert not home.file.is_active()
    assert pointer(home) == session_id
    begin(home, "two")
    assert run(["pause", "finalize", "--json"]) == 0
    assert "not noted in the register" in json.loads(capsys.readouterr().out)["warning"]


# What is never written over


def test_a_pause_with_the_id_of_a_finished_one_gets_a_new_id(home):
    """A file that was copied or came with a clone must not replace a snapshot."""
    session_id = begin(home, "IMPORTANT")
    copied = home.file.path.read_bytes()
    first = finalize(home, Ending())
    before = {path: path.read_bytes() for path in first.files}
    home.file.path.write_bytes(copied.replace(b"IMPORTANT", b"something else"))
    second = finalize(home, Ending())
    assert second.session_id != session_id
    assert {path: path.read_bytes() for path in first.files} == before
    assert "something else" in second.main.with_suffix(".md").read_text("utf-8")
    (kept, _) = list_finished(home.sessions)
    assert {action.session_id for action in read_archive(kept).actions} == {second.session_id}


def test_a_snapshot_without_its_archive_is_not_overwritten(home):
    """Without the archived actions, nothing shows that it is the same pause."""
    session_id = snapshot_without_pause(home.workspace, Ending()).session_id
    begin(home, "hello")
    lines = [
        json.loads(line) | {"session_id": session_id} for line in home.file.path.read_text().splitlines()
    ]
    home.file.path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert finalize(home, Ending()).session_id != session_id
    assert len(list_pauses(Workspace.open())) == 2


def test_a_snapshot_whose_archive_cannot_be_read_is_not_overwritten(home):
    session_id = begin(home, "one")
    lines = home.file.path.read_bytes()
    first = finalize(home, Ending())
    first.files[0].rename(first.files[0].with_name(first.files[0].name + ".gz"))  # and no such thing
    home.file.path.write_bytes(lines)
    assert finalize(home, Ending()).session_id != session_id


def test_a_pause_whose_process_died_after_the_snapshot_keeps_its_id(home):
    """The lines are all there, so writing them again loses nothing."""
    session_id = begin(home, "one")
    left_behind = home.file.path.read_bytes()
    finalize(home, Ending())
    home.file.path.write_bytes(left_behind)
    record(home, "user_message", {"message": "two"}, 0.92)
    ended = finalize(home, Ending())
    assert ended.session_id == session_id
    assert len(list_pauses(Workspace.open())) == 1
    assert "two" in ended.main.read_text("utf-8")


@pytest.mark.parametrize("name", ["foo", "notes.v1", "session-2026"])
def test_a_pause_with_an_invalid_id_gets_one_that_is_listed(home, name):
    begin(home, "hello")
    lines = [json.loads(line) | {"session_id": name} for line in home.file.path.read_text().splitlines()]
    home.file.path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    ended = finalize(home, Ending())
    assert [each.session_id for each in list_pauses(Workspace.open())] == [ended.session_id]
    assert pointer(home) == ended.session_id


# Credentials


def test_lines_written_by_others_are_kept_without_credentials(home):
    """Credentials are removed from every document and the archive, even in lines that are not actions."""
    begin(home, "ours")
    ours = home.file.path.read_bytes().splitlines()
    add_line(home, data={"tool": "Bash", "args": {"command": f"curl -H {SECRET}"}})
    add_line(home, type=f"odd {SECRET}", timestamp=SECRET)
    with home.file.path.open("a", encoding="utf-8") as file:
        file.write(f'{{"torn": "{SECRET}\n')
    ended = finalize(home, Ending())
    for path in ended.files:
        assert SECRET not in path.read_text("utf-8"), path
    archived = ended.files[0].read_bytes().splitlines()
    assert archived[:2] == ours  # what is clean stays byte for byte
    assert ended.summary.bad_lines == 1


# The pointer


@pytest.mark.slow
def test_the_pointer_is_written_last(home, run_python):
    """Readers see the earlier snapshot until the new one is complete."""
    begin(home, "one")
    code = (
        "import sys; from pathlib import Path; names = []\n"
        "sys.addaudithook(lambda event, given: event == 'os.rename' and names.append(Path(str(given[1])).name))\n"
        "from leftoff.pause.finalize import Ending, finalize\n"
        "from leftoff.pause.folders import manual_pause; from leftoff.workspace import Workspace\n"
        "finalize(manual_pause(Workspace.open()), Ending()); print(names)\n"
    )
    names = json.loads(run_python(code).stdout.replace("'", '"'))
    assert names[0] == ".journal"
    assert len(names) == 6
    assert names[-1] == "LATEST-SESSION.txt"


# What extraction says


@pytest.fixture
def hook_pause(tmp_path):
    """The pause that hooks started for a session, and its transcript."""
    story = Story(session_id=SESSION, project=str(Path.cwd()))
    story.asked("Fix the lock in main.py so that orders are not taken twice.").replied(
        "Reading.", call("shell", {"command": "pytest tests/test_lock.py"}, "2 passed"), used=150_000
    )
    story.replied("The lock is taken in main.py. Next: run the whole suite.")
    transcript = tmp_path / "t.jsonl"
    write_transcript(claude.here(), story.script(), transcript)
    home = session_pause("claude", SESSION, Workspace.open())
    origin = Origin(
        agent="claude", session_id=SESSION, transcript=str(transcript), offset=9, project=str(Path.cwd())
    )
    begin(home, origin=origin, process={"pid": 2**22 + 1, "begun": "1"})
    return home, transcript


@pytest.mark.parametrize("how", ["finalize", "recover"])
def test_a_hook_s_pause_ended_by_command_states_the_mission(hook_pause, how):
    if how == "finalize":
        ended = end_selected(None, Workspace.open(), Ending(reason="by command"))
    else:
        (settled,) = recover(None, Workspace.open(), lambda _: "finalize")
        ended = settled.finalized
    state = json.loads(ended.main.read_text("utf-8"))
    assert "Fix the lock in main.py" in state["mission_summary"]
    page = ended.main.with_suffix(".md").read_text("utf-8")
    assert "## Mission" in page


def test_without_the_transcript_the_mission_is_null(hook_pause):
    hook_pause[1].unlink()
    ended = end_selected(None, Workspace.open(), Ending())
    assert json.loads(ended.main.read_text("utf-8"))["mission_summary"] is None


def test_a_session_state_from_the_caller_is_used_as_it_is(hook_pause):
    ended = finalize(hook_pause[0], Ending(session_state={"mission_summary": "As the log says"}))
    assert json.loads(ended.main.read_text("utf-8"))["mission_summary"] == "As the log says"


def test_a_page_names_only_files_that_exist(home):
    bare = snapshot_without_pause(home.workspace, Ending())
    assert "incremental.jsonl" not in bare.main.with_suffix(".md").read_text("utf-8")
    begin(home)
    ended = finalize(home, Ending())
    assert ended.files[0].name in ended.main.with_suffix(".md").read_text("utf-8")
