"""How many turns are left until each threshold, at the pace of this session's last turns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from leftoff.model.context_metrics import ContextMetrics, Level, Thresholds

TURNS_LOOKED_AT = 8


def pace_tokens(turn_ends_tokens: Sequence[int]) -> float | None:
    """What one turn adds: the median of the last turns, which one huge file read does not move. None: not known."""
    steps = [later - earlier for earlier, later in pairwise(turn_ends_tokens[-TURNS_LOOKED_AT - 1 :])]
    growing = sorted(
        step for step in steps if step > 0
    )  # one that shrank the window says nothing about growth
    middle = growing[
        (len(growing) - 1) // 2 : len(growing) // 2 + 1
    ]  # statistics.median, without what importing it costs
    return sum(middle) / len(middle) if middle else None


def turns_left(
    metrics: ContextMetrics, thresholds: Thresholds, turn_ends_tokens: Sequence[int]
) -> Mapping[Level, int | None]:
    """Turns until each mark: 0 for one that is crossed, None when the pace or the usage is not known."""
    pace = pace_tokens(turn_ends_tokens)
    left: dict[Level, int | None] = {}
    for threshold in thresholds.in_order:
        if metrics.total_budget is None or metrics.used_tokens is None:
            left[threshold.level] = None
        elif (missing := threshold.at_tokens(metrics.total_budget) - metrics.used_tokens) <= 0:
            left[threshold.level] = 0
        else:
            left[threshold.level] = None if pace is None else math.ceil(missing / pace)
    return left
