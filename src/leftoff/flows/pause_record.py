"""Record one action of the wind-down, without credentials and in one write."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from leftoff.errors import NotFoundError, UsageError
from leftoff.flows.capture import Capture, capture_here
from leftoff.flows.pause_homes import PauseHome, hand_driven
from leftoff.flows.pause_start import checked_fraction, typed_fraction
from leftoff.model.pause_action import ACTION_TYPES, PauseAction
from leftoff.model.wire import JsonObject, as_json
from leftoff.pauses.words import summary
from leftoff.system import clock

RECORDABLE = tuple(name for name in ACTION_TYPES if not name.startswith("pause_"))


def record(
    home: PauseHome,
    action_type: str,
    data: JsonObject,
    context_percentage: float | None,
    *,
    capture: Capture,
    at: datetime | None = None,
    sync: bool = False,
) -> PauseAction:
    """The action as it was kept; NotFoundError when no pause is running.

    Without ``context_percentage`` the one last recorded counts. ``sync`` waits until the disk has it; without it the line is
    handed to the system at once, which survives the end of this process, not that of the machine.
    """
    if action_type not in RECORDABLE:
        raise UsageError(
            f"{action_type!r} is no action that can be recorded. There are: {', '.join(RECORDABLE)}."
        )
    fraction = _last_fraction(home) if context_percentage is None else checked_fraction(context_percentage)
    kept = as_json(data)
    if not isinstance(kept, dict):
        raise UsageError(f"The data of an action is a mapping, not {type(data).__name__}.")
    clean = capture.clean_data(action_type, kept)
    action = home.file.append(action_type, clean, fraction, at or clock.now(), sync=sync)
    if action is None:
        raise no_pause(home)
    return action


def record_here(
    working_folder: Path,
    action_type: str,
    words: str,
    *,
    tool: str | None,
    data: JsonObject,
    context_percentage: float | None,
) -> PauseAction:
    """Record by hand into the project's pause: ``words`` are what was said, the tool's input, or the event's name."""
    home = hand_driven(working_folder)
    if context_percentage is not None:
        typed_fraction(context_percentage)
    if action_type == "tool_call" and not tool:
        raise UsageError("A tool call needs its tool: leftoff pause record tool_call --tool Read src/main.py")
    capture = capture_here(home.project.root)
    said: dict[str, JsonObject] = {
        "tool_call": {"tool": tool, "args": words or None},
        "assistant_response": {"summary": summary(words, capture.clean), "length": len(words)},
        "user_message": {"message": words},
        "system_event": {"event": words},
    }
    return record(
        home, action_type, said.get(action_type, {}) | data, context_percentage, capture=capture, sync=True
    )


def no_pause(home: PauseHome) -> NotFoundError:
    """What is said when there is no pause to record into."""
    return NotFoundError(
        f"{home.project.root}: no pause is running. Begin one: leftoff pause start", path=home.file.path
    )


def _last_fraction(home: PauseHome) -> float:
    recorded = home.file.read()
    if recorded is None:
        raise no_pause(home)
    return recorded.actions[-1].context_percentage if recorded.actions else 0.0
