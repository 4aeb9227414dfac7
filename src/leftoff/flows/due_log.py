"""Whether a resume log is due now: what the settings want, what the metrics show, what registered conditions say."""

from __future__ import annotations

from typing import Any

from leftoff.config.layers import thresholds
from leftoff.flows.shelf import Shelf
from leftoff.model.context_metrics import ContextMetrics
from leftoff.resume_logs import due, guests
from leftoff.resume_logs.due import MANUAL_PAUSE


def is_log_due(
    trigger: str, metrics: ContextMetrics, shelf: Shelf, session_state: dict[str, Any] | None = None
) -> bool:
    """Whether ``trigger`` makes one due, or any registered condition does; one that fails is among the shelf's troubles."""
    wanted = shelf.settings.resume_logs
    if not wanted.enabled or (not wanted.auto_generate and trigger != MANUAL_PAUSE):
        return False
    if due.is_due(trigger, metrics, thresholds(shelf.settings), wanted.triggers):
        return True
    triggered, troubles = guests.any_triggers(shelf.conditions, metrics, session_state or {})
    shelf.troubles += troubles
    return triggered


def is_log_due_by(metrics: ContextMetrics, shelf: Shelf, session_state: dict[str, Any] | None = None) -> bool:
    """The same for all that the metrics show by themselves."""
    shown = due.shown_by(metrics, thresholds(shelf.settings)) or ("",)  # conditions are asked in any case
    return any(is_log_due(trigger, metrics, shelf, session_state) for trigger in shown)
