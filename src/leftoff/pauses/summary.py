"""A pause in a few numbers: what 004 calls its summary, and the line of context use over the wind-down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.pauses.journal import Recorded
from leftoff.system import clock

_BARS = "▁▂▃▄▅▆▇█"
NO_TOOL = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseSummary:
    """What a pause comes to. ``context_range`` (first, last) and ``last_action_type`` are None when no line can be read."""

    session_id: str
    action_count: int
    duration_seconds: int
    context_range: tuple[float, float] | None
    pause_started_at: str
    last_action_type: str | None
    last_updated: str
    kinds: Mapping[str, int]
    tools: Mapping[str, int]
    bad_lines: int
    fractions: tuple[float, ...]

    @property
    def tool_calls(self) -> int:
        """How many tools were called."""
        return self.kinds.get("tool_call", 0)

    def to_dict(self) -> JsonObject:
        """The fields of 004, then ours."""
        return {
            "session_id": self.session_id,
            "action_count": self.action_count,
            "duration_seconds": self.duration_seconds,
            "context_range": None if self.context_range is None else [*self.context_range],
            "pause_started_at": self.pause_started_at,
            "last_action_type": self.last_action_type,
            "last_updated": self.last_updated,
            "tool_calls": self.tool_calls,
            "bad_lines": self.bad_lines,
            "context_history": [*self.fractions],
        }


def summarised(recorded: Recorded, until: datetime) -> PauseSummary:
    """The summary of a pause that lasted ``until`` then. A clock that was put back makes no duration negative."""
    actions = recorded.actions
    begun, last = times(recorded)
    fractions = tuple(action.context_percentage for action in actions)
    return PauseSummary(
        session_id=recorded.session_id,
        action_count=len(actions),
        duration_seconds=max(0, int((until - begun).total_seconds())),
        context_range=(fractions[0], fractions[-1]) if fractions else None,
        pause_started_at=clock.rfc3339(begun),
        last_action_type=actions[-1].type if actions else None,
        last_updated=clock.rfc3339(last),
        kinds=Counter(action.type for action in actions),
        tools=Counter(tool_of(action.data) for action in actions if action.type == "tool_call"),
        bad_lines=recorded.bad_lines,
        fractions=fractions,
    )


def times(recorded: Recorded) -> tuple[datetime, datetime]:
    """When the first and the last action happened; the file's own time where no line tells."""
    actions = recorded.actions
    first, last = (
        next(filter(None, (clock.from_rfc3339(each.timestamp) for each in order)), recorded.modified_at)
        for order in (actions, reversed(actions))
    )
    return first, last


def tool_of(data: JsonObject) -> str:
    """The tool that a call names."""
    tool = data.get("tool")
    return tool if isinstance(tool, str) and tool else NO_TOOL


def sparkline(fractions: Sequence[float], width: int) -> str:
    """``▁▂▃▅▇``: from the lowest of them to a full window; more values than columns are thinned out, the last one stays."""
    if not fractions:
        return ""
    shown = [fractions[len(fractions) * (column + 1) // width - 1] for column in range(width)]
    shown = shown if len(fractions) > width else [*fractions]
    low = min(shown)
    span = max(1.0, *shown) - low
    return "".join(_BARS[0 if span <= 0 else int((each - low) / span * (len(_BARS) - 1))] for each in shown)
