"""Keeping finished sessions, and putting back what an agent deleted."""

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leftoff.errors import AmbiguousSessionError, NotFoundError, NothingToDoError
from leftoff.flows.archive_sessions import archive_here, keep_finished, list_archive, restore_session
from leftoff.flows.forget import forget, plan_text
from leftoff.flows.library_tend import after_session, tend
from leftoff.flows.search import Asked, search
from leftoff.model.watch_state import WatchState
from leftoff.system import own_log
from tests.cli.test_install import leftoff

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CLAUDE_ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
CODEX_ID = "01a1e0be-dee8-7b23-ae31-94e0123734a3"
OTHER = "01a1e0be-dee8-7b23-ae31-94e0123734a4"


@pytest.fixture
def wanted(own_world):
    """The user wants an archive."""
    mine = own_world / ".config" / "leftoff" / "configuration.yaml"
    mine.parent.mkdir(parents=True)

    def write(keep_days=0):
        text = f"context_management:\n  archive:\n    enabled: true\n    keep_days: {keep_days}\n"
        mine.write_text(text, encoding="utf-8")

    write()
    return write


def test_without_being_asked_for_nothing_is_archived(two_sessions):
    """It is off until the user wants it."""
    assert keep_finished(NOW) == []
    assert list_archive() == []


def test_finished_sessions_are_archived_once(two_sessions, wanted):
    """One that was touched a moment ago is not finished, unless its agent said so."""
    os.utime(two_sessions[0], (NOW.timestamp() - 60, NOW.timestamp() - 60))
    assert [each.agent for each in keep_finished(NOW)] == ["codex"]
    assert keep_finished(NOW) == []
    assert [each.agent for each in keep_finished(NOW, ended=str(two_sessions[0]))] == ["claude"]
    assert keep_finished(NOW, deadline=0.0) == []


def test_a_deleted_session_is_still_found_and_comes_back(two_sessions, wanted):
    """With its number again."""
    beside = two_sessions[0].with_suffix("") / "subagents" / "one.jsonl"
    beside.parent.mkdir(parents=True)
    beside.write_bytes(b"{}\n")
    content = two_sessions[0].read_bytes()
    tend(NOW)
    two_sessions[0].unlink()
    beside.unlink()
    (found,) = search(Asked(query="login"), NOW).sessions
    assert (found.number, found.found.archived) == (None, True)
    assert [each.deleted for each in list_archive()].count(True) == 1
    _, restored, _ = restore_session(CLAUDE_ID[:8])
    assert restored == [two_sessions[0], beside]
    assert two_sessions[0].read_bytes() == content
    assert search(Asked(query="login"), NOW).sessions[0].number == 1
    with pytest.raises(NothingToDoError, match="all there"):
        restore_session(CLAUDE_ID)


def test_of_two_transcripts_with_one_id_the_deleted_one_comes_back(two_sessions, wanted):
    """Though the other is longer; where both stand, it is said what to type for each."""
    there = two_sessions[0]
    gone = there.parent.with_name("-srv-elsewhere") / there.name
    gone.parent.mkdir()
    gone.write_bytes(there.read_bytes())
    there.write_bytes(there.read_bytes() * 2)
    for path in (gone, there):
        os.utime(path, (NOW.timestamp() - 9000, NOW.timestamp() - 9000))
    keep_finished(NOW)
    copies = {each.transcript: each.copy for each in archive_here().sessions()}
    gone.unlink()
    said = leftoff("archive", "restore", CLAUDE_ID)
    assert gone.exists()
    assert f"{there} has the same id" in said
    assert f"--copy {copies[str(there)]}" in said
    with pytest.raises(NothingToDoError, match=f"all there.*--copy {copies[str(gone)]}"):
        restore_session(CLAUDE_ID)


def test_a_session_that_cannot_be_packed_keeps_no_other_out(two_sessions, wanted):
    """It is said of that one."""
    for name in (f"claude-{CLAUDE_ID}", f"codex-{CODEX_ID}"):
        in_the_way = archive_here().folder / f"{name}.tar.zst"
        Path(in_the_way, "x").mkdir(parents=True)
        (kept,) = keep_finished(NOW)
        assert kept.session_id not in name
        said = own_log.path().read_text(encoding="utf-8").splitlines()[-1]
        assert f"{two_sessions[name.startswith('codex')]}: not archived" in said
        archive_here().remove(kept)
        shutil.rmtree(in_the_way)


_KEEP = """
import os, sys
home, was = sys.argv[1:]
os.environ.update({name: value.replace(was, home) for name, value in os.environ.items()})
os.chdir(home)
from datetime import UTC, datetime
from leftoff.flows import archive_sessions, sessions
from leftoff.library import zstd
archive_sessions.list_archive(), [*sessions.entries(sessions.found_sessions())], zstd.is_possible()
for folder, folders, files in os.walk("."):
    for name in (".", *folders, *files):
        os.chown(os.path.join(folder, name), 65534, 65534)
drop()
print(*(each.session_id for each in archive_sessions.keep_finished(datetime(2026, 3, 1, tzinfo=UTC))))
"""


def test_a_file_that_cannot_be_read_keeps_no_other_session_out(
    two_sessions, wanted, own_world, ordinary_folder, run_python
):
    """Nor where nobody can tell whether it holds what was forgotten: it is said of that one."""
    forget(plan_text("login"))
    beside = two_sessions[1].with_suffix("") / "one.jsonl"
    beside.parent.mkdir()
    beside.write_bytes(b"{}\n")
    beside.chmod(0)
    third = two_sessions[1].with_name(two_sessions[1].name.replace(CODEX_ID, OTHER))
    third.write_bytes(two_sessions[1].read_bytes().replace(CODEX_ID.encode(), OTHER.encode()))
    os.utime(third, (NOW.timestamp() - 9000, NOW.timestamp() - 9000))
    shutil.copytree(own_world, ordinary_folder / "home")
    assert run_python(_KEEP, ordinary_folder / "home", own_world).stdout.split() == [OTHER]
    said = ordinary_folder / "home" / own_log.path().relative_to(own_world)
    assert f"{beside.name}: cannot be read" in said.read_text(encoding="utf-8")


def test_copies_are_kept_for_as_long_as_the_user_says(two_sessions, wanted):
    """Then they go."""
    keep_finished(NOW)
    assert len(list_archive()) == 2
    wanted(keep_days=30)
    for path in two_sessions:
        path.unlink()
    keep_finished(NOW + timedelta(days=29))
    assert len(list_archive()) == 2
    keep_finished(NOW + timedelta(days=31))
    assert list_archive() == []


def test_a_session_is_named_by_its_id_alone(two_sessions, wanted):
    """No id, several, or none such."""
    keep_finished(NOW)
    with pytest.raises(NotFoundError):
        restore_session("")
    with pytest.raises(NotFoundError, match="archive list --all"):
        restore_session("nobody")
    with pytest.raises(AmbiguousSessionError, match="names 2"):
        restore_session("0")


def test_the_end_of_a_session_updates_library_and_archive(two_sessions, wanted):
    """In the process that nobody waits for."""
    now = two_sessions[0].stat().st_mtime
    os.utime(two_sessions[0], (now, now))
    state = WatchState(agent="claude", session_id=CLAUDE_ID, transcript=str(two_sessions[0]))
    after_session(state)
    assert {each.session_id for each in archive_here().sessions()} >= {CLAUDE_ID}
    assert search(Asked(query="login"), NOW).sessions
    assert Path(two_sessions[0]).exists()
