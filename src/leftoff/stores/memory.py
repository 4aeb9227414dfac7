"""The reference storage backend: keeps resume logs in this process, and every promise to the letter."""

from __future__ import annotations

import threading

from leftoff.model.resume_log import ResumeLog
from leftoff.system import ids


class MemoryStore:
    """Resume logs by session id, gone with the process."""

    def __init__(self) -> None:
        self._logs: dict[str, ResumeLog] = {}  # in order of saving
        self._lock = threading.Lock()

    def save(self, resume_log: ResumeLog) -> str:
        """Keep it; the identifier is its session id."""
        identifier = ids.checked(resume_log.session_id)
        copy = ResumeLog.from_dict(resume_log.to_dict())  # the caller's lists may change later
        with self._lock:
            self._logs.pop(identifier, None)
            self._logs[identifier] = copy
        return identifier

    def load(self, identifier: str) -> ResumeLog | None:
        """The log, or None."""
        with self._lock:
            log = self._logs.get(ids.checked(identifier))
        return None if log is None else ResumeLog.from_dict(log.to_dict())

    def list(self) -> list[str]:
        """All identifiers, newest save first."""
        with self._lock:
            return [*reversed(self._logs)]

    def delete(self, identifier: str) -> bool:
        """Whether there was one to delete."""
        with self._lock:
            return self._logs.pop(ids.checked(identifier), None) is not None
