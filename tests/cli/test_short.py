"""The short way into a command: what it understands it does as the command line does, and all else it leaves alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.cli import short
from leftoff.cli import status as face
from leftoff.system import paths
from leftoff.testing.builders import Story

OPTIONS = (
    short.Option("--word", "word", "text", "Some text."),
    short.Option("--limit", "limit", "number", "How many."),
    short.AS_JSON,
)
SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
LONG_WAY = "import sys; from leftoff.cli.main import run; sys.exit(run(sys.argv[1:]))"


@pytest.fixture
def transcript(own_world: Path) -> Path:
    """A session of this project."""
    path = own_world / ".claude" / "projects" / "-slug" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    story = Story(project=str(Path.cwd()), model="claude-sonnet-4-5").asked("Fix the login of users")
    claude.here().transcribe(story.replied("Done.", used=83_500).script(), path)
    return path


def both(*arguments: str, terminal: bool = False, **environment: str) -> list[tuple[int, str, str]]:
    """What the command ends with and says: in the short way, and through the command line."""
    ways = [[sys.executable, "-m", "leftoff"], [sys.executable, "-c", LONG_WAY]]
    return [_ended([*way, *arguments], environment, terminal=terminal) for way in ways]


def _ended(command: list[str], environment: dict[str, str], *, terminal: bool) -> tuple[int, str, str]:
    if terminal:
        quoted = " ".join(f"'{word}'" for word in command)
        command = ["script", "-qec", quoted, "/dev/null"]
    ended = subprocess.run(
        command,
        capture_output=True,
        check=False,
        timeout=120,
        env=paths.environment() | environment,
        stdin=subprocess.DEVNULL,
    )
    return ended.returncode, ended.stdout.decode("latin-1"), ended.stderr.decode("latin-1")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        [SESSION],
        [SESSION[:8], "--json"],
        ["--json"],
        ["nosuchsession"],
        ["nosuchsession", "--json"],
        ["a", "b"],
        ["--help"],
        ["-h"],
        ["--nonsense"],
        ["-x"],
        ["--json=yes"],
        ["--", "nosuchsession"],
        ["--", "--json"],
        [""],
        ["."],
    ],
    ids=" ".join,
)
def test_status_says_the_same_in_both_ways(transcript, arguments):
    """Byte for byte, with the same exit code, whatever is typed."""
    here, there = both("status", *arguments)
    assert here == there


@pytest.mark.parametrize(
    "environment",
    [
        {"COLUMNS": "40"},
        {"COLUMNS": "not a number"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"LEFTOFF_THRESHOLDS_CAUTION": "0.2"},
        {"LEFTOFF_WINDOWS": "claude-sonnet-4-5=100000"},
        {"LEFTOFF_NONSENSE": "1"},
    ],
    ids=str,
)
def test_status_says_the_same_wherever_it_is_said(transcript, environment):
    """On a narrow terminal, on one of another encoding, with settings from outside, and with wrong ones."""
    here, there = both("status", **environment)
    assert here == there
    assert here[1] or here[0] == 1


@pytest.mark.parametrize(("encoding", "mark"), [("ascii", "░".encode()), ("latin-1", b"????")])
def test_the_gauge_is_drawn_whatever_the_terminal_says_it_knows(transcript, encoding, mark):
    """UTF-8 where it says ASCII, which is mostly nobody's wish; ? where another encoding has no such character."""
    ended = subprocess.run(
        [sys.executable, "-m", "leftoff", "status"],
        capture_output=True,
        check=True,
        timeout=120,
        env=paths.environment() | {"PYTHONIOENCODING": encoding},
    )
    assert mark in ended.stdout


@pytest.mark.parametrize(
    "environment", [{"TERM": "xterm"}, {"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}], ids=str
)
def test_status_looks_the_same_on_a_terminal(transcript, environment):
    """With its colours, and without them."""
    here, there = both("status", terminal=True, **environment)
    assert here == there
    assert ("\x1b[32m" in here[1]) == (environment == {"TERM": "xterm"})


def test_a_name_that_is_no_text_is_shown_in_both_ways(transcript):
    """Half a character in the path of a transcript."""
    odd = os.fsencode(transcript.parent) + b"/\xff.jsonl"
    os.link(transcript, odd)
    for arguments in (["status"], ["status", "--json"]):
        found = []
        for command in ([sys.executable, "-m", "leftoff"], [sys.executable, "-c", LONG_WAY]):
            ended = subprocess.run([*command, *arguments, odd], capture_output=True, check=True, timeout=120)
            found.append(ended.stdout)
        assert found[0] == found[1]
    assert json.loads(found[0])["transcript"].endswith("\udcff.jsonl")


@pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_is_no_error(transcript, stream):
    """Who starts us so wants to hear nothing there."""
    command = f"{sys.executable} -m leftoff status {stream}"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ("83,500" in ended.stdout) == (stream != ">&-")


def test_a_closed_pipe_is_no_error(transcript):
    """``| head -0``."""
    command = f"{sys.executable} -m leftoff status | true"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("arguments", ["status", "status --json"])
def test_a_full_disk_is_said(transcript, arguments):
    """Behind standard output."""
    command = f"{sys.executable} -m leftoff {arguments} > /dev/full"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 1
    assert ended.stderr == "leftoff: Standard output could not be written: No space left on device.\n"


@pytest.mark.parametrize(
    ("arguments", "values", "words"),
    [
        ([], {}, []),
        (["a", "-b", "c"], {}, ["a", "-b", "c"]),
        (["--json", "a"], {"as_json": True}, ["a"]),
        (["--word", "--json"], {"word": "--json"}, []),
        (["--word=a=b", "--limit", "7"], {"word": "a=b", "limit": 7}, []),
        (["--limit=1000"], {"limit": 1000}, []),
        (["--word", "a", "--word", "b"], {"word": "b"}, []),
        (["a", "--", "--json", "-h"], {}, ["a", "--json", "-h"]),
    ],
)
def test_what_is_understood(arguments, values, words):
    """Options wherever they stand, the last word on each, and nothing behind ``--``."""
    assert short.understood(arguments, OPTIONS) == (values, words)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["-h"],
        ["--jso"],
        ["--json=1"],
        ["--word"],
        ["--limit", "0"],
        ["--limit", "1001"],
        ["--limit", "99999999999999999999"],
        ["--limit", "x"],
        ["--limit="],
        ["a", "--other", "b"],
    ],
)
def test_what_is_left_to_the_command_line(arguments):
    """Help, mistakes, and options that are not on the list."""
    assert short.understood(arguments, OPTIONS) is None


@pytest.mark.parametrize("arguments", [["a", "b"], ["-x"], ["--watch"], ["--", "-x"]])
def test_what_status_leaves_to_the_command_line(arguments, capsys):
    """And nothing is done or said."""
    assert face.run(arguments) is None
    assert capsys.readouterr() == ("", "")


def test_status_in_the_short_way(transcript, capsys):
    """Words for a person, JSON for a script."""
    assert face.run([]) == 0
    assert "83,500 of 167,000 tokens, 50.0 %" in capsys.readouterr().out
    assert face.run([str(transcript), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["context"]["used_tokens"] == 83_500


def test_nothing_is_done_where_a_stream_is_closed(monkeypatch):
    """The command line opens it first."""
    monkeypatch.setattr(sys, "stdin", None)
    assert short.run(lambda: pytest.fail("it was done")) is None
