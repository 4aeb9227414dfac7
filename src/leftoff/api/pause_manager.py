"""Pauses for programs: started by usage (AutoPauseHandler) or by hand, and recovered after a crash.

The end of a turn is not an event here, because it does not end the session. A compaction ends the pause, and the next crossing of
the threshold starts another.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from leftoff.api.arguments import path, project_folder, require
from leftoff.api.reply_usage import read_usage
from leftoff.api.usage_tracker import ContextUsageTracker
from leftoff.core.levels import Crossing, check_crossing, warning_text
from leftoff.core.metrics import Level
from leftoff.core.quantities import count
from leftoff.core.records import Usage
from leftoff.core.wire import JsonValue, as_json
from leftoff.errors import (
    DocumentError,
    LeftoffError,
    NotFoundError,
    NothingToDoError,
    StorageError,
    UsageError,
)
from leftoff.pause.finalize import (
    Ending,
    FinalizedPause,
    archive_only,
    copy_snapshot,
    finalize,
    snapshot_without_pause,
)
from leftoff.pause.folders import RunningPause, list_running, manual_pause, sessions_folder
from leftoff.pause.journal import PauseAction
from leftoff.pause.lifecycle import (
    CHOICE_LETTERS,
    HIGHEST_FRACTION,
    continue_pause,
    discard,
    finalize_orphan,
    record,
    start,
    this_process,
)
from leftoff.pause.snapshot_store import FinishedPause, list_finished
from leftoff.pause.texts import excerpt, shorten, summarize
from leftoff.pause.usage_state import UsageState, add_usage
from leftoff.platform import clock
from leftoff.workspace import Workspace

_JSON = ".json"
_log = logging.getLogger("leftoff")

__all__ = [
    "AutoPauseHandler",
    "IncrementalPauseManager",
    "PauseAction",
    "SessionPauseManager",
    "recover_orphaned_pause",
]


class AutoPauseHandler:
    """Follows the usage of a session's replies and records everything from auto_pause on, until the session ends or is compacted.

    Usage is what the last reply leaves in the window, against ``budget_total``; with ``accounting: cumulative`` it is the sum of the
    input and output of all replies. Handlers with the same ``session_id``, also in other processes, share their usage. The methods are
    made to be called from hooks: what goes wrong while they follow or record is logged and never raised.
    """

    def __init__(self, project_path: Path | None = None, session_id: str | None = None) -> None:
        self.project_path = project_folder(project_path)
        self.tracker = _open_tracker(self.project_path, session_id)
        self.pause_manager = IncrementalPauseManager(self.project_path)
        self._workspace = Workspace.open(self.project_path)

    def on_usage_update(self, usage: object) -> str | None:
        """Take a reply's usage as the API sent it; return the threshold that it crosses, or None. At auto_pause recording begins.

        Recording begins once per crossing: after a pause was discarded or finished, the next one begins when usage has fallen and crosses
        the threshold again, or the tracker is reset.
        """
        try:
            reply = read_usage(usage)
            try:
                return self._follow(reply)
            except DocumentError as error:  # nothing is lost: a reply says how full the window is
                _log.error("The usage starts from zero here: %s", error)
                self.tracker = ContextUsageTracker(self.project_path)
                return self._follow(reply)
        except LeftoffError as error:
            _log.error("Usage was ignored: %s", error)
            return None

    def _follow(self, reply: Usage) -> str | None:
        is_occupancy = self._workspace.settings.accounting == "occupancy"
        budget = self.tracker.budget
        crossing = Crossing(Level.OK, None)
        is_pause_due = False

        def step(before: UsageState) -> UsageState:
            nonlocal crossing, is_pause_due
            after = add_usage(before, reply, budget, is_occupancy=is_occupancy)
            crossing = check_crossing(
                Level(before.announced), after.metrics(budget.tokens), budget.thresholds
            )
            is_pause_due = after.auto_pause_active and not before.pause_begun
            is_high = crossing.announced.rank >= Level.AUTO_PAUSE.rank
            return replace(
                after,
                announced=crossing.announced.value,
                pause_begun=is_high and (before.pause_begun or is_pause_due),
            )

        state = self.tracker.store.change(step)
        if is_pause_due and self._workspace.settings.pause.enabled:
            self._begin_pause(state)
        return crossing.announce.value if crossing.announce else None

    def _begin_pause(self, state: UsageState) -> None:
        try:
            self.pause_manager.start_incremental_pause(_fraction(state), vars(state))
        except NothingToDoError:
            pass  # another process was faster, and this one records into the same pause
        except LeftoffError as error:
            _log.error("The pause could not begin: %s", error)
            self.tracker.store.change(
                lambda state: replace(state, pause_begun=False)
            )  # the next reply tries again

    def on_tool_call(self, name: str, args: Mapping[str, Any] | None = None, result: Any = None) -> None:
        """Record a tool call with its arguments and the beginning of its result, if a pause is running."""
        arguments = shorten(self._workspace.capture.clean(as_json(args or {})))
        summary = None if result is None else self._summary(result)
        self._record("tool_call", {"tool": str(name), "args": arguments, "result_summary": summary})

    def on_assistant_response(self, text: str) -> None:
        """Record a reply by its first 200 characters and its length."""
        self._record("assistant_response", {"summary": self._summary(text), "length": len(str(text))})

    def on_user_message(self, text: str) -> None:
        """Record what the user said, in full."""
        self._record("user_message", {"message": text})

    def on_compaction(self) -> Path | None:
        """Finalise the pause, if one is running, and count from zero again; return the snapshot's JSON file."""
        ended = finalize(manual_pause(self._workspace), Ending(reason="compaction"))
        self.tracker.reset_session()
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
        """Return the text that tells the user that ``threshold`` is crossed, with the current numbers; empty if it is not."""
        if threshold not in [*Level][1:]:
            known = ", ".join([*Level][1:])
            raise UsageError(f"{threshold!r} is not a threshold. There are: {known}.")
        wanted, state = Level(threshold), self.tracker.get_current_state()
        if Level(state.threshold_reached or Level.OK).rank < wanted.rank:
            return ""
        metrics = state.metrics(self.tracker.budget.tokens)
        return warning_text(wanted, metrics, is_recording=self.is_pause_active()) or ""

    def _record(self, action_type: str, data: dict[str, Any]) -> None:
        try:
            fraction = _fraction(self.tracker.get_current_state())
            self.pause_manager.append_action(action_type, data, fraction)
        except NotFoundError:
            pass  # no pause is running, or it has just ended
        except LeftoffError as error:
            _log.error("An action was not recorded: %s", error)

    def _summary(self, value: Any) -> str:
        text: JsonValue = as_json(value)
        return excerpt(text if isinstance(text, str) else str(text), self._workspace.capture.clean)


