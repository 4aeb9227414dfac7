"""The fast path, in one file that is copied out of the package and run as ``python -I -S fast.py``.

It imports nothing but what a bare interpreter has loaded already or finds in C, so that an event costs little more than
starting Python. What it does to shared files it does exactly as ``leftoff.system`` does: same lock, one write per line, a
torn end mended first.
"""

import posix
from errno import EAGAIN, ENOSPC, EWOULDBLOCK
from fcntl import LOCK_EX, LOCK_NB, flock
from time import monotonic, sleep

LOCK_WAIT_SECONDS = 0.1
_NAP_SECONDS = 0.002


def append_line(path: str, line: bytes, lock: str) -> bool:
    """Add one whole line (bytes with its end) to ``path``, holding ``lock``; False when that could not be done in time.

    Never raises for a held lock, a missing folder or a full disk: a hook must not harm the agent.
    """
    try:
        guard = posix.open(lock, posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW, 0o600)
    except (OSError, ValueError):  # ValueError: a path that no system takes
        return False
    try:
        return _locked(guard) and _append(path, line)
    except (OSError, ValueError):
        return False
    finally:
        posix.close(guard)


def _locked(guard: int) -> bool:
    deadline = monotonic() + LOCK_WAIT_SECONDS
    while True:
        try:
            flock(guard, LOCK_EX | LOCK_NB)
        except OSError as error:
            if error.errno not in (EAGAIN, EWOULDBLOCK) or monotonic() >= deadline:
                return False
            sleep(_NAP_SECONDS)
        else:
            return True


def _append(path: str, line: bytes) -> bool:
    flags = posix.O_RDWR | posix.O_APPEND | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW
    fd = posix.open(path, flags, 0o600)
    try:
        size = posix.lseek(fd, 0, 2)
        if size and posix.pread(fd, 1, size - 1) != b"\n":
            line = b"\n" + line
        written = 0
        try:
            written = posix.write(fd, line)
        finally:
            if written != len(line):
                posix.ftruncate(fd, size)
        if written != len(line):
            raise OSError(ENOSPC, "short write")
        return True
    finally:
        posix.close(fd)
