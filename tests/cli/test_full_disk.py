"""A disk that takes no more: what was there stays, and the message names the file that could not be written."""

from __future__ import annotations

import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from leftoff.catalogue.database import FILE_NAME, library_folder, translate_errors
from leftoff.errors import StorageError
from leftoff.testing.builders import Story, call
from tests.support.fixtures import CLAUDE_ID, Home


@pytest.fixture
def saved_session(home: Home) -> Path:
    """A session that is in the library and has a resume log."""
    story = Story(session_id=CLAUDE_ID, project=str(Path.cwd()), model="claude-sonnet-4-5")
    for turn in range(20):
        story.asked(f"Step {turn}").replied(
            "Done.", call("shell", {"command": "ls"}, f"{turn} words\n" * 200)
        )
    transcript = home.claude(story)
    for command in ("log save", "search words"):
        assert leftoff(command, limit_bytes=resource.RLIM_INFINITY).returncode == 0
    return transcript


def leftoff(command: str, *, limit_bytes: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command in a process whose files cannot grow beyond the limit, which is like a full disk."""
    return subprocess.run(
        [sys.executable, "-B", "-m", "leftoff", *command.split()],  # -B: Python would leave half a .pyc
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY)),
    )


def _pieces() -> int:
    with closing(sqlite3.connect(f"{library_folder()}/{FILE_NAME}")) as library:
        return int(library.execute("SELECT count(*) FROM pieces").fetchone()[0])


@pytest.mark.parametrize("limit_bytes", [0, 50_000])
def test_a_rebuild_that_fails_leaves_the_library_as_it_was(saved_session: Path, limit_bytes: int) -> None:
    before = _pieces()
    ended = leftoff("search --rebuild", limit_bytes=limit_bytes)
    assert ended.returncode == 1
    assert f"{FILE_NAME}: not written" in ended.stderr
    assert "What was there is intact." in ended.stderr
    assert _pieces() == before > 0
    assert not [*Path(library_folder()).glob("*.new.*")]


def test_no_room_for_shared_memory_is_called_a_full_disk() -> None:
    """SQLite calls it an I/O error, which sounds like a broken disk."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_SHMSIZE"
    with pytest.raises(StorageError, match="the disk is full"), translate_errors(FILE_NAME):
        raise error


def test_a_rebuild_replaces_the_library(saved_session: Path) -> None:
    before = _pieces()
    with closing(sqlite3.connect(f"{library_folder()}/{FILE_NAME}")) as library, library:
        library.execute("DELETE FROM pieces")
    assert leftoff("search --rebuild", limit_bytes=resource.RLIM_INFINITY).returncode == 0
    assert _pieces() == before
    assert leftoff("search words", limit_bytes=resource.RLIM_INFINITY).returncode == 0


def test_the_library_can_be_searched(saved_session: Path) -> None:
    assert "words" in leftoff("search words").stdout


@pytest.mark.parametrize("command", ["log save", "rollover --force"])
def test_a_file_that_exists_already_is_not_blamed(saved_session: Path, command: str) -> None:
    ended = leftoff(command)
    assert ended.returncode == 1
    assert "resume-logs" in ended.stderr
    assert ".gitignore" not in ended.stderr


def test_an_export_names_its_file_and_leaves_no_half(saved_session: Path) -> None:
    ended = leftoff("export --out session.md", limit_bytes=1000)
    assert ended.returncode == 1
    assert "session.md: not written" in ended.stderr
    assert not Path("session.md").exists()


def test_forgetting_on_a_full_disk_says_that_it_is_not_complete(saved_session: Path) -> None:
    """Files are deleted before the library can be changed; the same command completes it."""
    ended = leftoff(f"forget {CLAUDE_ID} --yes", limit_bytes=0)
    assert ended.returncode == 1
    assert "is only partly erased" in ended.stderr
    assert "type the same command again" in ended.stderr
    assert leftoff(f"forget {CLAUDE_ID} --yes", limit_bytes=resource.RLIM_INFINITY).returncode == 0


@pytest.mark.parametrize("limit_bytes", [0, 100])
def test_half_a_project_is_not_left(saved_session: Path, limit_bytes: int) -> None:
    ended = leftoff("project init Shop", limit_bytes=limit_bytes)
    assert ended.returncode == 1
    assert "not written" in ended.stderr
    assert leftoff("project list").returncode == 3
    assert "Started 01-shop" in leftoff("project init Shop", limit_bytes=resource.RLIM_INFINITY).stdout
