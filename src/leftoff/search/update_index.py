"""Bring the index up to date, or rebuild it; after a session, archive it too."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from leftoff.archive.archive import archive_finished
from leftoff.catalogue import database
from leftoff.catalogue.database import LOCK_NAME, library_folder
from leftoff.errors import LeftoffError
from leftoff.platform import clock, files, locks, log
from leftoff.search.sources import (
    Find,
)
from leftoff.search.updater import Progress, Updater, UpdateResult
from leftoff.sessions.listing import list_transcripts
from leftoff.sessions.live_state import LiveState
from leftoff.workspace import Workspace

_MAX_SECONDS = 120.0


def update_library(
    workspace: Workspace,
    *,
    budget_seconds: float | None = None,
    progress: Progress | None = None,
    patience_seconds: float = 0.0,
    find: Find | None = None,
    changed: Sequence[str] = (),
) -> UpdateResult:
    """Read what is new in the known sources ``changed``; without any, in all that ``find`` returns, by default all transcripts.

    Raise LockTimeoutError if another process updates for longer than ``patience_seconds``.
    """
    folder = Path(library_folder())
    deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
    files.make_folder(folder)
    with locks.hold(folder / LOCK_NAME, timeout_seconds=patience_seconds):
        update = Updater(workspace, os.fsdecode(folder), deadline, progress)
        try:
            if changed and update.has_current_exclusions():
                return update.run_for(changed)
            return update.run(find or list_transcripts)
        finally:
            update.writer.close()


def rebuild_library(workspace: Workspace, progress: Progress | None = None) -> UpdateResult:
    """Build the index from the transcripts, beside the old one, which it then replaces. What was forgotten stays forgotten."""
    folder = Path(library_folder())
    files.make_folder(folder)
    with locks.hold(folder / LOCK_NAME, timeout_seconds=60.0), database.replacement(os.fsdecode(folder)):
        update = Updater(workspace, os.fsdecode(folder), None, progress, file_name=database.DRAFT_NAME)
        try:
            return update.run(list_transcripts)
        finally:
            update.writer.close()


def update_library_and_archive(
    workspace: Workspace, now: datetime, *, progress: Progress | None = None
) -> UpdateResult:
    """Update the index, then the archive."""
    updated = update_library(workspace, progress=progress, patience_seconds=60.0)
    archive_finished(workspace, now)
    return updated


def after_session(state: LiveState) -> None:
    """Update the index and archive at the end of a session. Errors are logged, since there is no user to tell."""
    deadline = time.monotonic() + _MAX_SECONDS
    try:
        workspace = Workspace.open()
        update_library(workspace, budget_seconds=_MAX_SECONDS)
        archive_finished(workspace, clock.now(), deadline=deadline, ended=state.transcript)
    except LeftoffError as error:
        log.write_line(f"library: {error.message}")
