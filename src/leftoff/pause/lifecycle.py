"""Start a pause, record into it, discard it, and recover pauses whose process has ended.

Of several processes that start a pause at once, one succeeds. Recording writes one line at once, without credentials.
Discarding always works, whatever the file holds, and leaves only a note that it happened.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from leftoff.core.wire import SCHEMAS, JsonObject, as_json
from leftoff.errors import NotFoundError, NothingToDoError, StorageError, TranscriptError, UsageError
from leftoff.pause.folders import (
    PauseHome,
    RunningPause,
    find_orphans,
    manual_pause,
)
from leftoff.pause.journal import ACTION_TYPES, Origin, PauseAction, first_action, is_number
from leftoff.pause.texts import PauseSummary, excerpt, first_and_last_time, summarize
from leftoff.platform import clock, files, paths
from leftoff.platform.process import own_process
from leftoff.sessions.find import LATEST
from leftoff.sessions.status import status
from leftoff.workspace import Workspace

if TYPE_CHECKING:
    from leftoff.pause.finalize import FinalizedPause

HIGHEST_FRACTION = 5.0  # sums outgrow a window, but a value above this is a percentage taken for a fraction
_HIGHEST_TYPED_FRACTION = 2.0  # a window may be overfull; a person who types more has made a mistake
RECORDABLE = tuple(name for name in ACTION_TYPES if not name.startswith("pause_"))
_DISCARDED_NAME = "discarded-pauses.jsonl"
Choice = Literal["finalize", "discard", "continue"]
CHOICE_LETTERS: dict[str, Choice] = {"f": "finalize", "d": "discard", "c": "continue"}
Decide: TypeAlias = "Callable[[RunningPause], Choice | None]"  # None leaves the pause as it is


class StartedPause(NamedTuple):
    """A pause that was started just now."""

    session_id: str
    path: Path
    context_percentage: float


def start_manually(workspace: Workspace, context_percentage: float | None) -> StartedPause:
    """Start the project's pause, at the given share of the window or that of the project's latest session."""
    if context_percentage is not None:
        check_fraction(context_percentage, highest=_HIGHEST_TYPED_FRACTION)
    try:
        latest = status(LATEST, workspace)
    except (NotFoundError, TranscriptError):
        latest = None
    fraction = latest.metrics.used_fraction if context_percentage is None and latest else context_percentage
    if fraction is None:
        raise UsageError(
            f"{workspace.folder}: it is not known how full the window is. Tell leftoff: leftoff pause start --context 0.9"
        )
    home = manual_pause(workspace)
    session_id = start(home, fraction, latest.to_dict() if latest else {})
    return StartedPause(session_id=session_id, path=home.file.path, context_percentage=fraction)


def start(
    home: PauseHome,
    context_percentage: float,
    initial_state: JsonObject,
    *,
    origin: Origin | None = None,
    process: JsonObject | None = None,
    at: datetime | None = None,
) -> str:
    """Start a pause and return its id; raise NothingToDoError if one is already running.

    ``process`` identifies the recording process (see ``this_process``), so that recovery notices when it has ended; None if
    it is not known.
    """
    moment = at or clock.now()
    fraction = check_fraction(context_percentage)
    paths.make_project_folder(home.project)
    session_id = clock.timed_id("session", moment)
    extra: JsonObject = {"origin": origin.to_dict()} if origin else {}
    extra |= {"process": process} if process else {}
    clean_state = home.workspace.capture.clean_object(initial_state)
    if not home.file.start(first_action(session_id, fraction, clean_state, moment, extra=extra)):
        raise NothingToDoError(
            f"{home.file.path}: a pause is running already. leftoff pause status shows it; "
            "finalize or discard it before you start another."
        )
    return session_id


def this_process() -> JsonObject:
    """Return what identifies this process, so that others can check later whether it is still running."""
    pid, begun = own_process()
    return {"pid": pid, "begun": begun}


def check_fraction(value: float, *, highest: float = HIGHEST_FRACTION) -> float:
    """Return ``value`` if it can be a share of the window; raise UsageError otherwise."""
    if not is_number(value) or not 0 <= value <= highest:
        raise UsageError(f"context_percentage is {value!r}: a fraction was expected, 0.9 for 90 %.")
    return float(value)


def record_manually(
    workspace: Workspace,
    action_type: str,
    text: str,
    *,
    tool: str | None,
    data: JsonObject,
    context_percentage: float | None,
) -> PauseAction:
    """Record into the project's pause. ``text`` is a message, a tool's input or the name of an event."""
    if context_percentage is not None:
        check_fraction(context_percentage, highest=_HIGHEST_TYPED_FRACTION)
    if action_type == "tool_call" and not tool:
        raise UsageError("A tool call needs its tool: leftoff pause record tool_call --tool Read src/main.py")
    by_type: dict[str, JsonObject] = {
        "tool_call": {"tool": tool, "args": text or None},
        "assistant_response": {"summary": excerpt(text, workspace.capture.clean), "length": len(text)},
        "user_message": {"message": text},
        "system_event": {"event": text},
    }
    home = manual_pause(workspace)
    return record(home, action_type, by_type.get(action_type, {}) | data, context_percentage, sync=True)


def record(
    home: PauseHome,
    action_type: str,
    data: JsonObject,
    context_percentage: float | None,
    *,
    at: datetime | None = None,
    sync: bool = False,
) -> PauseAction:
    """Record an action and return it as it was written; raise NotFoundError if no pause is running.

    If ``context_percentage`` is ``None``, the one recorded last is repeated. ``sync`` waits until the line is on disk; without it
    the line survives the end of this process, but not a crash of the machine.
    """
    if action_type not in RECORDABLE:
        raise UsageError(
            f"{action_type!r} is not an action that can be recorded. There are: {', '.join(RECORDABLE)}."
        )
    fraction = _last_fraction(home) if context_percentage is None else check_fraction(context_percentage)
    json_data = as_json(data)
    if not isinstance(json_data, dict):
        raise UsageError(f"action_data is {data!r:.60}: a mapping was expected.")
    clean = home.workspace.capture.clean_data(action_type, json_data)
    action = home.file.append(action_type, clean, fraction, at or clock.now(), sync=sync)
    if action is None:
        raise _no_pause_error(home)
    return action


def _last_fraction(home: PauseHome) -> float:
    recorded = home.file.read()
    if recorded is None:
        raise _no_pause_error(home)
    return recorded.actions[-1].context_percentage if recorded.actions else 0.0


def _no_pause_error(home: PauseHome) -> NotFoundError:
    return NotFoundError(
        f"{home.project.root}: no pause is running. Begin one: leftoff pause start", path=home.file.path
    )


def discard_selected(selector: str | None, workspace: Workspace) -> PauseSummary:
    """Discard the running pause that ``selector`` names; None selects the only one of this project."""
    from leftoff.pause.list_pauses import pick_running  # noqa: PLC0415 - hooks that start a pause load this module

    summary = discard(pick_running(selector, workspace).home)
    if summary is None:
        raise NothingToDoError("Another process has just ended that pause. leftoff pause list shows it.")
    return summary


def discard(home: PauseHome, at: datetime | None = None) -> PauseSummary | None:
    """Discard the running pause and return its summary; None if none was running."""
    moment = at or clock.now()
    recorded = home.file.discard()
    if recorded is None:
        return None
    summary = summarize(recorded, moment)
    entry = {
        "schema": SCHEMAS["discarded_pause"],
        "session_id": summary.session_id,
        "project": str(home.project.root),
        "at": clock.format_rfc3339(moment),
        "action_count": summary.action_count,
    }
    with suppress(StorageError):  # the pause is gone, as requested; only the statistics miss it
        files.make_folder(paths.state_folder())
        files.append_lines(paths.state_folder() / _DISCARDED_NAME, json.dumps(entry).encode() + b"\n")
    return summary


def count_discarded(root: Path) -> int:
    """Return how many pauses of the project were discarded on this machine."""
    return sum(entry.get("project") == str(root) for entry in _read_discarded())


def was_discarded(session_id: str) -> bool:
    """Return whether the pause with that id was discarded on this machine."""
    return any(entry.get("session_id") == session_id for entry in _read_discarded())


def _read_discarded() -> list[JsonObject]:
    """Return the notes of discarded pauses; lines that cannot be read are left out."""
    try:
        lines = (paths.state_folder() / _DISCARDED_NAME).read_bytes().splitlines()
    except OSError:
        return []
    entries = []
    for line in lines:
        with suppress(ValueError, RecursionError):
            entries.append(json.loads(line))
    return [entry for entry in entries if isinstance(entry, dict)]


class RecoveredPause(NamedTuple):
    """An orphaned pause and what was done with it. ``choice`` is ``None`` if it was left as it is."""

    pause: RunningPause
    choice: Choice | None
    finalized: FinalizedPause | None = None

    def to_dict(self) -> JsonObject:
        """Return the form that scripts rely on."""
        return {
            "session_id": self.pause.summary.session_id,
            "choice": self.choice,
            "action_count": self.pause.summary.action_count,
            "pause_started_at": self.pause.summary.pause_started_at,
            "project": str(self.pause.home.project.root),
            "path": str(self.finalized.main if self.finalized else self.pause.home.file.path),
        }


def recover(
    selector: str | None, workspace: Workspace, decide: Decide, *, everywhere: bool = False
) -> list[RecoveredPause]:
    """Finalize, discard or continue each orphaned pause, as ``decide`` says; raise NothingToDoError if none exists.

    A ``selector`` names one running pause instead, orphaned or not. ``everywhere`` includes all projects that hooks have
    recorded in.
    """
    from leftoff.pause.list_pauses import pick_running  # noqa: PLC0415 - hooks that start a pause load this module

    found = (
        [pick_running(selector, workspace)] if selector else find_orphans(workspace, everywhere=everywhere)
    )
    if not found:
        raise NothingToDoError("No pause was interrupted. To list all: leftoff pause list")
    return [_recover_one(pause, decide(pause)) for pause in found]


def _recover_one(pause: RunningPause, choice: Choice | None) -> RecoveredPause:
    finalized = None
    if choice == "finalize":
        finalized = finalize_orphan(pause)
    elif choice == "discard":
        discard(pause.home)
    elif choice == "continue":
        # By a process that is not known; silent for an hour, the pause is orphaned again.
        continue_pause(pause.home, {"pid": None})
    return RecoveredPause(pause=pause, choice=choice, finalized=finalized)


def finalize_orphan(orphan: RunningPause) -> FinalizedPause | None:
    """Finalize a pause as of its last action, since nothing has happened after it."""
    from leftoff.pause.finalize import Ending, finalize  # noqa: PLC0415 - hooks that start a pause load this module

    return finalize(orphan.home, Ending(reason="recovered", at=first_and_last_time(orphan.recorded)[1]))


def continue_pause(home: PauseHome, process: JsonObject) -> None:
    """Note that ``process`` records into the pause from now on (see ``this_process``)."""
    record(home, "system_event", {"event": "pause_continued", "process": process}, None)
