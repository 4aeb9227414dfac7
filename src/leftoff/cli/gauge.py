"""The gauge as a bar of characters with the four marks on it."""

from __future__ import annotations

from leftoff.model.context_metrics import ContextMetrics, Level, Thresholds

_COLOURS = {
    None: "dim",
    Level.OK: "green",
    Level.CAUTION: "yellow",
    Level.WARNING: "dark_orange",
    Level.AUTO_PAUSE: "red",
    Level.CRITICAL: "bold red",
}


def bar(metrics: ContextMetrics, thresholds: Thresholds, width: int) -> str:
    """``█████████░░░░░┊░░┊┊┊``: filled as far as it is used; a mark shows until it is passed."""
    if metrics.total_budget is None or metrics.used_tokens is None:
        return "?" * width
    cells = ["░"] * width
    for threshold in thresholds.in_order:
        at = threshold.at_tokens(metrics.total_budget) / metrics.total_budget
        cells[min(width - 1, int(at * width))] = "┊"
    filled = min(width, int(metrics.used_tokens / metrics.total_budget * width))
    return "".join(["█"] * filled + cells[filled:])


def colour(level: Level | None) -> str:
    """The style that a level is drawn in."""
    return _COLOURS[level]


def words(metrics: ContextMetrics) -> str:
    """``151,000 of 167,000 tokens, 90.4 %``; an estimate is marked with ~, what is not known with ?."""
    used = "?" if metrics.used_tokens is None else f"{metrics.used_tokens:,}"
    total = "?" if metrics.total_budget is None else f"{metrics.total_budget:,}"
    share = "" if metrics.percentage_used is None else f", {metrics.percentage_used:.1f} %"
    return f"{'~' if metrics.basis == 'estimated' else ''}{used} of {total} tokens{share}"
