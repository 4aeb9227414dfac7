"""How full the window is: context metrics, thresholds and levels."""

from __future__ import annotations

import math
from enum import StrEnum
from itertools import combinations

from leftoff.errors import InvalidValueError
from leftoff.model.values import dataclass
from leftoff.model.wire import well_formed

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from typing import Any, Literal

    Basis = Literal["reported", "estimated", "unknown"]
    WindowBasis = Literal["setting", "reported", "observed", "table", "unknown"]
else:
    Basis = WindowBasis = str

_MOST_TOKENS = 10**12


class Level(StrEnum):
    """ok, or the highest threshold crossed. Ordered from harmless to urgent."""

    OK = "ok"
    CAUTION = "caution"
    WARNING = "warning"
    AUTO_PAUSE = "auto_pause"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for ok to 4 for critical."""
        return _RANKS[self]


_RANKS = {level: rank for rank, level in enumerate(Level)}


@dataclass(frozen=True, slots=True)
class ContextMetrics:
    """Tokens used of the usable window.

    Derived fields are computed when left out, and refused when they contradict the others. None means not known.
    ``percentage_used`` is 0-100 and may exceed 100; ``remaining_tokens`` never falls below 0. A metric without a
    timestamp stamps itself: the one place in the model that looks at a clock, because the library of 000 promises it.
    """

    total_budget: int | None  # the usable window
    used_tokens: int | None
    percentage_used: float | None = None
    remaining_tokens: int | None = None
    stop_reason: str = "end_turn"
    model: str = "claude-sonnet-4.5"
    timestamp: str = ""
    window_tokens: int | None = None  # what the model can hold
    basis: Basis = "reported"
    window_basis: WindowBasis = "unknown"

    def __post_init__(self) -> None:
        _refuse_no_number("percentage_used", self.percentage_used, most=100 * _MOST_TOKENS)
        for name in ("total_budget", "used_tokens", "remaining_tokens", "window_tokens"):
            _refuse_no_number(name, getattr(self, name), most=_MOST_TOKENS)
        for name in ("stop_reason", "model", "timestamp", "basis", "window_basis"):
            object.__setattr__(self, name, _text(name, getattr(self, name)))
        if self.total_budget == 0:
            raise InvalidValueError(
                "total_budget is 0: a window holds at least one token, or is None when not known."
            )
        percentage, remaining = self._derived()
        _refuse_contradiction("percentage_used", self.percentage_used, percentage, tolerance=0.5)
        _refuse_contradiction("remaining_tokens", self.remaining_tokens, remaining, tolerance=0)
        if self.percentage_used is None:
            object.__setattr__(self, "percentage_used", percentage)
        if self.remaining_tokens is None:
            object.__setattr__(self, "remaining_tokens", remaining)
        if self.used_tokens is None:
            object.__setattr__(self, "basis", "unknown")
        if not self.timestamp:
            object.__setattr__(self, "timestamp", _now())

    def _derived(self) -> tuple[float | None, int | None]:
        if self.total_budget is None or self.used_tokens is None:
            return None, None
        return self.used_tokens / self.total_budget * 100, max(0, self.total_budget - self.used_tokens)

    @property
    def used_fraction(self) -> float | None:
        """percentage_used as a fraction."""
        return None if self.percentage_used is None else self.percentage_used / 100

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ContextMetrics:
        """The value behind a wire form; null counts as left out, and keys that are not ours are passed over."""
        known = {name: data[name] for name in _FIELDS if data.get(name) is not None}
        return cls(**({"total_budget": None, "used_tokens": None} | known))


_FIELDS: tuple[str, ...] = ContextMetrics.__slots__


def _refuse_no_number(name: str, value: object, *, most: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValueError(f"{name} is {value!r}: a number, or None when not known.")
    if not 0 <= value < math.inf:
        raise InvalidValueError(f"{name} is {value}: tokens and percentages are never negative.")
    if value > most:
        raise InvalidValueError(f"{name} is above {most:,}: no window is that large.")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValueError(f"{name} is {value!r}: text was expected.")
    return well_formed(value)


def _refuse_contradiction(name: str, said: float | None, true: float | None, *, tolerance: float) -> None:
    if said is not None and true is not None and abs(said - true) > tolerance:
        raise InvalidValueError(
            f"{name} is {said:g}, but used_tokens and total_budget make it {true:g}. Leave it out to have it computed."
        )


def _now() -> str:
    from datetime import UTC, datetime  # noqa: PLC0415 - who measures live hands in the time

    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")  # noqa: TID251 - see ContextMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A mark on the gauge: at a fraction of the usable window, or when only so many tokens remain. Never both."""

    level: Level
    fraction: float | None = None
    remaining_tokens: int | None = None

    def __post_init__(self) -> None:
        if (self.fraction is None) == (self.remaining_tokens is None):
            raise InvalidValueError(
                f"Threshold {self.level}: give a fraction or the remaining tokens, one of them."
            )
        if self.fraction is not None and not 0 < self.fraction <= 1:
            raise InvalidValueError(f"Threshold {self.level}: {self.fraction:g} is not between 0 and 1.")
        if self.remaining_tokens is not None and self.remaining_tokens < 1:
            raise InvalidValueError(
                f"Threshold {self.level}: {self.remaining_tokens} remaining tokens is less than 1."
            )

    def at_tokens(self, total_budget: int) -> int:
        """The used tokens from which on it is crossed."""
        if self.fraction is not None:
            return math.ceil(round(self.fraction * total_budget, 6))  # 0.07 * 100 is a little above 7
        return max(0, total_budget - (self.remaining_tokens or 0))

    def crossed(self, metrics: ContextMetrics) -> bool:
        """Whether usage stands at or above the mark; unknown usage crosses nothing."""
        if metrics.total_budget is None or metrics.used_tokens is None:
            return False
        return metrics.used_tokens >= self.at_tokens(metrics.total_budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The four marks."""

    caution: Threshold = Threshold(level=Level.CAUTION, fraction=0.70)
    warning: Threshold = Threshold(level=Level.WARNING, fraction=0.85)
    auto_pause: Threshold = Threshold(level=Level.AUTO_PAUSE, fraction=0.90)
    critical: Threshold = Threshold(level=Level.CRITICAL, fraction=0.95)

    def __post_init__(self) -> None:
        if [threshold.level for threshold in self.in_order] != [*Level][1:]:
            raise InvalidValueError("Thresholds: each mark must be of the level that it is given for.")
        for lower, upper in combinations(self.in_order, 2):
            if _out_of_order(lower, upper):
                raise InvalidValueError(
                    f"Threshold {upper.level} comes before {lower.level}: raise it or lower the other."
                )

    @property
    def in_order(self) -> tuple[Threshold, Threshold, Threshold, Threshold]:
        """From caution to critical."""
        return (self.caution, self.warning, self.auto_pause, self.critical)

    def level(self, metrics: ContextMetrics) -> Level | None:
        """The highest threshold crossed; None when usage is not known."""
        if metrics.total_budget is None or metrics.used_tokens is None:
            return None
        crossed = [threshold.level for threshold in self.in_order if threshold.crossed(metrics)]
        return max(crossed, key=lambda level: level.rank, default=Level.OK)


def _out_of_order(lower: Threshold, upper: Threshold) -> bool:
    """Marks of different measure can only be compared when the window is known, so they are let through."""
    if lower.fraction is not None and upper.fraction is not None:
        return upper.fraction < lower.fraction
    if lower.remaining_tokens is not None and upper.remaining_tokens is not None:
        return upper.remaining_tokens > lower.remaining_tokens
    return False
