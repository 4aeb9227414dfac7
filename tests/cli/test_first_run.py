"""The first minute: an empty home, an agent without sessions, before and after install; each says what to type next."""

import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.agents import claude
from leftoff.cli.main import run
from leftoff.platform import paths
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript

INSTALL = f"{sys.executable} -m leftoff install claude"


@pytest.fixture
def said(capsys):
    def say(*arguments, code=0):
        assert run([*arguments]) == code
        return capsys.readouterr().out

    return say


def test_without_any_agent_the_supported_ones_are_named(said):
    text = said()
    assert "no sessions yet" in text
    assert "leftoff works with Claude Code or Codex" in text
    assert "leftoff demo" in text
    assert "No sessions yet" in said("sessions", code=3)


@pytest.mark.parametrize("command", ["status", "resume", "advise", "show", "trim", "lineage"])
def test_without_any_session_every_command_says_how_one_appears(command, capsys):
    assert run([command]) == 3
    assert "Work with Claude Code or Codex once" in capsys.readouterr().err


def test_an_agent_that_does_not_call_leftoff_is_named_with_the_command(said, isolated_home):
    (isolated_home / ".claude").mkdir()
    assert "leftoff install claude" in said()
    assert "leftoff install codex" not in said()
    said("install", "claude", "--yes")
    assert "leftoff install" not in said()


def test_sessions_of_other_projects_are_mentioned(said, isolated_home):
    path = isolated_home / ".claude" / "projects" / "-x" / "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11.jsonl"
    path.parent.mkdir(parents=True)
    write_transcript(claude.here(), Story(project="/elsewhere").asked("Hello").replied("Hi.").script(), path)
    assert "Sessions of other projects: leftoff sessions" in said()


def test_install_ends_with_what_to_expect(said, isolated_home):
    (isolated_home / ".claude").mkdir()
    text = said("install", "claude")
    for words in (
        "status line",
        "70, 85, 90 and 95 %",
        "resume log",
        '"continue"',
        "leftoff uninstall claude",
    ):
        assert words in text
    assert "already" in said("install", "claude")


@pytest.mark.parametrize(("answer", "written"), [("n\n", False), ("y\nn\n", True), ("\nn\n", True)])
def test_install_asks_on_a_terminal(isolated_home, answer, written):
    """It shows what it will do first; the second answer is about the archive."""
    (isolated_home / ".claude").mkdir()
    ended = subprocess.run(
        ["script", "-qec", INSTALL, "/dev/null"],
        input=answer,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=paths.environment() | {"TERM": "xterm"},
    )
    assert "will call leftoff in all your projects" in ended.stdout
    assert "~/.claude/settings.json" in ended.stdout
    assert (isolated_home / ".claude" / "settings.json").exists() == written
    assert (ended.returncode == 0) == written


def test_install_does_not_ask_where_it_is_told_not_to(isolated_home):
    (isolated_home / ".claude").mkdir()
    ended = subprocess.run(
        ["script", "-qec", f"{INSTALL} --yes", "/dev/null"],
        input="n\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env=paths.environment() | {"TERM": "xterm"},
    )
    assert "Install?" not in ended.stdout
    assert Path(isolated_home / ".claude" / "settings.json").exists()
