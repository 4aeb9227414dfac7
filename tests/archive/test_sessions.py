"""Archiving finished sessions and restoring what an agent deleted."""

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leftoff.archive.archive import archive_finished, list_archive, open_archive, restore_session
from leftoff.errors import AmbiguousSessionError, NotFoundError, NothingToDoError
from leftoff.forget.forget import forget, plan_text
from leftoff.platform import log
from leftoff.search.search import SearchRequest, search
from leftoff.search.update_index import after_session, update_library_and_archive
from leftoff.sessions.live_state import LiveState
from leftoff.workspace import Workspace
from tests.cli.test_install import leftoff

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CLAUDE_ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
CODEX_ID = "01a1e0be-dee8-7b23-ae31-94e0123734a3"
OTHER = "01a1e0be-dee8-7b23-ae31-94e0123734a4"


@pytest.fixture
def archive_enabled(isolated_home):
    """Enable the archive."""
    mine = isolated_home / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)

    def write(keep_days=0):
        text = f"context_management:\n  archive:\n    enabled: true\n    keep_days: {keep_days}\n"
        mine.write_text(text, encoding="utf-8")

    write()
    return write


def test_nothing_is_archived_by_default(two_sessions):
    """The archive is off until the user enables it."""
    assert archive_finished(Workspace.open(), NOW) == []
    assert list_archive() == []


def test_finished_sessions_are_archived_once(two_sessions, archive_enabled):
    """One that changed a moment ago is not finished, unless its agent said so."""
    os.utime(two_sessions[0], (NOW.timestamp() - 60, NOW.timestamp() - 60))
    assert [each.agent for each in archive_finished(Workspace.open(), NOW)] == ["codex"]
    assert archive_finished(Workspace.open(), NOW) == []
    assert [each.agent for each in archive_finished(Workspace.open(), NOW, ended=str(two_sessions[0]))] == [
        "claude"
    ]
    assert archive_finished(Workspace.open(), NOW, deadline=0.0) == []


def test_a_deleted_session_is_found_and_restored(two_sessions, archive_enabled):
    """A restored session gets its number again."""
    beside = two_sessions[0].with_suffix("") / "subagents" / "one.jsonl"
    beside.parent.mkdir(parents=True)
    beside.write_bytes(b"{}\n")
    content = two_sessions[0].read_bytes()
    update_library_and_archive(Workspace.open(), NOW)
    two_sessions[0].unlink()
    beside.unlink()
    (found,) = search(Workspace.open(), SearchRequest(query="login"), NOW).sessions
    assert (found.number, found.source.archived) == (None, True)
    assert [each.deleted for each in list_archive()].count(True) == 1
    _, restored, _ = restore_session(CLAUDE_ID[:8])
    assert restored == [two_sessions[0], beside]
    assert two_sessions[0].read_bytes() == content
    assert search(Workspace.open(), SearchRequest(query="login"), NOW).sessions[0].number == 1
    with pytest.raises(NothingToDoError, match="all there"):
        restore_session(CLAUDE_ID)


def test_of_two_transcripts_with_one_id_the_deleted_one_is_restored(two_sessions, archive_enabled):
    """If both exist, the message says what to type for each."""
    there = two_sessions[0]
    gone = there.parent.with_name("-srv-elsewhere") / there.name
    gone.parent.mkdir()
    gone.write_bytes(there.read_bytes())
    there.write_bytes(there.read_bytes() * 2)
    for path in (gone, there):
        os.utime(path, (NOW.timestamp() - 9000, NOW.timestamp() - 9000))
    archive_finished(Workspace.open(), NOW)
    copies = {each.transcript: each.copy for each in open_archive().sessions()}
    gone.unlink()
    output = leftoff("archive", "restore", CLAUDE_ID)
    assert gone.exists()
    assert f"{there} has the same id" in output
    assert f"--copy {copies[str(there)]}" in output
    with pytest.raises(NothingToDoError, match=f"all there.*--copy {copies[str(gone)]}"):
        restore_session(CLAUDE_ID)


