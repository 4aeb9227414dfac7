"""Triggers: the conditions that make a resume log due. Hooks import this at every threshold, so it needs little."""

from __future__ import annotations

from collections.abc import Collection

from leftoff.core.metrics import ContextMetrics, Thresholds

MANUAL_PAUSE = "manual_pause"
CUT_OFF = ("model_context_window_exceeded", "max_tokens")  # stop reasons that are triggers


def is_due(trigger: str, metrics: ContextMetrics, marks: Thresholds, wanted: Collection[str]) -> bool:
    """Return whether ``trigger`` makes a log due: the settings ask for it, and a threshold is really crossed.

    A stop reason or a pause by the user is taken at its word; an unknown trigger makes no log due.
    """
    if trigger not in wanted:
        return False
    match trigger:
        case "threshold_warning":
            return marks.warning.crossed(metrics)
        case "threshold_critical":
            return marks.critical.crossed(metrics)
        case _:
            return trigger == MANUAL_PAUSE or trigger in CUT_OFF


def triggers_of(metrics: ContextMetrics, marks: Thresholds) -> tuple[str, ...]:
    """Return the triggers that the metrics show by themselves, the most urgent first."""
    by_stop_reason = (metrics.stop_reason,) if metrics.stop_reason in CUT_OFF else ()
    by_threshold = (("threshold_critical", marks.critical), ("threshold_warning", marks.warning))
    return (*by_stop_reason, *(name for name, mark in by_threshold if mark.crossed(metrics)))
