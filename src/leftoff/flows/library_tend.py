"""All that the library wants from time to time: read what is new, archive what is finished. For processes nobody waits for."""

from __future__ import annotations

import time
from datetime import datetime

from leftoff.errors import LeftoffError
from leftoff.flows.archive_sessions import keep_finished
from leftoff.flows.library_update import Progress, Updated, update_library
from leftoff.model.watch_state import WatchState
from leftoff.system import clock, own_log

_MOST_SECONDS = 120.0


def tend(now: datetime, *, progress: Progress | None = None) -> Updated:
    """Bring the library up to date, then the archive."""
    updated = update_library(progress=progress, patience_seconds=60.0)
    keep_finished(now)
    return updated


def after_session(state: WatchState) -> None:
    """What the end of a session wants; trouble is noted, since nobody can be told."""
    deadline = time.monotonic() + _MOST_SECONDS
    try:
        update_library(budget_seconds=_MOST_SECONDS)
        keep_finished(clock.now(), deadline=deadline, ended=state.transcript)
    except LeftoffError as error:
        own_log.note(f"library: {error.message}")
