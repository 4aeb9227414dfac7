"""``leftoff status`` as a process: on any terminal, with closed streams, and where nothing can be written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.cli.main import run
from leftoff.platform import paths
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript

SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
STATUS = [sys.executable, "-m", "leftoff", "status"]


@pytest.fixture
def transcript(isolated_home: Path) -> Path:
    """A session of this project."""
    path = isolated_home / ".claude" / "projects" / "-slug" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    story = Story(project=str(Path.cwd()), model="claude-sonnet-4-5").asked("Fix the login of users")
    write_transcript(claude.here(), story.replied("Done.", used=83_500).script(), path)
    return path


def test_status_is_text_for_a_person_and_json_for_a_script(transcript, capsys):
    assert run(["status"]) == 0
    assert "83,500 of 167,000 tokens, 50.0 %" in capsys.readouterr().out
    assert run(["status", str(transcript), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["context"]["used_tokens"] == 83_500


@pytest.mark.parametrize(("encoding", "mark"), [("ascii", "░".encode()), ("latin-1", b"????")])
def test_the_gauge_is_drawn_whatever_the_encoding_of_the_terminal(transcript, encoding, mark):
    """An ASCII terminal is sent UTF-8; another encoding shows ? for a character that it lacks."""
    environment = paths.environment() | {"PYTHONIOENCODING": encoding}
    ended = subprocess.run(STATUS, capture_output=True, check=True, timeout=120, env=environment)
    assert mark in ended.stdout


@pytest.mark.parametrize(
    "environment", [{"TERM": "xterm"}, {"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}], ids=str
)
def test_colours_are_shown_on_a_terminal_that_wants_them(transcript, environment):
    ended = subprocess.run(
        ["script", "-qec", " ".join(STATUS), "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env=paths.environment() | environment,
        stdin=subprocess.DEVNULL,
    )
    assert ("\x1b[32m" in ended.stdout) == (environment == {"TERM": "xterm"})


def test_a_path_that_is_not_utf_8_is_shown(transcript):
    odd = os.fsencode(transcript.parent) + b"/\xff.jsonl"
    os.link(transcript, odd)
    ended = subprocess.run([*STATUS, "--json", odd], capture_output=True, check=True, timeout=120)
    assert json.loads(ended.stdout)["transcript"].endswith("\udcff.jsonl")


@pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_is_not_an_error(transcript, stream):
    command = f"{' '.join(STATUS)} {stream}"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ("83,500" in ended.stdout) == (stream != ">&-")


def test_a_closed_pipe_is_not_an_error(transcript):
    command = f"{' '.join(STATUS)} | true"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("options", ["", "--json"])
def test_a_full_disk_is_reported(transcript, options):
    command = f"{' '.join(STATUS)} {options} > /dev/full"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 1
    assert ended.stderr == "leftoff: Standard output could not be written: No space left on device.\n"
