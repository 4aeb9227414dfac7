"""When a resume log is due: the five triggers of 000, each only where the settings name it."""

from __future__ import annotations

from collections.abc import Collection

from leftoff.model.context_metrics import ContextMetrics, Thresholds

MANUAL_PAUSE = "manual_pause"
CUT_OFF = ("model_context_window_exceeded", "max_tokens")  # stop reasons that are triggers


def is_due(trigger: str, metrics: ContextMetrics, marks: Thresholds, wanted: Collection[str]) -> bool:
    """Whether ``trigger`` makes a log due: the settings want it, and a threshold is really crossed.

    Who says that the window was exceeded, or that the user paused, is believed; a word that is no trigger makes nothing due.
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


def shown_by(metrics: ContextMetrics, marks: Thresholds) -> tuple[str, ...]:
    """The triggers that the metrics themselves show, the most urgent first."""
    by_stop_reason = (metrics.stop_reason,) if metrics.stop_reason in CUT_OFF else ()
    by_threshold = (("threshold_critical", marks.critical), ("threshold_warning", marks.warning))
    return (*by_stop_reason, *(name for name, mark in by_threshold if mark.crossed(metrics)))
