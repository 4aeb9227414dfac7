"""Fixtures for a home with sessions of both agents, and for a live session."""

import os
from pathlib import Path

import pytest

from leftoff.agents import claude, codex
from leftoff.testing.builders import Story, call
from tests.support.live_session import LiveSession
from tests.support.transcripts import write_transcript

CLAUDE_ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
CODEX_ID = "01a1e0be-dee8-7b23-ae31-94e0123734a3"


class Home:
    """Write sessions where the agents would, each newer than the one before."""

    def __init__(self, home: Path, project: Path):
        self.home, self.project, self.age = home, project, 1_000

    def claude(self, story: Story, folder: str = "-slug") -> Path:
        path = self.home / ".claude" / "projects" / folder / f"{story.session_id}.jsonl"
        return self._put(claude.here(), story, path)

    def codex(self, story: Story) -> Path:
        name = f"rollout-2026-01-06T12-00-00-{story.session_id}.jsonl"
        return self._put(codex.here(), story, self.home / ".codex" / "sessions" / "2026" / "01" / "06" / name)

    def _put(self, agent, story: Story, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_transcript(agent, story.script(), path)
        self.age += 1
        os.utime(path, (1_760_000_000 + self.age, 1_760_000_000 + self.age))
        return path


@pytest.fixture
def claude_version(isolated_home):
    """Return a function that installs a version of Claude Code in place of the present one, as its own installer does."""

    def install(version: str) -> Path:
        program = isolated_home / ".local" / "share" / "claude" / "versions" / version
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\nexit 9\n", encoding="utf-8")
        program.chmod(0o755)
        link = isolated_home / ".local" / "bin" / "claude"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(program)
        return program

    return install


@pytest.fixture
def home(isolated_home):
    return Home(isolated_home, Path.cwd())


@pytest.fixture
def two_sessions(home):
    """Write a Claude session of this project, then a newer Codex session of another, and return both paths."""
    first = Story(session_id=CLAUDE_ID, project=str(Path.cwd()), model="claude-sonnet-4-5")
    first.asked("Fix the login").replied(
        "Done.", call("shell", {"command": "pytest"}, "1 passed"), used=83_500
    )
    second = (
        Story(session_id=CODEX_ID, project="/somewhere/else")
        .asked("Write docs")
        .replied("Written.", used=9_000)
    )
    return home.claude(first), home.codex(second)


@pytest.fixture
def interactive_user(monkeypatch):
    """Set the variables of a client on a terminal; headless runs set others."""
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "cli")
    monkeypatch.setenv("CLAUDE_PID", str(os.getpid()))


@pytest.fixture
def live(isolated_home):
    return LiveSession(isolated_home)
