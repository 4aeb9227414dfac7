"""What many pauses come to: actions by kind and tool, how long wind-downs last, how often one was discarded. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from statistics import median

from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.pauses.summary import PauseSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseStatistics:
    """Sums over pauses. The minutes are from the pause's first action to its end; None where there is no pause."""

    finished: int
    discarded: int
    actions: int
    kinds: dict[str, int]
    tools: dict[str, int]
    bad_lines: int
    median_minutes: float | None
    longest_minutes: float | None

    @property
    def discarded_fraction(self) -> float | None:
        """The share of all ended pauses that were thrown away; None where none has ended."""
        ended = self.finished + self.discarded
        return self.discarded / ended if ended else None

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "finished": self.finished,
            "discarded": self.discarded,
            "discarded_fraction": self.discarded_fraction,
            "actions": self.actions,
            "kinds": dict(self.kinds),
            "tools": dict(self.tools),
            "bad_lines": self.bad_lines,
            "median_minutes": self.median_minutes,
            "longest_minutes": self.longest_minutes,
        }


def statistics_of(summaries: Iterable[PauseSummary], *, finished: int, discarded: int) -> PauseStatistics:
    """The sums, most frequent first; of the finished ones some may have no summary, because their lines are gone."""
    kinds: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    minutes = []
    bad_lines = 0
    for summary in summaries:
        kinds.update(summary.kinds)
        tools.update(summary.tools)
        minutes.append(summary.duration_seconds / 60)
        bad_lines += summary.bad_lines
    return PauseStatistics(
        finished=finished,
        discarded=discarded,
        actions=kinds.total(),
        kinds=dict(kinds.most_common()),
        tools=dict(tools.most_common()),
        bad_lines=bad_lines,
        median_minutes=round(median(minutes), 1) if minutes else None,
        longest_minutes=round(max(minutes), 1) if minutes else None,
    )
