"""``AutoPauseHandler`` (004): usage in, a pause out; everything between the crossing and the end is recorded.

Stop is not among the events, because it ends a turn and not a session (L9). A compaction ends the wind-down: ``on_compaction``
finalises the pause, and the next crossing begins another.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from leftoff.api.pause_manager import IncrementalPauseManager
from leftoff.api.usage_tracker import ContextUsageTracker
from leftoff.errors import NotFoundError, NothingToDoError, UsageError
from leftoff.flows.capture import capture_here
from leftoff.flows.pause_finalize import Ending, finalize
from leftoff.flows.pause_homes import hand_driven
from leftoff.flows.settings import settings_here
from leftoff.meter.crossings import crossing
from leftoff.meter.warnings import warning
from leftoff.model.context_metrics import Level
from leftoff.model.wire import JsonValue, as_json
from leftoff.pauses.words import shortened, summary
from leftoff.system import paths

__all__ = ["AutoPauseHandler"]

# The tracker's words and those of the API, which a reply's usage can be handed on in as it came.
_FIELDS = {
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
    "cache_creation": ("cache_creation", "cache_creation_tokens", "cache_creation_input_tokens"),
    "cache_read": ("cache_read", "cache_read_tokens", "cache_read_input_tokens"),
}


class AutoPauseHandler:
    """Watches usage; from auto_pause on it records, until the session ends or is compacted."""

    def __init__(self, project_path: Path | None = None) -> None:
        self.project_path = Path(project_path) if project_path else paths.working_folder()
        self.tracker = ContextUsageTracker(self.project_path)
        self.pause_manager = IncrementalPauseManager(self.project_path)
        self._capture = capture_here(self.project_path)
        self._enabled = settings_here(self.project_path).settings.pause.enabled
        self._said = Level.OK

    def on_usage_update(self, usage: Mapping[str, Any]) -> str | None:
        """Add a reply's usage; the threshold that is newly crossed by it, or None. At auto_pause recording begins."""
        state = self.tracker.update_usage(**{name: _count(usage, keys) for name, keys in _FIELDS.items()})
        step = crossing(self._said, state.metrics(self.tracker.budget.tokens), self.tracker.budget.thresholds)
        self._said = step.said
        if self._enabled and state.auto_pause_active and not self.pause_manager.is_pause_active():
            with suppress(NothingToDoError):  # another process was quicker; we record into the same pause
                self.pause_manager.start_incremental_pause(state.percentage_used / 100, vars(state))
        return step.announce.value if step.announce else None

    def on_tool_call(self, name: str, args: Mapping[str, Any] | None = None, result: Any = None) -> None:
        """Record a tool call with its arguments and the beginning of its result; nothing when no pause is running."""
        given = shortened(self._capture.clean(as_json(args or {})))
        answer = None if result is None else self._summary(result)
        self._record("tool_call", {"tool": name, "args": given, "result_summary": answer})

    def on_assistant_response(self, text: str) -> None:
        """Record a reply by its first 200 characters and its length."""
        self._record("assistant_response", {"summary": self._summary(text), "length": len(text)})

    def on_user_message(self, text: str) -> None:
        """Record what the user said, in full."""
        self._record("user_message", {"message": text})

    def on_compaction(self) -> Path | None:
        """End the wind-down with a snapshot, if a pause is running, and start counting anew; the snapshot's JSON."""
        ended = finalize(hand_driven(self.project_path), Ending(reason="compaction"))
        self.tracker.reset_session()
        self._said = Level.OK
        return ended.main if ended else None

    def on_session_end(self) -> Path | None:
        """Finalise the pause, if one is running; the snapshot's JSON."""
        ended = finalize(hand_driven(self.project_path), Ending(reason="session end"))
        return ended.main if ended else None

    def is_pause_active(self) -> bool:
        """Whether a pause is being recorded."""
        return self.pause_manager.is_pause_active()

    def get_status(self) -> dict[str, Any]:
        """Usage and pause in one: what the tracker says, and the pause's summary (None when none is running)."""
        return self.tracker.get_usage_summary() | {
            "pause_active": self.is_pause_active(),
            "pause": self.pause_manager.get_pause_summary(),
        }

    def emit_threshold_warning(self, threshold: str) -> str:
        """What the user is to be told when ``threshold`` is crossed, with the numbers of now."""
        if threshold not in [*Level][1:]:
            known = ", ".join([*Level][1:])
            raise UsageError(f"{threshold!r} is no threshold. There are: {known}.")
        metrics = self.tracker.get_current_state().metrics(self.tracker.budget.tokens)
        return warning(Level(threshold), metrics) or ""

    def _record(self, action_type: str, data: dict[str, Any]) -> None:
        fraction = self.tracker.get_current_state().percentage_used / 100
        with suppress(NotFoundError):  # no pause is running, or it was ended just now
            self.pause_manager.append_action(action_type, data, fraction)

    def _summary(self, value: Any) -> str:
        text: JsonValue = as_json(value)
        return summary(text if isinstance(text, str) else str(text), self._capture.clean)


def _count(usage: Mapping[str, Any], keys: tuple[str, ...]) -> int:
    """The first of the names that is there; 0 where a reply does not tell."""
    found = next((usage[key] for key in keys if usage.get(key) is not None), 0)
    if not isinstance(found, int):
        raise UsageError(f"{keys[0]} is {found!r}: a whole number of tokens was expected.")
    return found
