"""``ResponseTracker`` (000): takes stop reason and usage out of a model's replies, warns, and saves a resume log when due.

Usage is taken as occupancy: what this reply was sent and what it said. The setting ``accounting: cumulative`` adds up input
and output of every reply instead, as 000 was written; that says more of the bill than of the window (L1).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from leftoff.api.session_manager import SessionManager, get_session_manager
from leftoff.config.layers import thresholds
from leftoff.errors import LeftoffError
from leftoff.flows.settings import settings_here
from leftoff.meter.crossings import crossing
from leftoff.meter.warnings import warning
from leftoff.model.context_metrics import Level
from leftoff.resume_logs.due import CUT_OFF
from leftoff.resume_logs.make import USUAL_STOP_REASON

__all__ = ["ResponseTracker"]

_LOGGER = logging.getLogger(__name__)
# As the replies call them.
_CACHE_FIELDS = ("cache_read_input_tokens", "cache_creation_input_tokens")


class ResponseTracker:
    """Follows the replies of any number of sessions, each by its id. Trouble is logged and never raised."""

    def __init__(self, session_manager: SessionManager | None = None) -> None:
        self._manager = session_manager
        self._settings = settings_here().settings
        self._said: dict[str, Level] = {}

    def track_stop_response(
        self,
        event: dict[str, Any],
        session_id: str,
        metadata: dict[str, Any],
        pending_prompts: list[str],  # noqa: ARG002 - the seed's signature
    ) -> None:
        """Note stop reason and usage in ``metadata``, tell each threshold once, and save a resume log when one is due."""
        if "stop_reason" in event:
            metadata["stop_reason"] = event["stop_reason"]
        usage = event.get("usage")
        if not isinstance(usage, Mapping):
            return
        metadata["usage"] = {
            "input_tokens": _count(usage, "input_tokens"),
            "output_tokens": _count(usage, "output_tokens"),
        } | {name: _count(usage, name) for name in _CACHE_FIELDS if name in usage}
        if not self._settings.enabled:
            return
        try:
            self._follow(session_id, metadata, event.get("model"))
        except LeftoffError as error:  # the reply is more important than what we make of it
            _LOGGER.error("%s", error)  # noqa: TRY400 - a sentence for the user; a traceback says no more

    def _follow(self, session_id: str, metadata: dict[str, Any], model: object) -> None:
        manager = self._manager or get_session_manager(session_id)
        usage, stop_reason = metadata["usage"], str(metadata.get("stop_reason") or USUAL_STOP_REASON)
        if self._settings.accounting == "cumulative":
            manager.update_token_usage(usage["input_tokens"], usage["output_tokens"], stop_reason)
        else:
            name = model if isinstance(model, str) else None
            manager.observe_occupancy(sum(usage.values()), stop_reason, model=name)
        is_news = self._announced(session_id, manager) or stop_reason in CUT_OFF
        logs, metrics = manager.resume_logs, manager.metrics
        # Without news only the registered conditions are asked, or every reply above a threshold would save again.
        if logs.is_due(metrics, metadata) if is_news else logs.should_generate(metrics, "", metadata):
            manager.generate_resume_log()

    def _announced(self, session_id: str, manager: SessionManager) -> bool:
        """Whether a threshold is newly crossed; then it is said in the log."""
        metrics = manager.metrics
        step = crossing(self._said.get(session_id, Level.OK), metrics, thresholds(self._settings))
        self._said[session_id] = step.said
        if step.announce is not None:
            urgent = step.announce is Level.CRITICAL
            _LOGGER.log(
                logging.CRITICAL if urgent else logging.WARNING, "%s", warning(step.announce, metrics)
            )
        return step.announce is not None


def _count(usage: Mapping[str, Any], name: str) -> int:
    """0 where a reply does not say, or says no number."""
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
