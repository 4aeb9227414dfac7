"""Locks: one at a time, readers together, gone with their process, and agreed on by the fast path."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from leftoff.errors import LockTimeoutError, StorageError
from leftoff.live import fast
from leftoff.platform import file_sets, locks

Run = Callable[..., subprocess.CompletedProcess[str]]

_HOLD = """
import sys, time
from pathlib import Path
from leftoff.platform import locks
with locks.hold(Path(sys.argv[1]), shared=sys.argv[2] == "shared"):
    print("held", flush=True)
    time.sleep(600)
"""


@contextmanager
def held_elsewhere(lock: Path, how: str = "alone") -> Iterator[subprocess.Popen[bytes]]:
    """Another process holds the lock."""
    with subprocess.Popen([sys.executable, "-c", _HOLD, lock, how], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            yield holder
        finally:
            holder.kill()


@pytest.mark.parametrize(
    ("theirs", "ours", "waits"),
    [
        ("alone", "alone", True),
        ("alone", "shared", True),
        ("shared", "alone", True),
        ("shared", "shared", False),
    ],
)
def test_readers_share_and_writers_do_not(tmp_path: Path, theirs: str, ours: str, waits: bool) -> None:
    """Shared and exclusive locks are tried between processes in every combination."""
    lock = tmp_path / ".lock"
    expected = pytest.raises(LockTimeoutError) if waits else nullcontext()
    trying = locks.hold(lock, timeout_seconds=0.05, shared=ours == "shared")
    with held_elsewhere(lock, theirs), expected as refused, trying:
        pass
    if refused is not None:
        assert str(refused.value) == (
            f"{tmp_path}: another process has been writing here for 0.05 s. Nothing was changed; try again."
        )


def test_a_lock_vanishes_with_its_process(tmp_path: Path) -> None:
    lock = tmp_path / ".lock"
    with held_elsewhere(lock) as holder:
        holder.kill()
        holder.wait(timeout=60)
        with locks.hold(lock, timeout_seconds=0.05):
            pass


def test_a_lock_is_let_go_when_the_block_fails(tmp_path: Path) -> None:
    """The error of the block is raised."""
    lock = tmp_path / ".lock"
    with pytest.raises(KeyError), locks.hold(lock):
        raise KeyError
    with locks.hold(lock, timeout_seconds=0):
        pass


def test_a_waiting_process_gets_the_lock_soon_after_it_is_free(tmp_path: Path) -> None:
    """Naps are short: a wait ends within a fraction of a second after the holder has gone."""
    lock = tmp_path / ".lock"
    with held_elsewhere(lock) as holder:
        fd = os.open(lock, os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(fd)
        holder.kill()
        began = time.monotonic()
        with locks.hold(lock):
            assert time.monotonic() - began < 5  # the limit is ten


def test_full_program_and_fast_path_take_the_same_lock(tmp_path: Path) -> None:
    """Each is kept out by the other; the fast path gives up after 100 ms and says so."""
    lock = tmp_path / ".lock"
    with held_elsewhere(lock):
        began = time.monotonic()
        assert fast.append_line(str(tmp_path / "x"), b"x\n", str(lock)) is False
        assert 0.1 <= time.monotonic() - began < 5  # a busy machine may oversleep
    assert not (tmp_path / "x").exists()
    fd = os.open(lock, os.O_RDWR)
    try:
        assert fast._lock(fd)
        with pytest.raises(LockTimeoutError), locks.hold(lock, timeout_seconds=0.05):
            pass
    finally:
        os.close(fd)


def test_a_link_in_the_place_of_the_lock_is_refused(tmp_path: Path) -> None:
    """A lock that came with a clone must not make or open a file elsewhere."""
    (tmp_path / ".lock").symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(StorageError, match="its lock cannot be taken: a symbolic link is"),
        locks.hold(tmp_path / ".lock"),
    ):
        pass
    with locks.hold(tmp_path / ".lock", shared=True):  # who only reads has nothing to lose
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_that_the_system_refuses_is_an_error_with_words(tmp_path: Path) -> None:
    """A folder that is not there, a folder in the lock's place."""
    (tmp_path / "x").mkdir()
    for lock in (tmp_path / "nowhere" / ".lock", tmp_path / "x"):
        with (
            pytest.raises(StorageError, match=r"its lock cannot be taken: (no such file|a folder is)"),
            locks.hold(lock),
        ):
            pass


def test_a_reader_without_permission_reads_without_a_lock(unprivileged_folder: Path, run_python: Run) -> None:
    """If no lock can be created, no writer has used one."""
    code = (
        "import os, sys; from pathlib import Path; from leftoff.platform import file_sets; drop()\n"
        "folder = Path(sys.argv[1]) / 'f'; folder.mkdir(); (folder / 'a').write_text('1'); folder.chmod(0o500)\n"
        "print(file_sets.read_set(folder, ['a']), os.listdir(folder))\n"
    )
    assert run_python(code, unprivileged_folder).stdout == "{'a': b'1'} ['a']\n"


@pytest.mark.stress
def test_a_lock_held_too_long_is_a_lock_timeout_for_every_caller(tmp_path: Path) -> None:
    """After ten seconds every caller gets LockTimeoutError and not the error of a failed write."""
    file_sets.write_set(tmp_path / "f", {"a": b"1"})
    calls = {
        "append_lines": "files.append_lines(folder / 'x', b'x\\n')",
        "write_set": "file_sets.write_set(folder, {'a': b'2'})",
        "read_set": "file_sets.read_set(folder, ['a'])",
    }
    code = (
        "import sys; from pathlib import Path; from leftoff.errors import StorageError\n"
        "from leftoff.platform import file_sets, files; folder = Path(sys.argv[1])\n"
        "try: {call}\nexcept StorageError as error: print(type(error).__name__, error)\n"
    )
    with held_elsewhere(tmp_path / "f" / ".lock"):
        waiting = [
            subprocess.Popen(
                [sys.executable, "-c", code.format(call=call), tmp_path / "f"], stdout=subprocess.PIPE
            )
            for call in calls.values()
        ]
        for each in waiting:
            output = each.communicate(timeout=60)[0].decode()
            assert output.startswith("LockTimeoutError ")
            assert "another process has been writing here for 10 s. Nothing was changed; try again." in output
    assert file_sets.read_set(tmp_path / "f", ["a", "x"]) == {"a": b"1"}


def test_limited_waits_end_with_the_block_and_spare_explicit_limits(tmp_path):
    """A hook waits briefly for every lock; afterwards the same process is patient again."""
    lock = tmp_path / ".lock"
    with locks.hold(lock), locks.limit_waits(0.05):
        begun = time.monotonic()
        with pytest.raises(LockTimeoutError, match=r"0\.05 s"), locks.hold(lock):
            pass
        with pytest.raises(LockTimeoutError), locks.hold(lock, timeout_seconds=0.3):
            pass
        assert time.monotonic() - begun >= 0.3
    assert locks._limit(None) == locks.DEFAULT_TIMEOUT_SECONDS