def _open_tracker(project_path: Path, session_id: str | None) -> ContextUsageTracker:
    try:
        return ContextUsageTracker(project_path, session_id)
    except StorageError as error:  # the next reply says how full the window is
        _log.error("The usage of %s starts from zero here: %s", session_id, error)
        return ContextUsageTracker(project_path)


def _fraction(state: UsageState) -> float:
    """Return how full the window is; a sum over all replies outgrows what can be recorded."""
    return min(state.percentage_used / 100, HIGHEST_FRACTION)


class IncrementalPauseManager:
    """Records what happens after auto_pause, action by action, and turns it into a snapshot of the session.

    Any number of managers and processes may share a project: there is one pause, and all of them record into it.
    """

    def __init__(self, project_path: Path | None = None) -> None:
        self.project_path = project_folder(project_path)
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
        require("initial_state", initial_state, Mapping)
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
                "%s: skipping %s that cannot be read", self._home.file.path, count(recorded.bad_lines, "line")
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
    """Makes a snapshot of a project's current state, whether or not a pause was recorded, and loads snapshots to continue from."""

    def __init__(self, project_path: Path | None = None) -> None:
        self.project_path = project_folder(project_path)

    def create_pause_session(
        self, message: str | None = None, skip_commit: bool = True, export_path: Path | None = None
    ) -> str:
        """Write a snapshot and return its id.

        ``skip_commit=False`` commits its files and nothing else; ``export_path`` gets a copy.
        """
        if message is not None:
            require("message", message, str)
        target = None if export_path is None else path("export_path", export_path)
        ending = Ending(reason="paused", message=message, commit=not skip_commit)
        ended = snapshot_without_pause(Workspace.open(self.project_path), ending)
        _log_problems(ended)
        if target is not None:
            copy_snapshot(ended, target)
        return ended.session_id

    def list_snapshots(self) -> list[tuple[str, Path]]:
        """Return the ids of the project's snapshots with the paths of their JSON files, newest first."""
        return [(pause.session_id, pause.files[_JSON]) for pause in self._snapshots()]

    def load_snapshot(self, session_id: str | None = None) -> dict[str, Any] | None:
        """Return a snapshot as its JSON file has it, without an id the newest one, or None; DocumentError if it is broken."""
        for pause in self._snapshots():
            if session_id in (None, pause.session_id):
                if pause.state is None:
                    raise DocumentError(pause.note or f"{pause.files[_JSON]}: cannot be read.")
                return dict(pause.state)
        return None

    def _snapshots(self) -> list[FinishedPause]:
        finished = list_finished(sessions_folder(Workspace.open(self.project_path).project))
        return [pause for pause in finished if _JSON in pause.files]


def _log_problems(ended: FinalizedPause) -> None:
    if ended.warning:
        _log.warning("%s", ended.warning)
    if ended.trouble:
        _log.warning("%s is written, but not committed: %s", ended.main, ended.trouble)


def recover_orphaned_pause(project_path: Path | None = None, choice: str | None = None) -> Path | None:
    """Finalise (f), discard (d) or continue (c) the project's pause; return the snapshot's JSON file if there is one.

    Without ``choice`` the user is asked on a terminal. Without a terminal, a pause whose process has died is finalised as of its last
    action, and any other is left alone.
    """
    if choice is not None and choice not in [*CHOICE_LETTERS, *CHOICE_LETTERS.values()]:
        raise UsageError(f"{choice!r} is not a choice. There are: f (finalize), d (discard), c (continue).")
    workspace = Workspace.open(project_folder(project_path))
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
        f"  - {count(summary.action_count, 'action')} recorded\n"
        f"  - Started: {summary.pause_started_at}\n"
    )
    return CHOICE_LETTERS.get(
        input("Finalize (f), discard (d), or continue (c)? ").strip().lower()[:1], "continue"
    )
