"""Pipes, devices and gigabytes in a cloned folder: no hook or command waits for them or reads them into memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff.testing.builders import Story, call
from tests.support.fixtures import CLAUDE_ID, Home

MEMORY_BYTES = 160 * 1024 * 1024  # a command takes 60 to 100 MB
HOOK_MEMORY_BYTES = 84 * 1024 * 1024  # a hook takes less than 30 MB, and at most 60 MB more
GIGABYTE = 1024**3
EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact", "SessionEnd")
COMMANDS = (
    "",
    "status",
    "log list",
    "log show",
    "log save",
    "pins",
    "pause list",
    "pause status",
    "pause start",
    "project list",
    "project load",
    "chat --list",
    "trust",
    "doctor",
    "resume",
    "search login",
    "report",
    "rollover --dry-run",
)
FILES = (
    "configuration.yaml",
    "resume-logs/session-x.json",
    "resume-logs/session-y.md",
    "resume-logs/session-z.json.gz",
    "resume-logs/.journal",
    "sessions/LATEST-SESSION.txt",
    "sessions/ACTIVE-PAUSE.jsonl",
    "sessions/session-20260106-120000.json",
    "sessions/session-20260106-120000.md",
    "sessions/session-20260106-120001-incremental.jsonl",
    "chats/session-20260106-120000.md",
    "chats/index.json",
    "project/_resume.md",
    "project/steps.md",
    "../.claude-mpm/resume-logs/session-old.json",
    "../.claude-mpm/resume-logs/session-old.md",
    "../.claude/settings.json",
    "../.claude/settings.local.json",
    "../.codex/config.toml",
)


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_endless_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def as_gigabyte(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(GIGABYTE)


def as_many_short_lines(path: Path) -> None:
    """Just below the limit: each byte of it must not become an object."""
    path.write_bytes(b"x\n" * 2_400_000)


def as_nested_json(path: Path) -> None:
    path.write_bytes(b"[" + b"[]," * 1_600_000 + b"[]]")


def as_large_object(path: Path) -> None:
    """Plant a JSON object just within the size of a log, which takes thirty times as much memory when it is parsed."""
    path.write_text('{"a":[' + "[]," * 1_600_000 + "[]]}", encoding="utf-8")


@pytest.fixture(
    params=[as_pipe, as_endless_device, as_gigabyte, as_many_short_lines, as_nested_json, as_large_object]
)
def hostile(request: pytest.FixtureRequest, home: Home) -> Path:
    """Plant every file that leftoff reads in a project, and return a transcript of a session there."""
    plant: Callable[[Path], None] = request.param
    for name in FILES:
        path = Path(os.path.normpath(home.project / ".leftoff" / name))
        path.parent.mkdir(parents=True, exist_ok=True)
        plant(path)
    story = Story(session_id=CLAUDE_ID, project=str(home.project), model="claude-sonnet-4-5")
    story.asked("Fix the login").replied("Done.", call("shell", {"command": "ls"}, "x\n" * 900), used=150_000)
    return home.claude(story)


def run(
    *arguments: str, stdin: bytes = b"", memory_bytes: int = MEMORY_BYTES
) -> subprocess.CompletedProcess[bytes]:
    """Run leftoff with little memory; a hang ends the test."""
    return subprocess.run(
        [sys.executable, "-m", "leftoff", *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes)),
    )


def test_hooks_answer(hostile: Path, isolated_home: Path) -> None:
    for name in EVENTS:
        event = {
            "session_id": CLAUDE_ID,
            "transcript_path": str(hostile),
            "cwd": str(Path.cwd()),
            "hook_event_name": name,
            "source": "startup",
            "prompt": ">resume",
        }
        ended = run("hook", "claude", stdin=json.dumps(event).encode(), memory_bytes=HOOK_MEMORY_BYTES)
        assert ended.returncode == 0
    log = isolated_home / ".local/state/leftoff/leftoff.log"
    assert "MemoryError" not in (log.read_text(encoding="utf-8") if log.exists() else "")


@pytest.mark.slow
def test_commands_answer(hostile: Path) -> None:
    for command in COMMANDS:
        ended = run(*command.split())
        assert ended.returncode in {0, 1, 3}, (command, ended.stderr)
        assert b"bug" not in ended.stderr, (command, ended.stderr)


@pytest.mark.parametrize("plant", [as_pipe, as_endless_device, as_gigabyte])
def test_a_git_file_that_leads_to_something_endless_is_no_worktree(
    home: Home, plant: Callable[[Path], None]
) -> None:
    (home.project / ".git").write_text("gitdir: git-folder\n", encoding="utf-8")
    (home.project / "git-folder").mkdir()
    plant(home.project / "git-folder" / "commondir")
    assert run("pins").returncode == 3  # nothing is pinned
