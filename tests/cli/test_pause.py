"""``leftoff pause …`` as a person or a script types it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import leftoff
from leftoff.cli.main import run
from leftoff.pause.folders import manual_pause, session_pause
from leftoff.pause.journal import Origin
from leftoff.pause.lifecycle import start
from leftoff.workspace import Workspace


def output_of(capsys, *arguments, code=0):
    assert run(["pause", *arguments]) == code, capsys.readouterr().err
    return capsys.readouterr().out


def json_of(capsys, *arguments, code=0):
    return json.loads(output_of(capsys, *arguments, "--json", code=code))


@pytest.fixture
def running(capsys):
    """A pause of three actions."""
    session_id = json_of(capsys, "start", "--context", "0.9")["session_id"]
    output_of(capsys, "record", "tool_call", "--tool", "Read", "src/main.py", "--context", "0.92")
    output_of(capsys, "record", "user_message", "What", "now?")
    return session_id


@pytest.fixture
def old(running):
    """Return the running pause after more than an hour without a change."""
    os.utime(manual_pause(Workspace.open()).file.path, (0, 0))
    return running


def test_status_has_the_shape_that_scripts_rely_on(running, capsys):
    """The status has the documented fields of a summary."""
    found = json_of(capsys, "status")
    assert found["session_id"] == running
    assert (found["action_count"], found["context_range"], found["last_action_type"]) == (
        3,
        [0.9, 0.92],
        "user_message",
    )
    assert {"duration_seconds", "pause_started_at", "last_updated"} <= set(found)


def test_status_is_drawn_with_the_line_of_context_use(running, capsys):
    out = output_of(capsys, "status")
    assert f"{running}  running, last action just now" in out
    assert "3 actions (1 tool call) in 0 min" in out
    assert "90% ▁▂▂ 92%" in out or "90% ▁▁▁ 92%" in out
    assert "Read src/main.py" in out
    assert "To keep it: leftoff pause finalize" in out


def test_a_pause_of_broken_lines_is_shown_as_such(capsys):
    """Broken lines are counted, and foreign text cannot control the terminal."""
    pause = manual_pause(Workspace.open()).file
    pause.path.parent.mkdir(parents=True)
    line = {
        "type": "x\x1b[2J",
        "timestamp": "",
        "session_id": "s",
        "data": {"e": "\x1b]0;evil\x07"},
        "context_percentage": 0.9,
    }
    pause.path.write_text(f'{{"torn\n{json.dumps(line)}\n', encoding="utf-8")
    out = output_of(capsys, "status")
    assert "1 line cannot be read" in out
    assert "\x1b" not in out
    assert json_of(capsys, "list")[0]["note"] == "1 line cannot be read"


def test_a_pause_without_a_single_action_is_drawn(capsys):
    pause = manual_pause(Workspace.open()).file
    pause.path.parent.mkdir(parents=True)
    pause.path.write_bytes(b"")
    out = output_of(capsys, "status")
    assert "0 actions" in out
    assert "▁" not in out


def test_a_whole_life(running, capsys):
    """A pause is finalised, listed, shown, counted, compressed and discarded."""
    out = output_of(capsys, "finalize", "--message", "lunch")
    assert f"Kept {running}: 4 actions." in out
    assert out.count(running) == 5
    assert "finished" in output_of(capsys, "list")
    assert "pause_finalized" in output_of(capsys, "status", "1")
    stats = output_of(capsys, "stats")
    assert "Pauses finished: 1; discarded: 0." in stats
    assert "From 90 % to the end:" in stats
    assert "Read" in stats
    assert "Archives compressed: 1" in output_of(capsys, "compress", "--older-than", "0")
    output_of(capsys, "start", "--context", "0.95")
    assert "Discarded session-" in output_of(capsys, "discard")
    assert "discarded: 1 (50% of all)" in output_of(capsys, "stats")


def test_a_whole_life_as_json(running, capsys):
    """Every verb gives JSON only."""
    assert json_of(capsys, "record", "system_event", "disk_full")["data"] == {"event": "disk_full"}
    kept = json_of(capsys, "finalize")
    assert (kept["session_id"], kept["action_count"], kept["commit"]) == (running, 5, None)
    assert kept["path"].endswith(".json")
    assert json_of(capsys, "list")[0]["session_id"] == running
    assert json_of(capsys, "stats")["kinds"]["system_event"] == 1
    assert json_of(capsys, "compress", "--older-than", "0")["archives"] == 1
    json_of(capsys, "start", "--context", "0.9")
    assert json_of(capsys, "discard")["action_count"] == 1


def test_the_archive_alone(running, capsys):
    """With ``--archive-only`` no snapshot is written."""
    kept = json_of(capsys, "finalize", "--archive-only")
    assert [Path(path).name for path in kept["files"]] == [f"{running}-incremental.jsonl"]


def test_a_commit_is_reported_and_so_is_its_failure(running, capsys):
    """The exit code is 0 with the commit, and 1 when git refuses; the snapshot is kept."""
    assert run(["pause", "finalize", "--commit"]) == 1
    captured = capsys.readouterr()
    assert "Kept" in captured.out
    assert "The snapshot is written, but git did not commit it" in captured.err
    subprocess.run(["git", "init", "-q"], check=True)
    output_of(capsys, "start", "--context", "0.9")
    assert "Committed as " in output_of(capsys, "finalize", "--commit")
    output_of(capsys, "start", "--context", "0.9")
    Path(".git/HEAD.lock").touch()
    assert "refused" in json_of(capsys, "finalize", "--commit", code=1)["trouble"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["status"], 3, "No pause is running in this project"),
        (["finalize"], 3, "No pause is running"),
        (["discard"], 3, "No pause is running"),
        (["recover"], 3, "No pause was interrupted"),
        (["compress"], 3, "older than 30 days"),
        (["status", "nosuch"], 1, "leftoff pause list"),
        (["record", "user_message", "x"], 1, "leftoff pause start"),
        (["start"], 2, "--context 0.9"),
        (["start", "--context", "91"], 2, "0.9 for 90 %"),
        (["start", "--context", "4.9"], 2, "0.9 for 90 %"),
        (["discard", "7"], 1, "no number 7"),
        (["record", "nonsense"], 2, "leftoff pause record --help"),
        (["record", "tool_call"], 2, "--tool"),
        (["record", "system_event", "x", "--data", "{"], 2, "not JSON"),
        (["record", "system_event", "x", "--data", "[]"], 2, "JSON object"),
        (["nonsense"], 2, "leftoff pause --help"),
    ],
)
def test_every_refusal_has_its_code_and_says_what_to_type(arguments, code, words, capsys):
    """Every refusal is reported as text and as JSON with the same exit code."""
    assert run(["pause", *arguments]) == code
    assert words in capsys.readouterr().err
    assert run(["pause", *arguments, "--json"]) == code
    assert words in json.loads(capsys.readouterr().out)["error"]


def test_a_second_start_has_nothing_to_do(running, capsys):
    """The exit code is 3, and the pause continues."""
    assert run(["pause", "start", "--context", "0.9"]) == 3
    assert "finalize or discard it" in capsys.readouterr().err


def test_an_empty_list_says_how_one_begins(capsys):
    """As JSON it is an empty list."""
    assert "leftoff pause start" in output_of(capsys, "list", code=3)
    assert json_of(capsys, "list", code=3) == []


def test_statistics_of_nothing(capsys):
    """No minutes are made up, and missing archives are reported."""
    assert "From 90 %" not in output_of(capsys, "stats")
    sessions = manual_pause(Workspace.open()).sessions
    sessions.mkdir(parents=True)
    (sessions / "session-20260106-120000.md").write_text("# x\n", encoding="utf-8")
    assert "Without readable actions: 1" in output_of(capsys, "stats")
    assert "only md is left" in output_of(capsys, "list")


# Recovery


@pytest.mark.parametrize(
    ("flag", "words", "active"),
    [
        ("--finalize", "Finalised: ", False),
        ("--discard", "Discarded", False),
        ("--continue", "Still running", True),
    ],
)
def test_recovery_by_flag(old, flag, words, active, capsys):
    """Without a terminal nothing is asked."""
    out = output_of(capsys, "recover", flag)
    assert f"Found incomplete pause session: {old}" in out
    assert words in out
    assert manual_pause(Workspace.open()).file.is_active() == active


def test_recovery_without_flag_or_terminal_only_tells(old, capsys):
    """The output names what was found and the three flags."""
    out = output_of(capsys, "recover")
    assert "  - 3 actions recorded" in out
    assert "leftoff pause recover --finalize, --discard or --continue" in out
    assert json_of(capsys, "recover")[0]["choice"] is None


def test_recovery_of_a_named_one_and_of_all_projects(running, capsys):
    """A living one when it is named; others when all are asked for."""
    assert json_of(capsys, "recover", running[-8:], "--continue")[0]["session_id"] == running
    session = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
    home = session_pause("claude", session, Workspace.open())
    origin = Origin(agent="claude", session_id=session, project="/somewhere/else")
    start(home, 0.9, {}, origin=origin)
    os.utime(home.file.path, (0, 0))
    assert run(["pause", "recover"]) == 3
    assert len(json_of(capsys, "recover", "--all", "--discard")) == 1


# On a terminal


def on_a_terminal(typed: str, *arguments: str) -> tuple[int, str]:
    """What the command says to a terminal where that is typed, and its exit code."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "leftoff", "pause", *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as child:
        os.close(theirs)
        os.write(ours, typed.encode())
        out = b""
        try:
            while piece := os.read(ours, 4096):
                out += piece
        except OSError:
            pass  # the terminal is gone when its last user is
        code = child.wait(timeout=60)
    os.close(ours)
    return code, out.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("letter", "words", "active"),
    [("f", "Finalised", False), ("d", "Discarded", False), ("c", "Still running", True)],
)
@pytest.mark.slow
def test_on_a_terminal_the_three_choices_are_asked(old, letter, words, active):
    """The question is repeated after an unknown letter."""
    code, out = on_a_terminal(f"x\n{letter}\n", "recover")
    assert code == 0
    assert "Finalize (f), discard (d), or continue (c)? " in out
    assert words in out
    assert manual_pause(Workspace.open()).file.is_active() == active


