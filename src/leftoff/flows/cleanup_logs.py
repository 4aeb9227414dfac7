"""Delete or compress the resume logs of a project that are beyond those to keep; never the log of a session that runs."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from pathlib import Path

from leftoff.errors import LeftoffError, NothingToDoError
from leftoff.flows.sessions import entries, found_sessions
from leftoff.flows.settings import settings_here
from leftoff.flows.shelf import Shelf, shelf_here
from leftoff.model.protocols import StorageBackend
from leftoff.model.values import dataclass
from leftoff.resume_logs.retention import beyond
from leftoff.system import clock

_RUNNING = timedelta(hours=1)  # a session whose transcript grew since then may still be at work


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """The logs that were deleted or compressed, or would be; how many there are left, and what was passed over."""

    paths: tuple[Path, ...]
    left: int
    troubles: tuple[LeftoffError, ...]


def cleanup_logs(working_folder: Path, keep_count: int | None) -> Cleaned:
    """Delete what is beyond ``keep_count``; None: as many as the settings keep."""
    shelf = _shelf(working_folder)
    if not shelf.settings.resume_logs.cleanup.enabled:
        raise NothingToDoError(
            "Nothing was deleted: resume_logs.cleanup.enabled is false in your configuration."
        )
    removed = clean_up(shelf, _count(shelf, keep_count), active=running_sessions(clock.now()))
    return Cleaned(paths=tuple(removed), left=len(shelf.local.list()), troubles=tuple(shelf.troubles))


def compress_logs(working_folder: Path, keep_count: int | None) -> Cleaned:
    """Compress what is beyond ``keep_count`` instead; it stays readable like any other log."""
    shelf = _shelf(working_folder)
    older = [log for log in _beyond(shelf, keep_count) if shelf.local.compress(log)]
    paths = tuple(shelf.local.path_of(session_id, ".md.gz") for session_id in older)
    return Cleaned(paths=paths, left=len(shelf.local.list()), troubles=tuple(shelf.troubles))


def logs_to_clean(working_folder: Path, keep_count: int | None) -> Cleaned:
    """What one of the two would take; nothing is changed."""
    shelf = _shelf(working_folder)
    paths = tuple(shelf.local.path_of(session_id) for session_id in _beyond(shelf, keep_count))
    return Cleaned(paths=paths, left=len(shelf.local.list()), troubles=tuple(shelf.troubles))


def clean_up_after_save(shelf: Shelf, *, active: Collection[str]) -> list[Path]:
    """Clean up where the settings want that after each save; who is running is only asked when something would go."""
    wanted = shelf.settings.resume_logs.cleanup
    if not (wanted.enabled and wanted.auto_cleanup) or len(shelf.local.list()) <= wanted.keep_count:
        return []
    return clean_up(shelf, wanted.keep_count, active={*active, *running_sessions(clock.now())})


def clean_up(shelf: Shelf, keep_count: int, *, active: Collection[str]) -> list[Path]:
    """Delete the logs beyond the newest ``keep_count``, here and in the backend; the local paths of what went."""
    removed = shelf.local.remove(lambda session_ids: beyond(session_ids, keep_count, active))
    if shelf.backend is not None:
        _clean_backend(shelf, shelf.backend, keep_count, active)
    return [*removed]


def _clean_backend(shelf: Shelf, backend: StorageBackend, keep_count: int, active: Collection[str]) -> None:
    """What an identifier looks like is the backend's affair; one that names an active session is spared."""
    identifiers = shelf.ask(backend, backend.list) or []
    spared = [each for each in identifiers if any(session_id in each for session_id in active)]
    for identifier in beyond(identifiers, keep_count, spared):
        shelf.ask(backend, partial(backend.delete, identifier))


def running_sessions(now: datetime) -> set[str]:
    """Sessions of any agent that may still be at work: their transcripts grew within the hour."""
    since = (now - _RUNNING).timestamp() * 1e9
    found = takewhile(lambda each: each.modified_ns >= since, found_sessions())
    return {entry.session_id for entry in entries(found)}


def _shelf(working_folder: Path) -> Shelf:
    config = settings_here(working_folder)
    config.require_sound()
    return shelf_here(working_folder, config.settings)


def _beyond(shelf: Shelf, keep_count: int | None) -> list[str]:
    return beyond(shelf.local.list(), _count(shelf, keep_count), running_sessions(clock.now()))


def _count(shelf: Shelf, keep_count: int | None) -> int:
    return shelf.settings.resume_logs.cleanup.keep_count if keep_count is None else keep_count
