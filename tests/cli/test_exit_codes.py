"""What a mistake, and finding nothing, look like: one sentence and the exit code that the manual promises."""

import io
import json
import os
import re
import sys
from pathlib import Path

import pytest

from leftoff.cli import search_commands
from leftoff.cli.main import run
from leftoff.testing.builders import Story

CLAUDE_ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"


def ends(capsys, *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run([*arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    "command",
    ["sessions", "log list", "pins", "pause list", "project list", "archive list", "chat --list"],
)
def test_an_empty_list_is_nothing_to_do(capsys, command):
    """A script sees it by the exit code, a person by the sentence."""
    code, out, _ = ends(capsys, *command.split())
    assert code == 3
    assert out.strip()
    code, out, _ = ends(capsys, *command.split(), "--json")
    assert (code, json.loads(out)) == (3, [])


@pytest.mark.parametrize(
    "command", ["status", "resume", "show", "log save", "log show", "log verify", "trim", "lineage"]
)
def test_no_session_at_all_is_nothing_to_do(capsys, command):
    """Nothing was named, and there is nothing."""
    code, out, err = ends(capsys, *command.split())
    assert (code, out) == (3, "")
    assert err


@pytest.mark.parametrize("command", ["status", "resume", "show", "log save", "trim", "lineage"])
def test_a_number_that_no_list_has_is_called_that(capsys, two_sessions, command):
    """All commands that take a session say the same."""
    code, _, err = ends(capsys, *command.split(), "77")
    assert code == 1
    assert "no number 77" in err


@pytest.mark.parametrize("command", ["sessions", "report"])
def test_an_agent_that_does_not_exist_is_wrong_usage(capsys, command):
    code, _, err = ends(capsys, command, "--agent", "cursor")
    assert code == 2
    assert "No agent is called 'cursor'" in err


@pytest.mark.parametrize("command", ["sessions", "report"])
def test_a_project_folder_that_does_not_exist_is_named(capsys, two_sessions, command):
    """The folder of a project that was deleted still has its sessions."""
    code, _, err = ends(capsys, command, "--project", "/nope")
    assert code == 1
    assert "/nope: there is no such folder" in err
    assert ends(capsys, "sessions", "--project", "/somewhere/else")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("sessions --limit abc", "'abc' is not a whole number, 1 or more."),
        ("sessions --limit 0", "'0' is not a whole number, 1 or more."),
        ("report --days 99999", "not a whole number from 1 to 3,650."),
        ("log cleanup --keep abc", "'abc' is not a whole number."),
        ("pause start --context 7", "'7' is not a fraction, 0.9 for 90 %."),
        ("status a b", "unexpected extra argument (b)."),
        ("statsu", "Did you mean: leftoff status?"),
        ("log", "leftoff log needs a command: save, list, show,"),
        ("pause", "leftoff pause needs a command: start, record,"),
    ],
)
def test_a_mistake_in_the_command_is_one_plain_sentence(capsys, arguments, words):
    """It ends with where the help is."""
    code, out, err = ends(capsys, *arguments.split())
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert "--help" in err


def test_a_window_that_cannot_be_measured_is_a_sentence_without_stutter(capsys):
    code, _, err = ends(capsys, "pause", "start")
    assert code == 2
    assert "is is" not in err
    assert "how full the window is" in err


def test_one_of_anything_is_singular(capsys, home):
    """One session, one turn, one pin, one log, one action."""
    story = Story(session_id=CLAUDE_ID, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for number in range(4):
        story.asked(f"Step {number}").replied("Done.", used=96_000 + number * 14_000)
    home.claude(story)
    assert ": 1 session\n" in ends(capsys)[1]
    assert re.search(r"About 1 turn\b", ends(capsys, "status")[1])
    ends(capsys, "pin", "never push to main")
    assert "It has 1 pin:" in ends(capsys, "unpin", "5")[2]
    ends(capsys, "log", "save")
    assert ends(capsys, "log", "stats")[1].startswith("1 log, ")
    ends(capsys, "pause", "start", "--context", "0.9")
    assert "1 action (no tool call)" in ends(capsys, "pause", "status")[1]


def test_the_latest_session_of_this_minute_is_not_called_old(capsys, home):
    os.utime(home.claude(Story(session_id=CLAUDE_ID, project=str(Path.cwd())).asked("x").replied("y")))
    assert "Latest, just now: " in ends(capsys)[1]


class Terminal(io.StringIO):
    """What a terminal receives."""

    def isatty(self):
        return True


@pytest.mark.parametrize("done", [0, 40, 100])
def test_the_progress_line_is_cleared_wherever_the_reading_ends(monkeypatch, done):
    """The time for reading may be over long before everything is read."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with search_commands._progress(wanted=True) as progress:
        progress(done * 10**6, 100 * 10**6)
    assert terminal.getvalue().endswith(f"Reading sessions: {done} % of 100 MB\r\x1b[K")


def test_no_progress_leaves_the_terminal_alone(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with search_commands._progress(wanted=True):
        pass
    assert not sys.stderr.getvalue()
