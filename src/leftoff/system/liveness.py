"""Whether the process that once wrote something is still there.

A number alone proves nothing, because systems give it away again: a process is known by its number and by when it began,
in the system's own words.
"""

from __future__ import annotations

import os
from pathlib import Path

from leftoff.errors import ProcessError
from leftoff.system import process

_ASK_SECONDS = 2.0
_PARENT_FIELD = 1
_BEGUN_FIELD = 19  # of /proc/PID/stat behind the name in parentheses: ticks since the machine started


def own() -> tuple[int, str | None]:
    """This process: its number and when it began."""
    return os.getpid(), begun(os.getpid())


def begun(pid: int) -> str | None:
    """When the process of that number began; None when there is none, or nobody can tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return (
            None if fields[0] == b"Z" else fields[_BEGUN_FIELD].decode("ascii")
        )  # Z: ended, not yet waited for
    except (OSError, IndexError):
        # Where the system has such files, there is no such process; where it has none, another question is put.
        return None if Path("/proc/self/stat").exists() else _asked_elsewhere(pid)


def callers_caller() -> int | None:
    """Who called the one that called us: behind the shell that ran us; None where nobody can tell."""
    try:
        fields = Path(f"/proc/{os.getppid()}/stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[_PARENT_FIELD])
    except (OSError, IndexError, ValueError):
        return None


def is_alive(pid: int, begun_then: str | None) -> bool:
    """Whether that very process still runs; without ``begun_then`` whether any of its number does."""
    if pid <= 0 or not _exists(pid):
        return False
    return begun_then is None or begun(pid) == begun_then


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True  # somebody else's
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _asked_elsewhere(pid: int) -> str | None:
    try:
        asked = process.run(["ps", "-o", "lstart=", "-p", str(pid)], timeout_seconds=_ASK_SECONDS)
    except ProcessError:  # pragma: no cover - a system without ps
        return None
    return asked.stdout.decode("utf-8", "replace").strip() or None
