"""Which threshold to announce now, the text of the warning, and how many turns are left until each threshold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from leftoff.core.metrics import ContextMetrics, Level, Thresholds

# Usage that hovers around a threshold must not repeat the warning: it has to fall this far below to re-arm it.
HYSTERESIS_FRACTION = 0.03
_HEADS = {
    Level.CAUTION: "⚠️ Context Usage Caution",
    Level.WARNING: "⚠️ Context Usage Warning",
    Level.AUTO_PAUSE: "⏸ Context Usage Auto-Pause",
    Level.CRITICAL: "🚨 Context Usage Critical",
}
_ADVICE = {
    Level.CAUTION: "consider planning for session transition.",
    Level.WARNING: "complete current task, avoid starting new work.",
    Level.AUTO_PAUSE: "finish the current step and wrap up.",
    Level.CRITICAL: "STOP new work immediately.\nResume log will be generated automatically.",
}
_RECORDING = "actions are being recorded for the next session."  # the advice at auto_pause while that is true
FORECAST_TURNS = 8
_FEWEST_TURNS = 3  # that make a pace: one or two may be anything
_FARTHEST = 10  # times as far as the turns it is made from, a forecast is worth nothing


class Crossing(NamedTuple):
    """The level to remember as announced, and the level to announce now (None: nothing new)."""

    announced: Level
    announce: Level | None


def check_crossing(
    announced: Level, metrics: ContextMetrics, thresholds: Thresholds, *, compacted: bool = False
) -> Crossing:
    """Compare usage with the level announced last, so that each threshold is announced once per crossing.

    Unknown usage changes nothing. A compaction since the last check re-arms every threshold.
    """
    announced = Level.OK if compacted else announced
    level = thresholds.level(metrics)
    if level is None or metrics.used_tokens is None or metrics.total_budget is None:
        return Crossing(announced=announced, announce=None)
    if level.rank > announced.rank:
        return Crossing(announced=level, announce=level)
    margin = HYSTERESIS_FRACTION * metrics.total_budget
    still_announced = [
        threshold.level
        for threshold in thresholds.in_order
        if threshold.level.rank <= announced.rank
        and metrics.used_tokens >= threshold.at_tokens(metrics.total_budget) - margin
    ]
    return Crossing(announced=still_announced[-1] if still_announced else Level.OK, announce=None)


def warning_text(level: Level, metrics: ContextMetrics, *, is_recording: bool = False) -> str | None:
    """Return the warning for a crossed ``level``; None for ok and for unknown usage. ``is_recording`` says that a pause is running."""
    if level is Level.OK or metrics.shown_percentage is None or metrics.remaining_tokens is None:
        return None
    advice = _RECORDING if is_recording and level is Level.AUTO_PAUSE else _ADVICE[level]
    return (
        f"{_HEADS[level]}: {int(metrics.shown_percentage)}% capacity reached\n"
        f"{metrics.remaining_tokens:,} tokens remaining - {advice}"
    )


def tokens_per_turn(turn_ends_tokens: Sequence[int]) -> float | None:
    """Return the median growth per turn, which one huge file does not distort; None if it is not known."""
    steps = [later - earlier for earlier, later in pairwise(turn_ends_tokens[-FORECAST_TURNS - 1 :])]
    # A turn that shrank the window says nothing about growth.
    growing = sorted(step for step in steps if step > 0)
    # Not statistics.median: importing it slows down the status line.
    middle = growing[(len(growing) - 1) // 2 : len(growing) // 2 + 1]
    return sum(middle) / len(middle) if middle else None


def turns_left(
    metrics: ContextMetrics, thresholds: Thresholds, turn_ends_tokens: Sequence[int]
) -> Mapping[Level, int | None]:
    """Return the turns left until each threshold: 0 if it is crossed, None if usage is not known, or growth not well enough."""
    pace = tokens_per_turn(turn_ends_tokens)
    known_turns = min(len(turn_ends_tokens) - 1, FORECAST_TURNS)
    most = known_turns * _FARTHEST if known_turns >= _FEWEST_TURNS else 0
    left: dict[Level, int | None] = {}
    for threshold in thresholds.in_order:
        if metrics.total_budget is None or metrics.used_tokens is None:
            left[threshold.level] = None
        elif (missing := threshold.at_tokens(metrics.total_budget) - metrics.used_tokens) <= 0:
            left[threshold.level] = 0
        else:
            turns = None if pace is None else math.ceil(missing / pace)
            left[threshold.level] = turns if turns is not None and turns <= most else None
    return left
