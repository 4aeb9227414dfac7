"""Pauses for programs: started by usage (AutoPauseHandler) or by hand, and recovered after a crash.

The end of a turn is not an event here, because it does not end the session. A compaction ends the pause, and the next crossing of
the threshold starts another.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from leftoff.api.usage_tracker import ContextUsageTracker
from leftoff.core.levels import check_crossing, warning_text
from leftoff.core.metrics import Level
from leftoff.core.wire import JsonValue, as_json
from leftoff.errors import NotFoundError, NothingToDoError, UsageError
from leftoff.pause.finalize import (
    Ending,
    FinalizedPause,
    archive_only,
    copy_snapshot,
    finalize,
    snapshot_without_pause,
)
from leftoff.pause.folders import RunningPause, list_running, manual_pause
from leftoff.pause.journal import PauseAction
from leftoff.pause.lifecycle import (
    CHOICE_LETTERS,
    continue_pause,
    discard,
    finalize_orphan,
    record,
    start,
    this_process,
)
from leftoff.pause.texts import excerpt, shorten, summarize
from leftoff.platform import clock, paths
from leftoff.workspace import Workspace

# The tracker's names and those of the API, so that a reply's usage can be passed on as it came.
_FIELDS = {
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
    "cache_creation": ("cache_creation", "cache_creation_tokens", "cache_creation_input_tokens"),
    "cache_read": ("cache_read", "cache_read_tokens", "cache_read_input_tokens"),
}
_log = logging.getLogger("leftoff")

__all__ = [
    "AutoPauseHandler",
    "IncrementalPauseManager",
    "PauseAction",
    "SessionPauseManager",
    "recover_orphaned_pause",
]


class AutoPauseHandler:
    """Follows usage and records everything from auto_pause on, until the session ends or is compacted."""

    def __init__(self, project_path: Path | None = None) -> None:
        self.project_path = Path(project_path) if project_path else paths.working_folder()
        self.tracker = ContextUsageTracker(self.project_path)
        self.pause_manager = IncrementalPauseManager(self.project_path)
        self._workspace = Workspace.open(self.project_path)
        self._announced = Level.OK

    def on_usage_update(self, usage: Mapping[str, Any]) -> str | None:
        """Add a reply's usage; return the threshold that it crosses, or None. At auto_pause recording begins."""
        state = self.tracker.update_usage(**{name: _count(usage, keys) for name, keys in _FIELDS.items()})
        crossing = check_crossing(
            self._announced, state.metrics(self.tracker.budget.tokens), self.tracker.budget.thresholds
        )
        self._announced = crossing.announced
        is_enabled = self._workspace.settings.pause.enabled
        if is_enabled and state.auto_pause_active and not self.pause_manager.is_pause_active():
            with suppress(NothingToDoError):
                # Another process was faster; this one records into the same pause.
                self.pause_manager.start_incremental_pause(state.percentage_used / 100, vars(state))
        return crossing.announce.value if crossing.announce else None

    def on_tool_call(self, name: str, args: Mapping[str, Any] | None = None, result: Any = None) -> None:
        """Record a tool call with its arguments and the beginning of its result, if a pause is running."""
        arguments = shorten(self._workspace.capture.clean(as_json(args or {})))
        summary = None if result is None else self._summary(result)
        self._record("tool_call", {"tool": name, "args": arguments, "result_summary": summary})

    def on_assistant_response(self, text: str) -> None:
        """Record a reply by its first 200 characters and its length."""
        self._record("assistant_response", {"summary": self._summary(text), "length": len(text)})

    def on_user_message(self, text: str) -> None:
        """Record what the user said, in full."""
        self._record("user_message", {"message": text})

    def on_compaction(self) -> Path | None:
        """Finalise the pause, if one is running, and count from zero again; return the snapshot's JSON file."""
        ended = finalize(manual_pause(self._workspace), Ending(reason="compaction"))
        self.tracker.reset_session()
        self._announced = Level.OK
        return ended.main if ended else None

    def on_session_end(self) -> Path | None:
        """Finalise the pause, if one is running; return the snapshot's JSON file."""
        ended = finalize(manual_pause(self._workspace), Ending(reason="session end"))
        return ended.main if ended else None

    def is_pause_active(self) -> bool:
        """Whether a pause is being recorded."""
        return self.pause_manager.is_pause_active()

    def get_status(self) -> dict[str, Any]:
        """Return the tracker's summary and the pause's summary (None if none is running)."""
        return self.tracker.get_usage_summary() | {
            "pause_active": self.is_pause_active(),
            "pause": self.pause_manager.get_pause_summary(),
        }

    def emit_threshold_warning(self, threshold: str) -> str:
        """Return the text that tells the user that ``threshold`` is crossed, with the current numbers."""
        if threshold not in [*Level][1:]:
            known = ", ".join([*Level][1:])
            raise UsageError(f"{threshold!r} is no threshold. There are: {known}.")
        metrics = self.tracker.get_current_state().metrics(self.tracker.budget.tokens)
        return warning_text(Level(threshold), metrics) or ""

    def _record(self, action_type: str, data: dict[str, Any]) -> None:
        fraction = self.tracker.get_current_state().percentage_used / 100
        with suppress(NotFoundError):  # no pause is running, or it has just ended
            self.pause_manager.append_action(action_type, data, fraction)

    def _summary(self, value: Any) -> str:
        text: JsonValue = as_json(value)
        return excerpt(text if isinstance(text, str) else str(text), self._workspace.capture.clean)


