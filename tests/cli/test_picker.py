"""``leftoff`` on a real terminal (tmux): the sessions are picked with the keyboard."""

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.platform import paths
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux: apt-get install tmux")
_SECONDS = 60  # that a screen may take on a busy machine
_numbers = itertools.count()


class Screen:
    """A terminal of its own, in which a command runs."""

    def __init__(self, tmp_path, command, columns=80, lines=24, **environment):
        self.socket = f"{tmp_path}/tmux-{next(_numbers)}"
        variables = paths.environment() | {"LANG": "C.UTF-8"} | environment
        shell = f"trap : INT; {shlex.join(command)}; echo ended with $?; cat"
        self.tmux(
            *(
                "-f",
                "/dev/null",
                "new-session",
                "-d",
                "-x",
                str(columns),
                "-y",
                str(lines),
                "sh",
                "-c",
                shell,
            ),
            env=variables,
        )

    def tmux(self, *arguments, **options):
        command = ["tmux", "-S", self.socket, *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_SECONDS, **options
        ).stdout

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def shows(self, pattern, *options):
        """Wait until the screen shows something; return the screen."""
        until = time.monotonic() + _SECONDS
        while not re.search(pattern, found := self.tmux("capture-pane", "-p", *options), re.MULTILINE):
            assert time.monotonic() < until, found
            time.sleep(0.05)
        return found


@pytest.fixture
def screen(tmp_path):
    """Start leftoff on a terminal; all terminals are gone afterwards."""
    opened = []

    def start(*arguments, **options):
        opened.append(Screen(tmp_path, [sys.executable, "-m", "leftoff", *arguments], **options))
        return opened[-1]

    yield start
    for each in opened:
        subprocess.run(
            ["tmux", "-S", each.socket, "kill-server"], capture_output=True, check=False, timeout=_SECONDS
        )


def write_sessions(home, count):
    folder = home / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    for number in range(count):
        session = f"{number:08x}-6d0c-4c7b-9d57-3f6c9d9a3b11"
        story = Story(session_id=session, project=str(Path.cwd()), model="claude-sonnet-4-5")
        story.asked(f"Task number {number}").replied(
            "I look.", call("Bash", {"command": "ls"}, f"file-{number}\n" * 800)
        )
        for step in range(4):
            story.asked(f"Step {step}").replied("Done.", used=30_000 + number)
        path = folder / f"{session}.jsonl"
        write_transcript(claude.here(), story.script(), path)
        os.utime(path, (1_760_000_000 - number, 1_760_000_000 - number))


def test_the_project_is_above_the_sessions_and_the_keys_below(screen, isolated_home):
    write_sessions(isolated_home, 30)
    shown = screen().shows("q quit")
    lines = shown.splitlines()
    assert lines[0].endswith(": 30 sessions")
    assert "Latest, " in lines[1]
    assert len(lines) == 24
    assert max(map(len, lines)) <= 80
    assert re.search(r"^>  ?1 .* Task number 0 .* \d+ % ", shown, re.MULTILINE)


def test_the_cursor_moves_by_keys_and_numbers(screen, isolated_home):
    write_sessions(isolated_home, 30)
    terminal = screen()
    terminal.shows("q quit")
    terminal.press("Down", "Down", "j", "k")
    terminal.shows(r"^>  ?3 .* Task number 2 ")
    terminal.press("2", "5")
    terminal.shows(r"^> 25 .* Task number 24 ")
    terminal.press("End")
    terminal.shows(r"^> 30 .* Task number 29 ")
    terminal.press("PPage", "Home", "Up")
    terminal.shows(r"^>  ?1 .* Task number 0 ")
    terminal.press("?")
    terminal.shows("write the copy")
    terminal.press("q")
    terminal.shows(r"^>  ?1 ")
    terminal.press("q")
    assert "Task number" not in terminal.shows("ended with 0")  # the screen is as it was before


def test_a_search_shows_only_what_was_found(screen, isolated_home):
    write_sessions(isolated_home, 12)
    terminal = screen()
    terminal.shows("q quit")
    terminal.press("/")
    terminal.press("nothingx", "BSpace", "Enter")
    terminal.shows("Nothing was found for: nothing")
    terminal.press("/")
    terminal.press("file-7", "Enter")
    terminal.shows("Sessions with: file-7")
    assert "Task number 8" not in terminal.shows(r"^> 1 .* Task number 7 ")
    terminal.press("Escape")
    terminal.shows("Task number 8")
    terminal.press("Escape")
    terminal.shows("ended with 0")


