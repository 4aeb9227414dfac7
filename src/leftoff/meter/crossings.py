"""Each threshold is said once per crossing: a pure step from the level said last to the level to say now."""

from __future__ import annotations

from leftoff.model.context_metrics import ContextMetrics, Level, Thresholds
from leftoff.model.values import dataclass

# A gauge that hovers at a mark must not repeat itself: usage has to fall this far below before the mark counts again.
HYSTERESIS_FRACTION = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """What to remember as said, and the level to announce now; None: nothing to say."""

    said: Level
    announce: Level | None


def crossing(
    said: Level, metrics: ContextMetrics, thresholds: Thresholds, *, compacted: bool = False
) -> Crossing:
    """The step. Unknown usage changes nothing; a compaction since the last step arms every mark again."""
    said = Level.OK if compacted else said
    level = thresholds.level(metrics)
    if level is None or metrics.used_tokens is None or metrics.total_budget is None:
        return Crossing(said=said, announce=None)
    if level.rank > said.rank:
        return Crossing(said=level, announce=level)
    margin = HYSTERESIS_FRACTION * metrics.total_budget
    held = [
        threshold.level
        for threshold in thresholds.in_order
        if threshold.level.rank <= said.rank
        and metrics.used_tokens >= threshold.at_tokens(metrics.total_budget) - margin
    ]
    return Crossing(said=held[-1] if held else Level.OK, announce=None)