def _count(usage: Mapping[str, Any], keys: tuple[str, ...]) -> int:
    """Return the number under the first of the names that is given; 0 if none is."""
    tokens = next((usage[key] for key in keys if usage.get(key) is not None), 0)
    if not isinstance(tokens, int):
        raise UsageError(f"{keys[0]} is {tokens!r}: a whole number of tokens was expected.")
    return tokens


class IncrementalPauseManager:
    """Records what happens after auto_pause, action by action, and turns it into a snapshot of the session.

    Any number of managers and processes may share a project: there is one pause, and all of them record into it.
    """

    def __init__(self, project_path: Path | None = None) -> None:
        self.project_path = Path(project_path) if project_path else paths.working_folder()
        self._home = manual_pause(Workspace.open(self.project_path))

    @property
    def sessions_dir(self) -> Path:
        """The folder of the pause and its snapshots."""
        return self._home.sessions

    def is_pause_active(self) -> bool:
        """Whether a pause is being recorded."""
        return self._home.file.is_active()

    def start_incremental_pause(self, context_percentage: float, initial_state: dict[str, Any]) -> str:
        """Start a pause at this fraction of the window and return its id; NothingToDoError if one is running already."""
        return start(self._home, context_percentage, initial_state, process=this_process())

    def append_action(self, action_type: str, action_data: dict[str, Any], context_percentage: float) -> None:
        """Record an action; NotFoundError if no pause is running."""
        record(self._home, action_type, action_data, context_percentage)

    def get_recorded_actions(self) -> list[PauseAction]:
        """Return all actions so far, none if no pause is running; lines that cannot be read are skipped and logged."""
        recorded = self._home.file.read()
        if recorded is None:
            return []
        if recorded.bad_lines:
            _log.warning(
                "%s: skipping %d lines that cannot be read", self._home.file.path, recorded.bad_lines
            )
        return recorded.actions

    def finalize_pause(self, create_full_snapshot: bool = True) -> Path | None:
        """End the pause; return the path of its JSON, or of its archive without a snapshot; None if none is running."""
        ending = Ending()
        ended = finalize(self._home, ending) if create_full_snapshot else archive_only(self._home, ending)
        if ended is None:
            return None
        _log_problems(ended)
        return ended.main

    def discard_pause(self) -> bool:
        """Throw the pause away and return whether there was one."""
        return discard(self._home) is not None

    def get_pause_summary(self) -> dict[str, Any] | None:
        """Return the running pause in numbers; None if none is running."""
        recorded = self._home.file.read()
        if recorded is None:
            return None
        summary = summarize(recorded, clock.now())
        return summary.to_dict() | {"context_range": summary.context_range}


class SessionPauseManager:
    """Makes a snapshot of a project's current state, whether or not a pause was recorded."""

    def __init__(self, project_path: Path | None = None) -> None:
        self.project_path = Path(project_path) if project_path else paths.working_folder()

    def create_pause_session(
        self, message: str | None = None, skip_commit: bool = True, export_path: Path | None = None
    ) -> str:
        """Write a snapshot and return its id.

        ``skip_commit=False`` commits its files and nothing else; ``export_path`` gets a copy.
        """
        ending = Ending(reason="paused", message=message, commit=not skip_commit)
        ended = snapshot_without_pause(Workspace.open(self.project_path), ending)
        _log_problems(ended)
        if export_path is not None:
            copy_snapshot(ended, Path(export_path))
        return ended.session_id


def _log_problems(ended: FinalizedPause) -> None:
    if ended.warning:
        _log.warning("%s", ended.warning)
    if ended.trouble:
        _log.warning("%s is written, but not committed: %s", ended.main, ended.trouble)


def recover_orphaned_pause(project_path: Path | None = None, choice: str | None = None) -> Path | None:
    """Finalise (f), discard (d) or continue (c) the project's pause; return the snapshot's JSON file if there is one.

    Without ``choice`` the user is asked on a terminal. If there is none, a pause whose process has died is finalised as of its last
    action, and any other is left alone.
    """
    if choice is not None and choice not in {*CHOICE_LETTERS, *CHOICE_LETTERS.values()}:
        raise UsageError(f"{choice!r} is no choice. There are: f (finalize), d (discard), c (continue).")
    workspace = Workspace.open(Path(project_path) if project_path else None)
    home = manual_pause(workspace)
    running = list_running(workspace, clock.now())
    pause = next((each for each in running if each.home.file.path == home.file.path), None)
    if pause is None:
        return None
    wanted = CHOICE_LETTERS.get(choice or "", choice) or _ask(pause)
    if wanted == "finalize":
        ended = finalize_orphan(pause)
        return ended.main if ended else None
    if wanted == "discard":
        discard(home)
    elif wanted == "continue":
        continue_pause(home, this_process())
    return None


def _ask(pause: RunningPause) -> str:
    if not sys.stdin.isatty():
        return "finalize" if pause.status == "orphaned" else "leave alone"
    summary = pause.summary
    sys.stdout.write(
        f"Found incomplete pause session: {summary.session_id}\n"
        f"  - {summary.action_count} actions recorded\n"
        f"  - Started: {summary.pause_started_at}\n"
    )
    return CHOICE_LETTERS.get(
        input("Finalize (f), discard (d), or continue (c)? ").strip().lower()[:1], "continue"
    )
