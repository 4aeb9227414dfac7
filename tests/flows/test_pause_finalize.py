"""How a pause ends: what is written, in which order, and what is never written over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.cli.main import run
from leftoff.flows.capture import capture_here
from leftoff.flows.pause_finalize import Ending, finalize, finalize_here, snapshot
from leftoff.flows.pause_homes import hand_driven, of_session
from leftoff.flows.pause_list import list_pauses
from leftoff.flows.pause_record import record
from leftoff.flows.pause_recover import recover_here
from leftoff.flows.pause_start import start
from leftoff.pauses.origin import Origin
from leftoff.pauses.shelf import kept_in, lines_of
from leftoff.system import paths
from leftoff.testing.builders import Story, call

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def home():
    return hand_driven(Path.cwd())


def begin(home, *messages, **more):
    capture = capture_here(Path.cwd())
    session_id = start(home, 0.9, {}, capture=capture, **more)
    for message in messages:
        record(home, "user_message", {"message": message}, 0.91, capture=capture)
    return session_id


def add_line(home, **fields):
    """A line that somebody else wrote into the file."""
    line = {"type": "tool_call", "timestamp": "2026-01-01T00:00:00Z", "session_id": "x", "data": {}}
    with home.file.path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line | {"context_percentage": 0.9} | fields) + "\n")


def pointer(home):
    return (home.sessions / "LATEST-SESSION.txt").read_text("utf-8").strip()


# The register


def test_a_register_that_cannot_be_written_is_said_and_undoes_nothing(home, capsys):
    """The snapshot stands, the pause has ended, and nobody is told otherwise."""
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


def test_a_pause_with_the_id_of_a_finished_one_gets_an_id_of_its_own(home):
    """L13: a file that was copied, or came with a clone, replaces no snapshot."""
    session_id = begin(home, "IMPORTANT")
    copied = home.file.path.read_bytes()
    first = finalize(home, Ending())
    before = {path: path.read_bytes() for path in first.files}
    home.file.path.write_bytes(copied.replace(b"IMPORTANT", b"something else"))
    second = finalize(home, Ending())
    assert second.session_id != session_id
    assert {path: path.read_bytes() for path in first.files} == before
    assert "something else" in second.main.with_suffix(".md").read_text("utf-8")
    (kept, _) = kept_in(home.sessions)
    assert {action.session_id for action in lines_of(kept).actions} == {second.session_id}


def test_a_snapshot_without_its_lines_is_not_written_over_either(home):
    """Nobody can tell then whether it is the same pause."""
    session_id = snapshot(home.project, Ending()).session_id
    begin(home, "hello")
    lines = [
        json.loads(line) | {"session_id": session_id} for line in home.file.path.read_text().splitlines()
    ]
    home.file.path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert finalize(home, Ending()).session_id != session_id
    assert len(list_pauses(Path.cwd())) == 2


def test_a_snapshot_whose_lines_cannot_be_read_is_not_written_over(home):
    """What cannot be compared is somebody else's."""
    session_id = begin(home, "one")
    lines = home.file.path.read_bytes()
    first = finalize(home, Ending())
    first.files[0].rename(first.files[0].with_name(first.files[0].name + ".gz"))  # and no such thing
    home.file.path.write_bytes(lines)
    assert finalize(home, Ending()).session_id != session_id


def test_a_pause_that_went_on_after_its_snapshot_keeps_its_id(home):
    """Who was killed between the snapshot and the end left all lines behind: nothing is lost when they are kept again."""
    session_id = begin(home, "one")
    left_behind = home.file.path.read_bytes()
    finalize(home, Ending())
    home.file.path.write_bytes(left_behind)
    record(home, "user_message", {"message": "two"}, 0.92, capture=capture_here(Path.cwd()))
    ended = finalize(home, Ending())
    assert ended.session_id == session_id
    assert len(list_pauses(Path.cwd())) == 1
    assert "two" in ended.main.read_text("utf-8")


