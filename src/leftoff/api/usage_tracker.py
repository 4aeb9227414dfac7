"""Token usage for programs that count it themselves.

``ContextUsageTracker`` adds up usage against a budget. ``ResponseTracker`` takes stop reason and usage from a model's replies, warns,
and saves a resume log when one is due. It takes usage as occupancy: what this reply was sent and what it said. The setting
``accounting: cumulative`` adds up input and output of every reply instead, which says more about the bill than about the window.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leftoff.api.arguments import project_folder, require, token_count
from leftoff.api.reply_usage import read_usage
from leftoff.api.session_manager import SessionManager, get_session_manager
from leftoff.config.load import thresholds
from leftoff.core.levels import check_crossing, warning_text
from leftoff.core.metrics import ContextMetrics, Level
from leftoff.core.records import Usage
from leftoff.core.triggers import CUT_OFF
from leftoff.errors import LeftoffError
from leftoff.pause import usage_state
from leftoff.pause.usage_state import UsageState, UsageStore
from leftoff.resume_logs.build import USUAL_STOP_REASON
from leftoff.workspace import Workspace

_LOGGER = logging.getLogger(__name__)

__all__ = ["ContextUsageTracker", "ResponseTracker", "UsageState"]


class ContextUsageTracker:
    """Adds up usage and says which threshold is crossed.

    Without ``session_id`` the sums are only in this object. With one they are in the user's state folder under that id, and any number
    of processes may add to them without losing any.
    """

    def __init__(self, project_path: Path | None = None, session_id: str | None = None) -> None:
        self.project_path = project_folder(project_path)
        self.budget = usage_state.budget_of(Workspace.open(self.project_path).settings)
        self.store = UsageStore(session_id)

    def update_usage(
        self, input_tokens: int, output_tokens: int, cache_creation: int = 0, cache_read: int = 0
    ) -> UsageState:
        """Add one reply and return the new state. A negative number is a ValueError and changes nothing."""
        reply = Usage(
            input_tokens=token_count("input_tokens", input_tokens),
            output_tokens=token_count("output_tokens", output_tokens),
            cache_creation_tokens=token_count("cache_creation", cache_creation),
            cache_read_tokens=token_count("cache_read", cache_read),
        )
        return self.store.change(lambda state: usage_state.add_usage(state, reply, self.budget))

    def check_thresholds(self, state: UsageState | None = None) -> str | None:
        """Return the highest threshold crossed, now or in ``state``: caution, warning, auto_pause or critical; None below all."""
        if state is None:
            state = self.get_current_state()
        require("state", state, UsageState)
        return state.threshold_reached

    def should_auto_pause(self) -> bool:
        """Return whether auto_pause is crossed (90 % by default)."""
        return self.get_current_state().auto_pause_active

    def get_current_state(self) -> UsageState:
        """Return the current state; for a named session with what other processes added."""
        return self.store.load()

    def reset_session(self, session_id: str | None = None) -> UsageState:
        """Start from zero: as the session of that id, or as the same one if it was named, or as a new one."""
        return self.store.reset(session_id)

    def get_usage_summary(self) -> dict[str, Any]:
        """Return the state in numbers for a person: totals, what remains, what is crossed."""
        state = self.get_current_state()
        return {
            "session_id": state.session_id,
            "total_tokens": state.total_tokens,
            "used_tokens": state.used_tokens,
            "budget": self.budget.tokens,
            "remaining_tokens": max(0, self.budget.tokens - state.used_tokens),
            "percentage_used": round(state.percentage_used, 2),
            "threshold_reached": state.threshold_reached,
            "auto_pause_active": state.auto_pause_active,
            "breakdown": {
                "input_tokens": state.cumulative_input_tokens,
                "output_tokens": state.cumulative_output_tokens,
                "cache_creation_tokens": state.cache_creation_tokens,
                "cache_read_tokens": state.cache_read_tokens,
            },
            "last_updated": state.last_updated,
        }


class ResponseTracker:
    """Follows the replies of any number of sessions, each by its id. Errors are logged and never raised."""

    def __init__(self, session_manager: SessionManager | None = None) -> None:
        self._manager = session_manager
        self._settings = Workspace.open().settings
        self._announced: dict[str, Level] = {}

    def track_stop_response(
        self,
        event: dict[str, Any],
        session_id: str,
        metadata: dict[str, Any],
        pending_prompts: list[str],  # noqa: ARG002 - part of the public signature
    ) -> None:
        """Put stop reason and usage into ``metadata``, announce each threshold once, and save a resume log when due."""
        require("metadata", metadata, dict)
        try:
            require("event", event, Mapping)
            if "stop_reason" in event:
                metadata["stop_reason"] = event["stop_reason"]
            if event.get("usage") is None:
                return
            reply = read_usage(event["usage"])
            metadata["usage"] = _usage_fields(reply)
            if self._settings.enabled:
                self._follow(session_id, metadata, reply, event.get("model"))
        except LeftoffError as error:  # the reply is more important than what we make of it
            _LOGGER.error("%s", error)  # noqa: TRY400 - the sentence is for the user; a traceback adds nothing

    def _follow(self, session_id: str, metadata: dict[str, Any], reply: Usage, model: object) -> None:
        manager = self._manager or get_session_manager(session_id)
        stop_reason = str(metadata.get("stop_reason") or USUAL_STOP_REASON)
        if self._settings.accounting == "cumulative":
            manager.update_token_usage(reply.input_tokens, reply.output_tokens, stop_reason)
        else:
            name = model if isinstance(model, str) else None
            # The end of a stream says what was answered, not what is in the window.
            used_tokens = reply.occupancy_tokens if reply.sent_tokens else manager.metrics.used_tokens or 0
            manager.observe_occupancy(used_tokens, stop_reason, model=name)
        is_news = self._announce_crossing(session_id, manager.metrics) or stop_reason in CUT_OFF
        logs, metrics = manager.resume_logs, manager.metrics
        # Without news only the registered conditions decide, or every reply above a threshold would save again.
        if logs.is_due(metrics, metadata) if is_news else logs.should_generate(metrics, "", metadata):
            manager.generate_resume_log()

    def _announce_crossing(self, session_id: str, metrics: ContextMetrics) -> bool:
        """Log a threshold that is newly crossed; return whether there is one."""
        before = self._announced.get(session_id, Level.OK)
        crossing = check_crossing(before, metrics, thresholds(self._settings))
        self._announced[session_id] = crossing.announced
        if crossing.announce is None:
            return False
        level = logging.CRITICAL if crossing.announce is Level.CRITICAL else logging.WARNING
        _LOGGER.log(level, "%s", warning_text(crossing.announce, metrics))
        return True


def _usage_fields(reply: Usage) -> dict[str, int]:
    cached = {
        "cache_read_input_tokens": reply.cache_read_tokens,
        "cache_creation_input_tokens": reply.cache_creation_tokens,
    }
    return {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens} | {
        name: tokens for name, tokens in cached.items() if tokens
    }