def test_a_session_that_cannot_be_packed_does_not_stop_others(two_sessions, archive_enabled):
    for name in (f"claude-{CLAUDE_ID}", f"codex-{CODEX_ID}"):
        in_the_way = open_archive().folder / f"{name}.tar.zst"
        Path(in_the_way, "x").mkdir(parents=True)
        (kept,) = archive_finished(Workspace.open(), NOW)
        assert kept.session_id not in name
        log_line = log.log_path().read_text(encoding="utf-8").splitlines()[-1]
        assert f"{two_sessions[name.startswith('codex')]}: not archived" in log_line
        open_archive().remove(kept)
        shutil.rmtree(in_the_way)


_KEEP = """
import os, sys
home, was = sys.argv[1:]
os.environ.update({name: value.replace(was, home) for name, value in os.environ.items()})
os.chdir(home)
from datetime import UTC, datetime
from leftoff.platform import zstd
from leftoff.archive import archive
from leftoff.sessions import listing
from leftoff.workspace import Workspace
archive.list_archive(), [*listing.entries(listing.list_transcripts())], zstd.is_available()
for folder, folders, files in os.walk("."):
    for name in (".", *folders, *files):
        os.chown(os.path.join(folder, name), 65534, 65534)
drop()
print(*(each.session_id for each in archive.archive_finished(Workspace.open(), datetime(2026, 3, 1, tzinfo=UTC))))
"""


def test_an_unreadable_file_does_not_stop_other_sessions(
    two_sessions, archive_enabled, isolated_home, unprivileged_folder, run_python
):
    """A file that cannot be checked for forgotten texts is logged and does not stop others either."""
    forget(plan_text("login", Workspace.open()))
    beside = two_sessions[1].with_suffix("") / "one.jsonl"
    beside.parent.mkdir()
    beside.write_bytes(b"{}\n")
    beside.chmod(0)
    third = two_sessions[1].with_name(two_sessions[1].name.replace(CODEX_ID, OTHER))
    third.write_bytes(two_sessions[1].read_bytes().replace(CODEX_ID.encode(), OTHER.encode()))
    os.utime(third, (NOW.timestamp() - 9000, NOW.timestamp() - 9000))
    shutil.copytree(isolated_home, unprivileged_folder / "home")
    assert run_python(_KEEP, unprivileged_folder / "home", isolated_home).stdout.split() == [OTHER]
    log_file = unprivileged_folder / "home" / log.log_path().relative_to(isolated_home)
    assert f"{beside.name}: cannot be read" in log_file.read_text(encoding="utf-8")


def test_copies_are_kept_for_the_configured_days(two_sessions, archive_enabled):
    """Copies are removed after the configured number of days."""
    archive_finished(Workspace.open(), NOW)
    assert len(list_archive()) == 2
    archive_enabled(keep_days=30)
    for path in two_sessions:
        path.unlink()
    archive_finished(Workspace.open(), NOW + timedelta(days=29))
    assert len(list_archive()) == 2
    archive_finished(Workspace.open(), NOW + timedelta(days=31))
    assert list_archive() == []


def test_a_selector_must_match_one_session(two_sessions, archive_enabled):
    """A selector that matches no session or several is refused."""
    archive_finished(Workspace.open(), NOW)
    with pytest.raises(NotFoundError):
        restore_session("")
    with pytest.raises(NotFoundError, match="archive list --all"):
        restore_session("nobody")
    with pytest.raises(AmbiguousSessionError, match="names 2"):
        restore_session("0")


def test_the_end_of_a_session_updates_index_and_archive(two_sessions, archive_enabled):
    """A background process does this."""
    now = two_sessions[0].stat().st_mtime
    os.utime(two_sessions[0], (now, now))
    state = LiveState(agent="claude", session_id=CLAUDE_ID, transcript=str(two_sessions[0]))
    after_session(state)
    assert {each.session_id for each in open_archive().sessions()} >= {CLAUDE_ID}
    assert search(Workspace.open(), SearchRequest(query="login"), NOW).sessions
    assert Path(two_sessions[0]).exists()