@pytest.mark.parametrize("name", ["foo", "notes.v1", "session-2026"])
def test_a_pause_of_an_odd_id_does_not_vanish_from_the_list(home, name):
    """It is kept under an id by which snapshots are found."""
    begin(home, "hello")
    lines = [json.loads(line) | {"session_id": name} for line in home.file.path.read_text().splitlines()]
    home.file.path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    ended = finalize(home, Ending())
    assert [each.session_id for each in list_pauses(Path.cwd())] == [ended.session_id]
    assert pointer(home) == ended.session_id


# Credentials


def test_lines_that_somebody_else_wrote_are_kept_without_credentials(home):
    """In the page, the JSON, the YAML and the archive; also of a line that is no action."""
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


def test_the_pointer_is_renamed_last(home, run_python):
    """Whoever looks in between sees the earlier snapshot, whole."""
    begin(home, "one")
    code = (
        "import sys; from pathlib import Path; names = []\n"
        "sys.addaudithook(lambda event, given: event == 'os.rename' and names.append(Path(str(given[1])).name))\n"
        "from leftoff.flows.pause_finalize import Ending, finalize\n"
        "from leftoff.flows.pause_homes import hand_driven\n"
        "finalize(hand_driven(Path.cwd()), Ending()); print(names)\n"
    )
    names = json.loads(run_python(code).stdout.replace("'", '"'))
    assert names[0] == ".journal"
    assert len(names) == 6
    assert names[-1] == "LATEST-SESSION.txt"


# What extraction says


@pytest.fixture
def told(tmp_path):
    """A session of an agent whose hooks have begun a pause; its home and its transcript."""
    story = Story(session_id=SESSION, project=str(Path.cwd()))
    story.asked("Fix the lock in main.py so that orders are not taken twice.").replied(
        "Reading.", call("shell", {"command": "pytest tests/test_lock.py"}, "2 passed"), used=150_000
    )
    story.replied("The lock is taken in main.py. Next: run the whole suite.")
    transcript = tmp_path / "t.jsonl"
    claude.here().transcribe(story.script(), transcript)
    home = of_session("claude", SESSION, Path.cwd())
    origin = Origin(
        agent="claude", session_id=SESSION, transcript=str(transcript), offset=9, project=str(Path.cwd())
    )
    begin(home, origin=origin, process={"pid": 2**22 + 1, "begun": "1"})
    return home, transcript


@pytest.mark.parametrize("how", ["finalize", "recover"])
def test_a_hook_s_pause_ended_by_command_says_what_the_session_was_about(told, how):
    """Its mission stands in the snapshot, as when a hook ends it."""
    if how == "finalize":
        ended = finalize_here(None, Path.cwd(), Ending(reason="by command"))
    else:
        (settled,) = recover_here(Path.cwd(), lambda _: "finalize")
        ended = settled.finalized
    state = json.loads(ended.main.read_text("utf-8"))
    assert "Fix the lock in main.py" in state["mission_summary"]
    page = ended.main.with_suffix(".md").read_text("utf-8")
    assert "## Mission" in page


def test_without_its_transcript_the_snapshot_is_made_all_the_same(told):
    """What nobody knows is null."""
    told[1].unlink()
    ended = finalize_here(None, Path.cwd(), Ending())
    assert json.loads(ended.main.read_text("utf-8"))["mission_summary"] is None


def test_what_the_caller_knows_is_not_extracted_again(told):
    """A hook has saved the log just before."""
    ended = finalize(told[0], Ending(session_state={"mission_summary": "As the log says"}))
    assert json.loads(ended.main.read_text("utf-8"))["mission_summary"] == "As the log says"


def test_a_page_names_only_files_that_are_there(home):
    """Without a recorded pause there is no archive."""
    bare = snapshot(home.project, Ending())
    assert "incremental.jsonl" not in bare.main.with_suffix(".md").read_text("utf-8")
    begin(home)
    ended = finalize(home, Ending())
    assert ended.files[0].name in ended.main.with_suffix(".md").read_text("utf-8")
