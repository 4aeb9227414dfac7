"""Numbers about a project's resume logs."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path

from leftoff.flows.list_logs import OWN, listed
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import Shelf, shelf_here
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.system import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStats:
    """``newest`` and ``oldest`` are times of saving; None where there is no log. Foreign logs count in ``predecessor_logs`` only."""

    enabled: bool
    storage: str
    storage_dir: str
    max_tokens: int
    keep_count: int
    total_logs: int
    total_size_bytes: int
    compressed_logs: int
    edited_logs: int
    unreadable_logs: int
    predecessor_logs: int
    newest: str | None
    oldest: str | None
    latest_session_id: str | None

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return asdict(self)


def log_stats(working_folder: Path) -> LogStats:
    """The numbers of the project that the folder belongs to."""
    return stats_of(shelf_here(working_folder, settings_here(working_folder).settings))


def stats_of(shelf: Shelf) -> LogStats:
    """The numbers of a shelf."""
    logs = [*listed(shelf)]
    own = [log for log in logs if log.origin == OWN]
    count = Counter(
        what
        for log in own
        for what, is_so in (
            ("compressed", log.files.is_compressed),
            ("edited", log.edited),
            ("unreadable", log.trouble is not None),
        )
        if is_so
    )
    settings = shelf.settings.resume_logs
    return LogStats(
        enabled=settings.enabled,
        storage=shelf.settings.storage,
        storage_dir=str(shelf.local.folder),
        max_tokens=settings.max_tokens,
        keep_count=settings.cleanup.keep_count,
        total_logs=len(own),
        total_size_bytes=sum(log.files.size_bytes for log in own),
        compressed_logs=count["compressed"],
        edited_logs=count["edited"],
        unreadable_logs=count["unreadable"],
        predecessor_logs=len(logs) - len(own),
        newest=clock.rfc3339(own[0].saved_at) if own else None,
        oldest=clock.rfc3339(own[-1].saved_at) if own else None,
        latest_session_id=own[0].session_id if own else None,
    )
