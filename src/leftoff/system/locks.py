"""One lock that everybody agrees on: the full program, the fast path, and any number of either.

A lock is a file of its own beside what it guards, never deleted, because a lock on a file that is renamed away guards
nothing. POSIX: ``flock`` directly, since it costs microseconds and the fast path takes the same one; it vanishes with
its process, however that ends. Elsewhere: filelock.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leftoff.errors import LockTimeoutError, StorageError
from leftoff.system import reasons

DEFAULT_TIMEOUT_SECONDS = 10.0
_FIRST_NAP_SECONDS = 0.0005
_LONGEST_NAP_SECONDS = 0.02
_patient_seconds = [DEFAULT_TIMEOUT_SECONDS]


def hurry(seconds: float) -> None:
    """From now on this process waits no longer than that for any lock: somebody waits for it."""
    _patient_seconds[0] = seconds


def _patience(timeout_seconds: float | None) -> float:
    return _patient_seconds[0] if timeout_seconds is None else timeout_seconds


if sys.platform == "win32":  # pragma: no cover
    from filelock import FileLock, Timeout

    @contextmanager
    def held(
        lock: Path | str,
        *,
        timeout_seconds: float | None = None,
        shared: bool = False,  # noqa: ARG001 - there are no shared locks here; readers take turns
    ) -> Iterator[None]:
        """Hold ``lock`` for as long as the block runs."""
        try:
            with FileLock(lock, timeout=_patience(timeout_seconds)):
                yield
        except Timeout as error:
            raise _too_long(lock, _patience(timeout_seconds)) from error

else:
    import fcntl

    @contextmanager
    def held(
        lock: Path | str, *, timeout_seconds: float | None = None, shared: bool = False
    ) -> Iterator[None]:
        """Hold ``lock`` for as long as the block runs; ``shared`` lets other readers in, but no writer."""
        fd = _opened_to_read(lock) if shared else _opened(lock)
        if fd is None:
            yield
            return
        try:
            _take(fd, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, lock, _patience(timeout_seconds))
            yield
        finally:
            os.close(fd)  # closing lets go of the lock

    def _take(fd: int, kind: int, lock: Path | str, timeout_seconds: float) -> None:
        deadline: float | None = None  # the clock is only asked when there is something to wait for
        nap = _FIRST_NAP_SECONDS
        while True:
            try:
                fcntl.flock(fd, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                deadline = time.monotonic() + timeout_seconds if deadline is None else deadline
                if time.monotonic() >= deadline:
                    raise _too_long(lock, timeout_seconds) from None
                time.sleep(nap)
                nap = min(nap * 2, _LONGEST_NAP_SECONDS)
            except OSError as error:  # a file system without locks
                raise _unusable(lock, error) from error
            else:
                return


def _opened(lock: Path | str) -> int:
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unusable(lock, error) from error


def _opened_to_read(lock: Path | str) -> int | None:
    """None where there is no lock yet and we may not make one: then nobody has written here with one either."""
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
        try:
            return os.open(lock, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:
            continue
    return None


def _unusable(lock: Path | str, error: OSError) -> StorageError:
    return StorageError(
        f"{Path(lock).parent}: not written: its lock cannot be taken: {reasons.words(error)}. What was there is intact.",
        path=lock,
    )


def _too_long(lock: Path | str, timeout_seconds: float) -> LockTimeoutError:
    return LockTimeoutError(
        f"{Path(lock).parent}: another process has been writing here for {timeout_seconds:g} s. Nothing was changed; try again.",
        path=lock,
    )
