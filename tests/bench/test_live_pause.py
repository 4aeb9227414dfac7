"""The measures of the pause."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.live import measure_pause
from bench.speed import QUICK, _pause
from leftoff.platform import paths


@pytest.mark.slow
def test_each_side_is_timed_in_every_round(tmp_path):
    """Appends of the fast path, recorded actions, and snapshots in and outside git."""
    pairs = measure_pause(tmp_path, 1)
    assert {name: len(rounds) for name, rounds in pairs.items()} == {
        "hook": 1,
        "append": 1,
        "finalise": 1,
        "finalise_in_git": 1,
    }
    assert all(ours > 0 < theirs for rounds in pairs.values() for ours, theirs in rounds)


@pytest.mark.slow
def test_the_rows_leave_no_files_with_the_user(tmp_path):
    """The measured commands run with a scratch HOME."""
    rows = [*_pause(tmp_path, QUICK)]
    assert [row.limit for row in rows] == [4.0, 10.0, 3.5, 5.0]
    assert [row.note.partition(" ms, ")[2] for row in rows[2:]] == [
        "predecessor 9 ms",
        "predecessor 26-40 ms",
    ]
    assert "redacted" in rows[1].what
    assert not paths.data_folder().exists()
    assert not paths.state_folder().exists()


def test_it_can_be_run_by_itself(tmp_path):
    """The bench starts it as a child process."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.live", tmp_path, "1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith('{"hook":')
    assert Path(tmp_path / "tracked" / ".git").exists()
