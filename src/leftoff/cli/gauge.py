"""The gauge as a bar of characters with the four marks on it."""

from __future__ import annotations

from collections.abc import Mapping

from leftoff.model.context_metrics import ContextMetrics, Level, Thresholds

TYPE_CHECKING = False  # as typing has it, which takes longer to load than this
if TYPE_CHECKING:
    from leftoff.cli.plain import Style

_STYLES: Mapping[Level | None, Style] = {
    None: {"dim": True},
    Level.OK: {"fg": "green"},
    Level.CAUTION: {"fg": "yellow"},
    Level.WARNING: {"fg": 208},  # orange
    Level.AUTO_PAUSE: {"fg": "red"},
    Level.CRITICAL: {"fg": "red", "bold": True},
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


def style(level: Level | None) -> Style:
    """The style that a level is drawn in."""
    return _STYLES[level]


def words(metrics: ContextMetrics) -> str:
    """``151,000 of 167,000 tokens, 90.4 %``; an estimate is marked with ~, what is not known with ?."""
    used = "?" if metrics.used_tokens is None else f"{metrics.used_tokens:,}"
    total = "?" if metrics.total_budget is None else f"{metrics.total_budget:,}"
    share = "" if metrics.percentage_used is None else f", {metrics.percentage_used:.1f} %"
    return f"{'~' if metrics.basis == 'estimated' else ''}{used} of {total} tokens{share}"