@pytest.mark.slow
def test_ctrl_d_at_the_question_changes_nothing(old):
    """The exit code is 130, and the pause is unchanged."""
    code, _ = on_a_terminal("\x04", "recover")
    assert code == 130
    assert manual_pause(Workspace.open()).file.is_active()


@pytest.fixture
def two(running):
    """Two running pauses in this project."""
    session = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
    home = session_pause("claude", session, Workspace.open())
    origin = Origin(agent="claude", session_id=session, project=str(Path.cwd()))
    return running, start(home, 0.9, {}, origin=origin)


@pytest.mark.slow
def test_on_a_terminal_one_of_several_is_picked_from_a_list(two):
    code, out = on_a_terminal("1\n", "discard")
    assert code == 0
    assert "Which one" in out
    assert f"Discarded {two[1]}" in out


def test_without_a_terminal_several_are_an_error_that_names_them(two, capsys):
    """The exit code is 2, also with --json."""
    assert run(["pause", "discard"]) == 2
    assert two[0] in capsys.readouterr().err
    assert "names" in json_of(capsys, "discard", "session-", code=2)["error"]


def test_an_archive_that_cannot_be_packed_is_named(running, capsys):
    """The exit code is 1, and what was packed is listed nevertheless."""
    output_of(capsys, "finalize")
    archive = manual_pause(Workspace.open()).sessions / f"{running}-incremental.jsonl"
    archive.unlink()
    archive.symlink_to("elsewhere")
    assert run(["pause", "compress", "--older-than", "0"]) == 1
    captured = capsys.readouterr()
    assert "Archives compressed: 0" in captured.out
    assert "a symbolic link" in captured.err


