"""Token usage as a hand-fed tracker adds it up (004): a state, and the step from one to the next.

Sums of all replies, as the seed's classes want them; what stands in a window is ``Occupancy``'s business (L1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from leftoff.errors import DocumentError, InvalidValueError
from leftoff.model.context_metrics import ContextMetrics, Level, Thresholds
from leftoff.model.wire import SCHEMAS, JsonObject, JsonValue, upgraded


@dataclass(frozen=True)  # without slots: callers hand its __dict__ on, as 004 does
class UsageState:
    """What was used so far. ``percentage_used`` is 0-100 of the budget and may exceed 100.

    ``threshold_reached`` is the highest one crossed, None below all; ``auto_pause_active`` says that auto_pause is crossed;
    ``last_updated`` is None before the first update.
    """

    session_id: str
    cumulative_input_tokens: int = 0
    cumulative_output_tokens: int = 0
    cache_creation_tokens: int = 0
    cache_read_tokens: int = 0
    percentage_used: float = 0.0
    threshold_reached: str | None = None
    auto_pause_active: bool = False
    last_updated: str | None = None

    @property
    def total_tokens(self) -> int:
        """Input and output; what a cache saved or kept is counted apart."""
        return self.cumulative_input_tokens + self.cumulative_output_tokens

    def metrics(self, budget_tokens: int) -> ContextMetrics:
        """The same as context metrics of that budget."""
        return ContextMetrics(
            total_budget=budget_tokens,
            used_tokens=self.total_tokens,
            basis="reported",
            timestamp=self.last_updated or "",
        )

    def to_dict(self) -> JsonObject:
        """The wire form."""
        return {"schema": SCHEMAS["usage_state"], **vars(self)}

    @classmethod
    def from_dict(cls, data: JsonValue, *, where: str) -> UsageState:
        """The value behind a wire form."""
        match upgraded("usage_state", data, where=where):
            case {
                "session_id": str(session_id),
                "cumulative_input_tokens": int(input_tokens),
                "cumulative_output_tokens": int(output_tokens),
                "cache_creation_tokens": int(creation_tokens),
                "cache_read_tokens": int(read_tokens),
                "percentage_used": float() | int() as percentage,
                "threshold_reached": str() | None as threshold,
                "auto_pause_active": bool(active),
                "last_updated": str() | None as updated,
            }:
                return cls(
                    session_id=session_id,
                    cumulative_input_tokens=input_tokens,
                    cumulative_output_tokens=output_tokens,
                    cache_creation_tokens=creation_tokens,
                    cache_read_tokens=read_tokens,
                    percentage_used=float(percentage),
                    threshold_reached=threshold,
                    auto_pause_active=active,
                    last_updated=updated,
                )
            case _:
                raise DocumentError(
                    f"{where}: not a usage state in the known form. Delete it to start from zero.", path=where
                )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def with_usage(
    state: UsageState, added: dict[str, int], *, budget_tokens: int, thresholds: Thresholds, at: str
) -> UsageState:
    """The state after one more reply; ``added`` is by field. Negative numbers are refused."""
    for name, tokens in added.items():
        if not _is_count(tokens):
            raise InvalidValueError(f"{name} is {tokens!r}: tokens are whole numbers and never negative.")
    summed = replace(state, last_updated=at, **{name: getattr(state, name) + added[name] for name in added})
    metrics = summed.metrics(budget_tokens)
    level = thresholds.level(metrics) or Level.OK
    return replace(
        summed,
        percentage_used=metrics.percentage_used or 0.0,
        threshold_reached=None if level is Level.OK else level.value,
        auto_pause_active=level.rank >= Level.AUTO_PAUSE.rank,
    )
