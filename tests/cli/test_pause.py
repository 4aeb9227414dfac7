"""``leftoff pause …`` as a person or a script types it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.cli.main import run
from leftoff.flows.capture import capture_here
from leftoff.flows.pause_homes import hand_driven, of_session
from leftoff.flows.pause_start import start
from leftoff.pauses.origin import Origin


def said(capsys, *arguments, code=0):
    assert run(["pause", *arguments]) == code, capsys.readouterr().err
    return capsys.readouterr().out


def shown(capsys, *arguments, code=0):
    return json.loads(said(capsys, *arguments, "--json", code=code))


@pytest.fixture
def running(capsys):
    """A pause of three actions."""
    session_id = shown(capsys, "start", "--context", "0.9")["session_id"]
    said(capsys, "record", "tool_call", "--tool", "Read", "src/main.py", "--context", "0.92")
    said(capsys, "record", "user_message", "What", "now?")
    return session_id


@pytest.fixture
def old(running):
    """The same, untouched for more than an hour."""
    os.utime(hand_driven(Path.cwd()).file.path, (0, 0))
    return running


def test_status_has_the_shape_that_scripts_rely_on(running, capsys):
    """The summary fields of the design."""
    found = shown(capsys, "status")
    assert found["session_id"] == running
    assert (found["action_count"], found["context_range"], found["last_action_type"]) == (
        3,
        [0.9, 0.92],
        "user_message",
    )
    assert {"duration_seconds", "pause_started_at", "last_updated"} <= set(found)


def test_status_is_drawn_with_the_line_of_context_use(running, capsys):
    """For a person in a hurry, with what to type next."""
    out = said(capsys, "status")
    assert f"{running}  running, last touched just now" in out
    assert "3 actions, 1 of them tool calls, in 0 min" in out
    assert "90% ▁▂▂ 92%" in out or "90% ▁▁▁ 92%" in out
    assert "Read src/main.py" in out
    assert "leftoff pause finalize keeps it" in out


def test_a_pause_of_broken_lines_is_shown_as_such(capsys):
    """Counted, never hidden; foreign text can do nothing to a terminal."""
    pause = hand_driven(Path.cwd()).file
    pause.path.parent.mkdir(parents=True)
    line = {
        "type": "x\x1b[2J",
        "timestamp": "",
        "session_id": "s",
        "data": {"e": "\x1b]0;evil\x07"},
        "context_percentage": 0.9,
    }
    pause.path.write_text(f'{{"torn\n{json.dumps(line)}\n', encoding="utf-8")
    out = said(capsys, "status")
    assert "1 lines cannot be read" in out
    assert "\x1b" not in out
    assert shown(capsys, "list")[0]["note"] == "1 lines cannot be read"


def test_a_pause_without_a_single_action_is_drawn(capsys):
    """There is no line of context use then."""
    pause = hand_driven(Path.cwd()).file
    pause.path.parent.mkdir(parents=True)
    pause.path.write_bytes(b"")
    out = said(capsys, "status")
    assert "0 actions" in out
    assert "▁" not in out


def test_a_whole_life(running, capsys):
    """finalize, list, status by number, stats, compress, discard."""
    out = said(capsys, "finalize", "--message", "lunch")
    assert f"Kept {running}: 4 actions." in out
    assert out.count(running) == 5
    assert "finished" in said(capsys, "list")
    assert "pause_finalized" in said(capsys, "status", "1")
    stats = said(capsys, "stats")
    assert "Pauses finished: 1; discarded: 0." in stats
    assert "From 90 % to the end:" in stats
    assert "Read" in stats
    assert "Archives packed: 1" in said(capsys, "compress", "--older-than", "0")
    said(capsys, "start", "--context", "0.95")
    assert "Discarded session-" in said(capsys, "discard")
    assert "discarded: 1 (50% of all)" in said(capsys, "stats")


def test_a_whole_life_as_json(running, capsys):
    """Every verb gives JSON only."""
    assert shown(capsys, "record", "system_event", "disk_full")["data"] == {"event": "disk_full"}
    kept = shown(capsys, "finalize")
    assert (kept["session_id"], kept["action_count"], kept["commit"]) == (running, 5, None)
    assert kept["path"].endswith(".json")
    assert shown(capsys, "list")[0]["session_id"] == running
    assert shown(capsys, "stats")["kinds"]["system_event"] == 1
    assert shown(capsys, "compress", "--older-than", "0")["archives"] == 1
    shown(capsys, "start", "--context", "0.9")
    assert shown(capsys, "discard")["action_count"] == 1


def test_the_archive_alone(running, capsys):
    """No snapshot is made."""
    kept = shown(capsys, "finalize", "--archive-only")
    assert [Path(path).name for path in kept["files"]] == [f"{running}-incremental.jsonl"]


def test_a_commit_is_said_and_so_is_its_failure(running, capsys):
    """0 with the commit; 1 when git refuses, and the snapshot stands."""
    assert run(["pause", "finalize", "--commit"]) == 1
    captured = capsys.readouterr()
    assert "Kept" in captured.out
    assert "The snapshot is written, but git did not commit it" in captured.err
    subprocess.run(["git", "init", "-q"], check=True)
    said(capsys, "start", "--context", "0.9")
    assert "Committed as " in said(capsys, "finalize", "--commit")
    said(capsys, "start", "--context", "0.9")
    Path(".git/HEAD.lock").touch()
    assert "refused" in shown(capsys, "finalize", "--commit", code=1)["trouble"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["status"], 3, "No pause is running in this project"),
        (["finalize"], 3, "No pause is running"),
        (["discard"], 3, "No pause is running"),
        (["recover"], 3, "No pause was left behind"),
        (["compress"], 3, "older than 30 days"),
        (["status", "nosuch"], 1, "leftoff pause list shows"),
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
    """And the same as JSON."""
    assert run(["pause", *arguments]) == code
    assert words in capsys.readouterr().err
    assert run(["pause", *arguments, "--json"]) == code
    assert words in json.loads(capsys.readouterr().out)["error"]


def test_a_second_start_has_nothing_to_do(running, capsys):
    """3, and the pause goes on."""
    assert run(["pause", "start", "--context", "0.9"]) == 3
    assert "finalize or discard it" in capsys.readouterr().err


def test_an_empty_list_says_how_one_begins(capsys):
    """And is an empty list for scripts."""
    assert "leftoff pause start" in said(capsys, "list")
    assert shown(capsys, "list") == []


def test_statistics_of_nothing(capsys):
    """No minutes are made up; archives that are gone are told."""
    assert "From 90 %" not in said(capsys, "stats")
    sessions = hand_driven(Path.cwd()).sessions
    sessions.mkdir(parents=True)
    (sessions / "session-20260106-120000.md").write_text("# x\n", encoding="utf-8")
    assert "Without actions that can be read: 1" in said(capsys, "stats")
    assert "only md is left" in said(capsys, "list")


# Recovery


@pytest.mark.parametrize(
    ("flag", "words", "active"),
    [
        ("--finalize", "Finalised: ", False),
        ("--discard", "Discarded", False),
        ("--continue", "Goes on", True),
    ],
)
def test_recovery_by_flag(old, flag, words, active, capsys):
    """Without a terminal nothing is asked."""
    out = said(capsys, "recover", flag)
    assert f"Found incomplete pause session: {old}" in out
    assert words in out
    assert hand_driven(Path.cwd()).file.is_active() == active


def test_recovery_without_flag_or_terminal_only_tells(old, capsys):
    """What was found, and the three flags."""
    out = said(capsys, "recover")
    assert "  - 3 actions recorded" in out
    assert "leftoff pause recover --finalize, --discard or --continue" in out
    assert shown(capsys, "recover")[0]["choice"] is None


def test_recovery_of_a_named_one_and_of_all_projects(running, capsys):
    """A living one when it is named; others when all are asked for."""
    assert shown(capsys, "recover", running[-8:], "--continue")[0]["session_id"] == running
    session = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
    home = of_session("claude", session, Path.cwd())
    origin = Origin(agent="claude", session_id=session, project="/somewhere/else")
    start(home, 0.9, {}, capture=capture_here(Path.cwd()), origin=origin)
    os.utime(home.file.path, (0, 0))
    assert run(["pause", "recover"]) == 3
    assert len(shown(capsys, "recover", "--all", "--discard")) == 1


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
        code = child.wait(timeout=30)
    os.close(ours)
    return code, out.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("letter", "words", "active"),
    [("f", "Finalised", False), ("d", "Discarded", False), ("c", "Goes on", True)],
)
def test_on_a_terminal_the_three_choices_are_asked(old, letter, words, active):
    """In the words of the design; a letter that is none is asked again."""
    code, out = on_a_terminal(f"x\n{letter}\n", "recover")
    assert code == 0
    assert "Finalize (f), discard (d), or continue (c)? " in out
    assert words in out
    assert hand_driven(Path.cwd()).file.is_active() == active


def test_ctrl_d_at_the_question_changes_nothing(old):
    """130, and the pause is where it was."""
    code, _ = on_a_terminal("\x04", "recover")
    assert code == 130
    assert hand_driven(Path.cwd()).file.is_active()


@pytest.fixture
def two(running):
    """Two running pauses in this project."""
    session = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
    home = of_session("claude", session, Path.cwd())
    origin = Origin(agent="claude", session_id=session, project=str(Path.cwd()))
    return running, start(home, 0.9, {}, capture=capture_here(Path.cwd()), origin=origin)


def test_on_a_terminal_one_of_several_is_picked_from_a_list(two):
    """By its number."""
    code, out = on_a_terminal("1\n", "discard")
    assert code == 0
    assert "Which one" in out
    assert f"Discarded {two[1]}" in out


def test_without_a_terminal_several_are_an_error_that_names_them(two, capsys):
    """2; scripts get the same."""
    assert run(["pause", "discard"]) == 2
    assert two[0] in capsys.readouterr().err
    assert "names" in shown(capsys, "discard", "session-", code=2)["error"]


def test_a_folder_that_may_not_be_read_is_an_error_not_an_empty_list(ordinary_folder, run_python):
    """Permission denied never looks like none."""
    code = (
        "import os, sys, tempfile; from leftoff.cli.main import run\n"
        "with tempfile.TemporaryDirectory() as warm:\n"
        "    os.environ.update(HOME=warm, XDG_STATE_HOME=warm, XDG_DATA_HOME=warm); os.chdir(warm); run(['pause', 'list'])\n"
        "    os.chdir('/')\n"
        "drop(); os.environ.update(HOME=sys.argv[1], XDG_STATE_HOME=sys.argv[1], XDG_DATA_HOME=sys.argv[1])\n"
        "os.makedirs(sys.argv[1] + '/p/.leftoff/sessions'); os.chdir(sys.argv[1] + '/p'); os.chmod('.leftoff/sessions', 0)\n"
        "print(run(['pause', 'list', '--json']))\n"
    )
    said = run_python(code, ordinary_folder).stdout
    assert "cannot be read: no permission" in said
    assert said.endswith("1\n")


def test_what_is_no_file_is_shown_and_thrown_away(capsys):
    """By status, by list and by discard, as a person types them."""
    active = hand_driven(Path.cwd()).file.path
    active.mkdir(parents=True)
    assert "a folder and not a file" in said(capsys, "status")
    assert shown(capsys, "list")[0]["standing"] == "unreadable"
    assert "leftoff pause discard" in shown(capsys, "finalize", code=1)["error"]
    assert "Discarded" in said(capsys, "discard")
    assert not active.exists()


def test_an_archive_that_cannot_be_packed_is_named(running, capsys):
    """1, and what was packed is told all the same."""
    said(capsys, "finalize")
    archive = hand_driven(Path.cwd()).sessions / f"{running}-incremental.jsonl"
    archive.unlink()
    archive.symlink_to("elsewhere")
    assert run(["pause", "compress", "--older-than", "0"]) == 1
    captured = capsys.readouterr()
    assert "Archives packed: 0" in captured.out
    assert "a symbolic link" in captured.err
