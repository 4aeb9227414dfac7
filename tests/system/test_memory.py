"""How much memory a process says that it took."""

import subprocess
import sys

from leftoff.system import memory

MEGABYTE = 1_000_000
LARGE = 200 * MEGABYTE
# A large process starts a small one, which says what it took.
LARGE_PARENT = f"""
import subprocess, sys
held = b"x" * {LARGE}
small = "from leftoff.system import memory; print(memory.peak_bytes())"
print(subprocess.run([sys.executable, "-c", small], capture_output=True, text=True, check=True).stdout)
"""


def test_what_a_process_took_is_not_what_its_parent_had():
    """The system's usual answer counts from before the program was loaded, when it still shared its parent's memory."""
    ended = subprocess.run(
        [sys.executable, "-c", LARGE_PARENT], capture_output=True, text=True, check=True, timeout=300
    )
    assert 5 * MEGABYTE < int(ended.stdout) < LARGE / 2


def test_what_was_given_back_still_counts():
    """The most that it ever was."""
    held = b"x" * (50 * MEGABYTE)
    size = len(held)
    del held
    assert (
        size < memory.peak_bytes() < 100 * 1024 * MEGABYTE
    )  # bytes, and not their thousandth or thousandfold


def test_where_the_system_has_no_such_file_it_is_asked_another_way(tmp_path, monkeypatch):
    """No less than what it takes now; a file without the line is no answer either."""
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "status")
    assert memory.peak_bytes() > 5 * MEGABYTE
    (tmp_path / "status").write_text("Name:\tpython\n", encoding="ascii")
    assert memory.peak_bytes() > 5 * MEGABYTE
