"""Statistics over pauses, and compressed archives."""

from __future__ import annotations

import shutil
from datetime import timedelta

import pytest

from leftoff.pause.finalize import (
    Ending,
    finalize,
    snapshot_without_pause,
)
from leftoff.pause.folders import manual_pause
from leftoff.pause.lifecycle import (
    discard,
    record,
    start,
)
from leftoff.pause.list_pauses import pause_status
from leftoff.pause.pause_stats import compress_archives, project_statistics
from leftoff.platform import paths
from leftoff.platform.register import Register
from leftoff.workspace import Workspace


@pytest.fixture
def here():
    return Workspace.open()


def begin(home, **more):
    return start(home, 0.9, {}, **more)


def finish(here, reason=None):
    home = manual_pause(here)
    session_id = begin(home)
    record(home, "tool_call", {"tool": "Read"}, 0.92)
    finalize(home, Ending(reason=reason))
    return session_id


def test_statistics_count_finished_discarded_and_unreadable_pauses(here):
    finish(here)
    broken = finish(here)
    bare = finish(here)
    sessions = manual_pause(here).sessions
    (sessions / f"{broken}-incremental.jsonl").unlink()
    (sessions / f"{broken}-incremental.jsonl.gz").write_bytes(b"nonsense")
    (sessions / f"{bare}-incremental.jsonl").unlink()
    begin(manual_pause(here))
    discard(manual_pause(here))
    snapshot_without_pause(here, Ending())  # no pause was recorded for it
    found = project_statistics(here)
    assert (found.statistics.finished, found.statistics.discarded, found.without_lines) == (3, 1, 2)
    assert found.statistics.discarded_fraction == 0.25
    assert found.statistics.tools == {"Read": 1}
    assert found.to_dict()["without_lines"] == 2


def test_old_archives_are_compressed_and_still_read(here):
    """Newer ones stay; compressed ones are registered as ours."""
    session_id = finish(here)
    assert compress_archives(here, timedelta(days=1)).archives == 0
    done = compress_archives(here, timedelta(0))
    assert (done.archives, done.saved_bytes > 0) == (1, True)
    packed = manual_pause(here).sessions / f"{session_id}-incremental.jsonl.gz"
    assert Register(folder=paths.data_folder()).standing(packed) == "written"
    assert pause_status(session_id, here).summary.action_count == 3
    assert project_statistics(here).statistics.finished == 1


def test_an_archive_that_cannot_be_compressed_stops_no_other(here):
    first, second = finish(here), finish(here)
    bad = manual_pause(here).sessions / f"{second}-incremental.jsonl"
    bad.unlink()
    bad.symlink_to(here.folder / "elsewhere")
    done = compress_archives(here, timedelta(0))
    assert done.archives == 1
    assert (manual_pause(here).sessions / f"{first}-incremental.jsonl.gz").exists()
    (trouble,) = done.troubles
    assert second in trouble


def test_compressed_archives_that_cannot_be_registered_are_reported(here):
    finish(here)
    shutil.rmtree(paths.data_folder())
    paths.data_folder().write_text("a file where the folder should be", encoding="utf-8")
    done = compress_archives(here, timedelta(0))
    assert (done.archives, len(done.troubles)) == (1, 1)
