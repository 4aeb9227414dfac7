"""``IncrementalPauseManager`` and ``SessionPauseManager`` (004): a pause driven by hand, in the project's own folder."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from leftoff.flows.capture import capture_here
from leftoff.flows.pause_discard import discard
from leftoff.flows.pause_export import export
from leftoff.flows.pause_finalize import Ending, Finalized, archive_only, finalize, snapshot
from leftoff.flows.pause_homes import hand_driven
from leftoff.flows.pause_record import record
from leftoff.flows.pause_start import start, this_process
from leftoff.model.pause_action import PauseAction
from leftoff.pauses.journal import Recorded
from leftoff.pauses.summary import summarised
from leftoff.system import clock, paths

__all__ = ["IncrementalPauseManager", "PauseAction", "SessionPauseManager"]
_log = logging.getLogger("leftoff")


class IncrementalPauseManager:
    """Records what happens after auto_pause, action by action, and turns it into a snapshot of the session.

    Any number of managers and processes may share a project: there is one pause, and all of them record into it.
    """

    def __init__(self, project_path: Path | None = None) -> None:
        self.project_path = Path(project_path) if project_path else paths.working_folder()
        self._home = hand_driven(self.project_path)
        self._capture = capture_here(self.project_path)

    @property
    def sessions_dir(self) -> Path:
        """The folder of the pause and its snapshots."""
        return self._home.sessions

    def is_pause_active(self) -> bool:
        """Whether a pause is being recorded."""
        return self._home.file.is_active()

    def start_incremental_pause(self, context_percentage: float, initial_state: dict[str, Any]) -> str:
        """Begin a pause at this fraction of the window; its id. NothingToDoError when one is running already."""
        return start(
            self._home, context_percentage, initial_state, capture=self._capture, process=this_process()
        )

    def append_action(self, action_type: str, action_data: dict[str, Any], context_percentage: float) -> None:
        """Record an action; NotFoundError when no pause is running."""
        record(self._home, action_type, action_data, context_percentage, capture=self._capture)

    def get_recorded_actions(self) -> list[PauseAction]:
        """All actions so far, none when no pause is running; lines that cannot be read are skipped and logged."""
        recorded = self._home.file.read()
        return [] if recorded is None else _told_of_bad_lines(recorded, self._home.file.path).actions

    def finalize_pause(self, create_full_snapshot: bool = True) -> Path | None:
        """End the pause: the path of its JSON, or of its archive without a snapshot; None when none is running."""
        ending = Ending()
        ended = finalize(self._home, ending) if create_full_snapshot else archive_only(self._home, ending)
        return None if ended is None else _told_of_trouble(ended).main

    def discard_pause(self) -> bool:
        """Throw the pause away; whether there was one."""
        return discard(self._home) is not None

    def get_pause_summary(self) -> dict[str, Any] | None:
        """The running pause in numbers; None when none is running."""
        recorded = self._home.file.read()
        if recorded is None:
            return None
        summary = summarised(recorded, clock.now())
        return summary.to_dict() | {"context_range": summary.context_range}


class SessionPauseManager:
    """Makes a snapshot of where a project stands, whether or not a pause was recorded."""

    def __init__(self, project_path: Path | None = None) -> None:
        self.project_path = Path(project_path) if project_path else paths.working_folder()

    def create_pause_session(
        self, message: str | None = None, skip_commit: bool = True, export_path: Path | None = None
    ) -> str:
        """The id of a new snapshot. ``skip_commit=False`` commits its files and nothing else; ``export_path`` gets a copy."""
        ending = Ending(reason="paused", message=message, commit=not skip_commit)
        ended = _told_of_trouble(snapshot(paths.project_of(self.project_path), ending))
        if export_path is not None:
            export(ended, Path(export_path))
        return ended.session_id


def _told_of_bad_lines(recorded: Recorded, path: Path) -> Recorded:
    if recorded.bad_lines:
        _log.warning("%s: skipping %d lines that cannot be read", path, recorded.bad_lines)
    return recorded


def _told_of_trouble(ended: Finalized) -> Finalized:
    if ended.warning:
        _log.warning("%s", ended.warning)
    if ended.trouble:
        _log.warning("%s is written, but not committed: %s", ended.main, ended.trouble)
    return ended
