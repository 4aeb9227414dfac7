"""Fixtures of the tests of forgetting."""

import json
from pathlib import Path

import pytest

from leftoff.archive.archive import archive_finished
from leftoff.platform import paths
from leftoff.platform.log import write_line
from leftoff.resume_logs.save import save_log
from leftoff.search.search import SearchRequest, search
from leftoff.sessions import listing
from leftoff.sessions.ancestry import DerivedEntry, Registry
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.forget.support import NOW, OTHER, SECRET, SESSION


@pytest.fixture
def saved_sessions(home, isolated_home):
    """Two sessions of this project of which leftoff has saved all that it can."""
    mine = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    mine.write_text("context_management:\n  archive:\n    enabled: true\n", encoding="utf-8")
    Path(".git").mkdir()
    first = Story(session_id=SESSION, project=str(Path.cwd())).asked(
        f"Work on {SECRET} today, never tell the koala"
    )
    first.replied("I will.", call("shell", {"command": "pytest"}, f"1 failed: {SECRET}"), used=1_000)
    second = (
        Story(session_id=OTHER, project=str(Path.cwd()))
        .asked("Write the docs")
        .replied("Written.", used=1_000)
    )
    transcripts = home.claude(first), home.claude(second)
    for transcript in transcripts:
        save_log(str(transcript), Workspace.open())
    archive_finished(Workspace.open(), NOW)
    search(Workspace.open(), SearchRequest(query="docs"), NOW)
    listing.remember_numbers([str(each) for each in transcripts])
    write_line(f"something about {SESSION}")
    Registry(folder=paths.data_folder()).add(
        DerivedEntry(
            session_id=SESSION,
            transcript=str(transcripts[0]),
            agent="claude",
            parent_id=OTHER,
            parent_transcript=str(transcripts[1]),
            parent_fingerprint=None,
            derivation="trimmed",
            at="2026-01-06T12:00:00Z",
        )
    )
    pauses = Path(".leftoff/sessions")
    pauses.mkdir(parents=True, exist_ok=True)
    of = json.dumps({"origin": {"agent": "claude", "session_id": SESSION}})
    for end in (".json", ".md", "-incremental.jsonl"):
        (pauses / f"session-20260106-120000{end}").write_text(of, encoding="utf-8")
    (pauses / "session-20260107-120000.md").write_text("another pause", encoding="utf-8")
    return transcripts


@pytest.fixture
def settings(isolated_home):
    """Writes the user's settings."""
    mine = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)
    Path(".git").mkdir()
    return lambda text: mine.write_text(f"context_management:\n{text}", encoding="utf-8")


@pytest.fixture
def session(home):
    """A session of this project, which is a git repository."""
    Path(".git").mkdir(exist_ok=True)
    story = Story(session_id=SESSION, project=str(Path.cwd())).asked("The koala sleeps")
    return home.claude(story.replied("yes", used=100))
