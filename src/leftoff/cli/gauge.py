"""The gauge as a bar of characters with the four thresholds on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from leftoff.core.metrics import ContextMetrics, Level, Thresholds

_STYLES: Mapping[Level | None, Style] = {
    None: {"dim": True},
    Level.OK: {"fg": "green"},
    Level.CAUTION: {"fg": "yellow"},
    Level.WARNING: {"fg": 208},  # orange
    Level.AUTO_PAUSE: {"fg": "red"},
    Level.CRITICAL: {"fg": "red", "bold": True},
}


class Style(TypedDict, total=False):
    """How text looks on a terminal, as click takes it; a colour is a name or a number of the 256."""

    fg: str | int
    bold: bool
    dim: bool
    italic: bool
    reverse: bool


def bar(metrics: ContextMetrics, thresholds: Thresholds, width: int) -> str:
    """Return ``█████████░░░░░┊░░┊┊┊``: filled as far as the window is used, with the thresholds still ahead."""
    if metrics.total_budget is None or metrics.used_tokens is None:
        return " " * width
    cells = ["░"] * width
    for threshold in thresholds.in_order:
        at = threshold.at_tokens(metrics.total_budget) / metrics.total_budget
        cells[min(width - 1, int(at * width))] = "┊"
    filled = min(width, int(metrics.used_tokens / metrics.total_budget * width))
    return "".join(["█"] * filled + cells[filled:])


def scale(metrics: ContextMetrics, thresholds: Thresholds, width: int) -> str:
    """Return the line below the bar: the percentage of each threshold under its mark; one that would overlap is left out."""
    line = ""
    for threshold in thresholds.in_order if metrics.total_budget else ():
        assert metrics.total_budget is not None
        fraction = threshold.at_tokens(metrics.total_budget) / metrics.total_budget
        at = min(width - 1, int(fraction * width))
        if not line or at > len(line):
            line = line.ljust(at) + f"{fraction * 100:.0f}"
    return f"{line} %" if line else ""


def level_name(level: Level | None) -> str:
    """Return a level as people read it."""
    return "" if level is None else level.value.replace("_", "-")


def style(level: Level | None) -> Style:
    """Return the style of a level."""
    return _STYLES[level]


def describe(metrics: ContextMetrics) -> str:
    """Return ``151,000 of 167,000 tokens, 90.4 %``; ~ marks an estimate, and what is not known is left out."""
    if metrics.used_tokens is None:
        return "not measured yet" + (
            "" if metrics.total_budget is None else f", of {metrics.total_budget:,} tokens"
        )
    used = f"{'~' if metrics.basis == 'estimated' else ''}{metrics.used_tokens:,}"
    if metrics.shown_percentage is None:
        return f"{used} tokens used"
    return f"{used} of {metrics.total_budget:,} tokens, {metrics.shown_percentage:.1f} %"
