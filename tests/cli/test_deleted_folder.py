"""A working folder that has been deleted stops only the commands that need it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.testing.builders import Story, call
from tests.support.fixtures import CLAUDE_ID, Home


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("sessions", 0),
        ("doctor", 0),
        ("status", 0),
        ("trim {} --force", 0),
        ("log save", 0),
        ("search login", 0),
        ("run claude", 1),
    ],
)
def test_only_commands_that_need_the_folder_fail(home: Home, tmp_path: Path, command: str, code: int) -> None:
    """Nothing is created where the folder was."""
    gone = tmp_path / "gone"
    story = Story(session_id=CLAUDE_ID, project=str(gone), model="claude-sonnet-4-5")
    for turn in range(9):
        story.asked(f"Fix the login {turn}").replied(
            "Done.", call("shell", {"command": "ls"}, "line\n" * 900)
        )
    transcript = home.claude(story)
    gone.mkdir()
    script = 'cd "$0" && rmdir "$0" && exec "$@"'
    ended = subprocess.run(
        ["sh", "-c", script, str(gone), sys.executable, "-m", "leftoff", *command.format(transcript).split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PATH": os.defpath},  # noqa: TID251 - the environment of the test
    )
    assert ended.returncode == code, ended.stderr
    assert not gone.exists()
