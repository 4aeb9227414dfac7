"""The words of the warnings: those of 000, with the real numbers."""

from __future__ import annotations

from leftoff.model.context_metrics import ContextMetrics, Level

_HEADS = {
    Level.CAUTION: "⚠️ Context Usage Caution",
    Level.WARNING: "⚠️ Context Usage Warning",
    Level.AUTO_PAUSE: "⏸ Context Usage Auto-Pause",
    Level.CRITICAL: "🚨 Context Usage Critical",
}
_ADVICE = {
    Level.CAUTION: "consider planning for session transition.",
    Level.WARNING: "complete current task, avoid starting new work.",
    Level.AUTO_PAUSE: "actions are being recorded for the next session.",
    Level.CRITICAL: "STOP new work immediately.\nResume log will be generated automatically.",
}


def warning(level: Level, metrics: ContextMetrics) -> str | None:
    """What the user is told when ``level`` is crossed; None for ok and for usage that is not known."""
    if level is Level.OK or metrics.percentage_used is None or metrics.remaining_tokens is None:
        return None
    percentage = int(metrics.percentage_used)  # rounded down: never claim a mark that is not reached
    return (
        f"{_HEADS[level]}: {percentage}% capacity reached\n"
        f"{metrics.remaining_tokens:,} tokens remaining - {_ADVICE[level]}"
    )