def test_a_pause_that_was_finished_by_hand_can_be_resumed(running, capsys):
    """The note is listed, shown at a glance and on the welcome screen, and what was recorded is in the text."""
    output_of(capsys, "finalize", "-m", "lunch, then the migration")
    assert "lunch, then the migration" in output_of(capsys, "list")
    assert json_of(capsys, "list")[0]["note"] == "lunch, then the migration"
    assert run([]) == 0
    assert "Paused just now: lunch, then the migration\nPick it up: leftoff resume" in capsys.readouterr().out
    assert run(["resume"]) == 0
    card = capsys.readouterr().out
    for words in (
        "Welcome back!",
        "lunch, then the migration",
        "Read src/main.py",
        f"leftoff pause status {running}",
    ):
        assert words in card
    assert "leftoff log show" not in card
    assert run(["resume", "--print"]) == 0
    text = capsys.readouterr().out
    assert "Welcome back!" not in text
    for words in ("lunch, then the migration", "What now?", "Read src/main.py", running):
        assert words in text
    for selector in (running, running.removeprefix("session-")[:15]):
        assert run(["resume", selector, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["session_id"] == running


def test_a_pause_without_a_session_starts_no_agent(running, capsys):
    """What to do instead is said."""
    output_of(capsys, "finalize")
    assert run(["resume", "--run"]) == 1
    assert "Start your agent and give it what this prints: leftoff resume --print" in capsys.readouterr().err


def test_a_snapshot_from_elsewhere_is_shown_and_marked(running, capsys):
    """An archive can bring any snapshot; a command that a person types works, and says so."""
    output_of(capsys, "finalize", "-m", "x")
    (path,) = Path(".leftoff/sessions").glob("*.json")
    path.write_text(path.read_text("utf-8").replace('"message": "x"', '"message": "run this"'), "utf-8")
    os.utime(path, (0, 0))
    assert run(["resume"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("NOT TRUSTED: it was unpacked or copied to its place")
    assert "leftoff trust" in out


def test_work_after_a_pause_is_what_is_resumed(running, capsys):
    """A log that was saved after the snapshot is newer."""
    output_of(capsys, "finalize", "-m", "lunch")
    state = {"mission_summary": "Add rate limits to the login"}
    leftoff.SessionManager(session_id="after-lunch").generate_resume_log(state)
    assert run(["resume"]) == 0
    out = capsys.readouterr().out
    assert "Add rate limits" in out
    assert "lunch, then" not in out


def test_without_a_pause_the_list_says_how_one_begins_and_what_was_discarded(running, capsys):
    """It does not promise a pause that hooks would not begin now."""
    output_of(capsys, "discard")
    out = output_of(capsys, "list", code=3)
    assert out.startswith("No pause in this project (discarded: 1). To start one: leftoff pause start\n")
    assert "90 %" not in out


def test_at_a_glance_a_running_pause_is_mentioned(running, capsys):
    """After it was discarded, nothing claims that anything is recorded."""
    assert run([]) == 0
    assert "A pause is being recorded" in capsys.readouterr().out
    output_of(capsys, "discard")
    assert run([]) == 0
    assert "record" not in capsys.readouterr().out


def test_an_unknown_usage_is_asked_for_in_plain_words(capsys):
    assert run(["pause", "start"]) == 2
    assert "it is not known how full the window is" in capsys.readouterr().err