def test_enter_shows_the_card_and_starts_the_agent(screen, isolated_home, tmp_path):
    write_sessions(isolated_home, 3)
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "claude was given: $*"\n', encoding="utf-8")
    program.chmod(0o755)
    terminal = screen(PATH=f"{program.parent}:{paths.environment()['PATH']}")
    terminal.shows("q quit")
    terminal.press("Down", "Enter")
    shown = terminal.shows("Start the agent on it now")
    assert shown.lstrip().startswith("Welcome back!")  # the whole card is on the screen
    terminal.press("n", "Enter")
    terminal.shows("q quit")
    terminal.press("2", "Enter")
    terminal.shows("Start the agent on it now")
    terminal.press("y", "Enter")
    terminal.shows("claude was given: --resume 00000001-6d0c-4c7b-9d57-3f6c9d9a3b11")
    terminal.shows("ended with 0")


def test_t_trims_after_it_has_shown_the_plan(screen, isolated_home):
    write_sessions(isolated_home, 2)
    terminal = screen(columns=120, lines=40)
    terminal.shows("q quit")
    terminal.press("t")
    terminal.shows("Write this copy")
    terminal.press("y", "Enter")
    terminal.shows("Continue in it:")
    terminal.press("Enter")
    terminal.shows("└ trimmed copy")
    terminal.press("s")
    terminal.shows("Task number 0")


def test_without_colours_there_is_no_escape_sequence(screen, isolated_home):
    """The cursor is still marked."""
    write_sessions(isolated_home, 3)
    assert "\x1b" in screen().shows("q quit", "-e")
    assert "\x1b" not in screen(NO_COLOR="1").shows(r"^> 1 .*(\n.*)*q quit", "-e")


def test_a_terminal_that_changes_its_size_is_drawn_again(screen, isolated_home):
    write_sessions(isolated_home, 30)
    terminal = screen()
    terminal.shows("q quit")
    terminal.tmux("resize-window", "-x", "110", "-y", "40")
    shown = terminal.shows(r"^ +20 ")
    assert len(shown.splitlines()) == 40


def test_ctrl_c_leaves_quietly(screen, isolated_home):
    write_sessions(isolated_home, 2)
    terminal = screen()
    terminal.shows("q quit")
    terminal.press("C-c")
    assert "Interrupted" not in terminal.shows("ended with 0")


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"lines": 10}, {"columns": 30}], ids=str)
def test_a_terminal_that_cannot_be_drawn_on_gets_plain_text(screen, isolated_home, environment):
    write_sessions(isolated_home, 2)
    prefix = {"TERM": environment.pop("TERM")} if "TERM" in environment else {}
    terminal = screen(**environment) if not prefix else None
    if terminal is None:
        ended = subprocess.run(
            ["script", "-qec", f"{sys.executable} -m leftoff", "/dev/null"],
            capture_output=True,
            text=True,
            check=True,
            timeout=_SECONDS,
            env=paths.environment() | prefix,
        )
        assert "q quit" not in ended.stdout
        assert "2 sessions" in ended.stdout
    else:
        assert "q quit" not in terminal.shows("ended with 0")


@pytest.mark.slow
def test_ten_thousand_sessions(screen, isolated_home):
    """The first and the last are one key away."""
    write_sessions(isolated_home, 10_000)
    subprocess.run([sys.executable, "-m", "leftoff", "sessions", "--all"], capture_output=True, check=True)
    terminal = screen()
    terminal.shows("q quit")
    terminal.press("End")
    terminal.shows(r"^> 10000 .* Task number 9999 ")
    numbers = json.loads((isolated_home / ".local/state/leftoff/last-list.json").read_text(encoding="utf-8"))
    assert len(numbers["transcripts"]) == 10_000


_COUNT_FILES = """
import sys
opened = set()
sys.addaudithook(lambda event, found: event == "open" and str(found[0]).endswith(".jsonl") and opened.add(found[0]))
from leftoff.cli.picker import Picker
from leftoff.workspace import Workspace
Picker(Workspace.open()).draw()
print("\\nopened", len(opened))
"""


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_the_first_screen_reads_only_what_it_shows(where, tmp_path, monkeypatch):
    """However many sessions there are: those on the screen, and the newest ones in search of the project's latest."""
    sessions = paths.home() / ".claude" / "projects" / "-here"
    sessions.mkdir(parents=True)
    (tmp_path / "here").mkdir()
    story = (
        Story(session_id="0", project=str(tmp_path / "here")).asked("Add a test").replied("Done.", used=9_000)
    )
    first = sessions / "0.jsonl"
    write_transcript(claude.here(), story.script(), first)
    for number in range(1, 600):
        path = sessions / f"00000000-0000-4000-8000-{number:012}.jsonl"
        path.write_bytes(first.read_bytes())
        os.utime(path, (number, number))
    (tmp_path / where).mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / where)
    variables = paths.environment() | {"COLUMNS": "80", "LINES": "24"}
    shown = subprocess.run(
        [sys.executable, "-c", _COUNT_FILES], capture_output=True, text=True, check=True, env=variables
    ).stdout
    opened = int(shown.rpartition("opened ")[2])
    assert opened <= (40 if where == "here" else 210)
    assert ("Sessions of other projects" in shown) == (where == "elsewhere")
