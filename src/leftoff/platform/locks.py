"""File locks that the full program and the fast path share.

A lock is a separate file beside what it guards and is never deleted, because a lock on a file that is replaced guards nothing.
On POSIX it is ``flock``, which takes microseconds and ends with its process; elsewhere it is filelock."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leftoff.errors import LockTimeoutError, StorageError, describe_os_error

DEFAULT_TIMEOUT_SECONDS = 10.0
_FIRST_NAP_SECONDS = 0.0005
_LONGEST_NAP_SECONDS = 0.02
_default_seconds = [DEFAULT_TIMEOUT_SECONDS]  # for all threads: a hook must not wait in any of them


@contextmanager
def limit_waits(seconds: float) -> Iterator[None]:
    """Wait no longer than this for any lock in the block, unless ``hold`` is given its own limit."""
    before = _default_seconds[0]
    _default_seconds[0] = seconds
    try:
        yield
    finally:
        _default_seconds[0] = before


def _limit(timeout_seconds: float | None) -> float:
    return _default_seconds[0] if timeout_seconds is None else timeout_seconds


if sys.platform == "win32":  # pragma: no cover
    from filelock import FileLock, Timeout

    @contextmanager
    def hold(
        lock: Path | str,
        *,
        timeout_seconds: float | None = None,
        shared: bool = False,  # noqa: ARG001 - there are no shared locks here; readers take turns
    ) -> Iterator[None]:
        """Hold ``lock`` while the block runs."""
        try:
            with FileLock(lock, timeout=_limit(timeout_seconds)):
                yield
        except Timeout as error:
            raise _timeout_error(lock, _limit(timeout_seconds)) from error

else:
    import fcntl

    @contextmanager
    def hold(
        lock: Path | str, *, timeout_seconds: float | None = None, shared: bool = False
    ) -> Iterator[None]:
        """Hold ``lock`` while the block runs; ``shared`` admits other readers but no writer."""
        fd = _open_to_read(lock) if shared else _open(lock)
        if fd is None:
            yield
            return
        try:
            _take(fd, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, lock, _limit(timeout_seconds))
            yield
        finally:
            os.close(fd)  # this releases the lock

    def _take(fd: int, kind: int, lock: Path | str, timeout_seconds: float) -> None:
        deadline: float | None = None  # set when there is something to wait for
        nap = _FIRST_NAP_SECONDS
        while True:
            try:
                fcntl.flock(fd, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                deadline = time.monotonic() + timeout_seconds if deadline is None else deadline
                if time.monotonic() >= deadline:
                    raise _timeout_error(lock, timeout_seconds) from None
                time.sleep(nap)
                nap = min(nap * 2, _LONGEST_NAP_SECONDS)
            except OSError as error:  # a file system without locks
                raise _unusable_error(lock, error) from error
            else:
                return


def _open(lock: Path | str) -> int:
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unusable_error(lock, error) from error


def _open_to_read(lock: Path | str) -> int | None:
    """Open a lock for reading; None if it does not exist and cannot be created: then no writer uses it either."""
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
        try:
            return os.open(lock, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:
            continue
    return None


def _unusable_error(lock: Path | str, error: OSError) -> StorageError:
    return StorageError(
        f"{Path(lock).parent}: not written: its lock cannot be taken: {describe_os_error(error)}. What was there is intact.",
        path=lock,
    )


def _timeout_error(lock: Path | str, timeout_seconds: float) -> LockTimeoutError:
    return LockTimeoutError(
        f"{Path(lock).parent}: another process has been writing here for {timeout_seconds:g} s. Nothing was changed; try again.",
        path=lock,
    )
