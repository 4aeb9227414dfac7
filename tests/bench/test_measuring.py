"""The peak memory of a process."""

import subprocess
import sys

from bench import measuring

MEGABYTE = 1_000_000
LARGE = 200 * MEGABYTE
# A large process starts a small one, which says what it took.
LARGE_PARENT = f"""
import subprocess, sys
held = b"x" * {LARGE}
small = "from bench import measuring; print(measuring.peak_bytes())"
print(subprocess.run([sys.executable, "-c", small], capture_output=True, text=True, check=True).stdout)
"""


def test_the_memory_of_the_parent_does_not_count():
    """getrusage counts from before the program was loaded, when it still shared its parent's memory."""
    ended = subprocess.run(
        [sys.executable, "-c", LARGE_PARENT], capture_output=True, text=True, check=True, timeout=300
    )
    assert 5 * MEGABYTE < int(ended.stdout) < LARGE / 2


def test_freed_memory_still_counts():
    """The peak is reported."""
    held = b"x" * (50 * MEGABYTE)
    size = len(held)
    del held
    # Bytes, and not their thousandth or thousandfold.
    assert size < measuring.peak_bytes() < 100 * 1024 * MEGABYTE


def test_without_proc_getrusage_is_used(tmp_path, monkeypatch):
    """Without the line in ``/proc``, the peak is at least the present size."""
    monkeypatch.setattr(measuring, "_STATUS", tmp_path / "status")
    assert measuring.peak_bytes() > 5 * MEGABYTE
    (tmp_path / "status").write_text("Name:\tpython\n", encoding="ascii")
    assert measuring.peak_bytes() > 5 * MEGABYTE
