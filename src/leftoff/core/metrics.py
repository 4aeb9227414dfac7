"""How full the context window is: occupancy, context metrics, levels and thresholds.

An adapter reads an ``Occupancy`` from the end of a transcript and an ``AgentWindow`` from the agent's settings; ``measure``
turns them into ``ContextMetrics``, whose percentages refer to the usable window."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import combinations
from typing import Any, Literal, NamedTuple

from leftoff.core.wire import replace_surrogates
from leftoff.errors import InvalidValueError

Basis = Literal["reported", "estimated", "unknown"]
WindowBasis = Literal["setting", "reported", "observed", "table", "unknown"]
_MOST_TOKENS = 10**12
# Measured over 204 real sessions: 2.7 characters to a token (p10 0.308, p90 0.426 tokens per character).
USUAL_TOKENS_PER_CHAR = 0.374
_LOWEST_RATIO, _HIGHEST_RATIO = 0.2, 1.5
_SMALLEST_SAMPLE_CHARS = 2000


class Level(StrEnum):
    """The highest threshold crossed, or ``ok``; ordered from harmless to urgent."""

    OK = "ok"
    CAUTION = "caution"
    WARNING = "warning"
    AUTO_PAUSE = "auto_pause"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """The position in the order: 0 for ok, 4 for critical."""
        return _RANKS[self]


_RANKS = {level: rank for rank, level in enumerate(Level)}
# The only place with the default thresholds, as fractions of the usable window.
DEFAULT_FRACTIONS: Mapping[Level, float] = {
    Level.CAUTION: 0.70,
    Level.WARNING: 0.85,
    Level.AUTO_PAUSE: 0.90,
    Level.CRITICAL: 0.95,
}


@dataclass(frozen=True, slots=True)
class ContextMetrics:
    """The tokens used of the usable window. None means not known.

    Derived fields are computed if they are left out, and rejected if they contradict the others. ``percentage_used`` can
    exceed 100; ``remaining_tokens`` is never below 0. Without a ``timestamp`` the current time is used: the one place in
    core that reads the clock.
    """

    total_budget: int | None  # the usable window
    used_tokens: int | None
    percentage_used: float | None = None
    remaining_tokens: int | None = None
    stop_reason: str = "end_turn"
    model: str = "claude-sonnet-4.5"
    timestamp: str = ""
    window_tokens: int | None = None  # the size of the model's window
    basis: Basis = "reported"
    window_basis: WindowBasis = "unknown"

    def __post_init__(self) -> None:
        _require_number("percentage_used", self.percentage_used, most=100 * _MOST_TOKENS)
        for name in ("total_budget", "used_tokens", "remaining_tokens", "window_tokens"):
            _require_number(name, getattr(self, name), most=_MOST_TOKENS)
        for name in ("stop_reason", "model", "timestamp", "basis", "window_basis"):
            object.__setattr__(self, name, _require_text(name, getattr(self, name)))
        if self.total_budget == 0:
            raise InvalidValueError(
                "total_budget is 0: a window holds at least one token, or is None when not known."
            )
        percentage, remaining = self._derive()
        _refuse_contradiction("percentage_used", self.percentage_used, percentage, tolerance=0.5)
        _refuse_contradiction("remaining_tokens", self.remaining_tokens, remaining, tolerance=0)
        if self.percentage_used is None:
            object.__setattr__(self, "percentage_used", percentage)
        if self.remaining_tokens is None:
            object.__setattr__(self, "remaining_tokens", remaining)
        if self.used_tokens is None:
            object.__setattr__(self, "basis", "unknown")
        if not self.timestamp:
            object.__setattr__(self, "timestamp", _rfc3339(datetime.now(UTC)))  # noqa: TID251 - see above

    def _derive(self) -> tuple[float | None, int | None]:
        if self.total_budget is None or self.used_tokens is None:
            return None, None
        return self.used_tokens / self.total_budget * 100, max(0, self.total_budget - self.used_tokens)

    @property
    def used_fraction(self) -> float | None:
        """``percentage_used`` as a fraction."""
        return None if self.percentage_used is None else self.percentage_used / 100

    @property
    def shown_percentage(self) -> float | None:
        """``percentage_used`` as every screen shows it; whole numbers on a narrow screen are the same, cut off."""
        return None if self.percentage_used is None else shown_percentage(self.percentage_used)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {name: getattr(self, name) for name in _FIELDS}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ContextMetrics:
        """Read the JSON form; null counts as missing and unknown keys are ignored."""
        if not isinstance(data, Mapping):
            raise InvalidValueError(f"Context metrics are {data!r:.60}: a mapping was expected.")
        known = {name: data[name] for name in _FIELDS if data.get(name) is not None}
        return cls(**({"total_budget": None, "used_tokens": None} | known))


_FIELDS: tuple[str, ...] = ContextMetrics.__slots__


def shown_percentage(percentage: float) -> float:
    """Return a percentage with one decimal, rounded down: 89.97 must not look like a threshold that is not crossed yet."""
    return math.floor(round(percentage * 10, 6)) / 10  # 0.29 * 1000 is slightly less than 290


def whole_percentage(fraction: float) -> int:
    """Return a fraction as a percentage, rounded down like ``shown_percentage``, for narrow places."""
    return int(shown_percentage(fraction * 100))


def _require_number(name: str, value: object, *, most: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValueError(f"{name} is {value!r}: a number, or None when not known.")
    if not 0 <= value < math.inf:
        raise InvalidValueError(f"{name} is {value}: tokens and percentages are never negative.")
    if value > most:
        raise InvalidValueError(f"{name} is above {most:,}: no window is that large.")


def _require_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValueError(f"{name} is {value!r}: text was expected.")
    return replace_surrogates(value)


def _refuse_contradiction(
    name: str, given: float | None, computed: float | None, *, tolerance: float
) -> None:
    if given is not None and computed is not None and abs(given - computed) > tolerance:
        raise InvalidValueError(
            f"{name} is {given:g}, but used_tokens and total_budget make it {computed:g}. Leave it out to have it computed."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Where a level begins: at a fraction of the usable window, or when only so many tokens remain. Never both."""

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
        """Return the number of used tokens at which the threshold is crossed."""
        if self.fraction is not None:
            return math.ceil(round(self.fraction * total_budget, 6))  # 0.07 * 100 is slightly more than 7
        return max(0, total_budget - (self.remaining_tokens or 0))

    def crossed(self, metrics: ContextMetrics) -> bool:
        """Return whether usage has reached the threshold; unknown usage has not."""
        if metrics.total_budget is None or metrics.used_tokens is None:
            return False
        return metrics.used_tokens >= self.at_tokens(metrics.total_budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The four thresholds."""

    caution: Threshold = Threshold(level=Level.CAUTION, fraction=DEFAULT_FRACTIONS[Level.CAUTION])
    warning: Threshold = Threshold(level=Level.WARNING, fraction=DEFAULT_FRACTIONS[Level.WARNING])
    auto_pause: Threshold = Threshold(level=Level.AUTO_PAUSE, fraction=DEFAULT_FRACTIONS[Level.AUTO_PAUSE])
    critical: Threshold = Threshold(level=Level.CRITICAL, fraction=DEFAULT_FRACTIONS[Level.CRITICAL])

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
        """The thresholds from caution to critical."""
        return (self.caution, self.warning, self.auto_pause, self.critical)

    def level(self, metrics: ContextMetrics) -> Level | None:
        """Return the highest threshold crossed; None if usage is not known."""
        if metrics.total_budget is None or metrics.used_tokens is None:
            return None
        crossed = [threshold.level for threshold in self.in_order if threshold.crossed(metrics)]
        return max(crossed, key=lambda level: level.rank, default=Level.OK)


def _out_of_order(lower: Threshold, upper: Threshold) -> bool:
    """Return whether two thresholds contradict each other; a fraction and a token count cannot be compared here."""
    if lower.fraction is not None and upper.fraction is not None:
        return upper.fraction < lower.fraction
    if lower.remaining_tokens is not None and upper.remaining_tokens is not None:
        return upper.remaining_tokens > lower.remaining_tokens
    return False


class AgentWindow(NamedTuple):
    """The window of an agent as it is set up on this machine, and where it compacts automatically. None means not known.

    ``compacts_at_tokens`` is also None if automatic compaction is switched off; ``compaction_basis`` is then ``setting``.
    ``baseline_tokens`` is what the agent usually sends besides the conversation: its instructions and tools.
    """

    window_tokens: int | None
    window_basis: WindowBasis
    compacts_at_tokens: int | None
    compaction_basis: WindowBasis = "table"
    baseline_tokens: int | None = None
    tokens_per_char: float = USUAL_TOKENS_PER_CHAR  # of the agent's models


class Occupancy(NamedTuple):
    """What the end of a transcript says about how full the window is. None means that it does not say.

    ``used_tokens`` is the occupancy after the last reply of the main conversation, or after a later compaction what the
    agent says is left. ``tail_chars`` counts the characters added since, whose tokens no reply has reported yet; where
    ``used_tokens`` is ``None``, all characters that are sent next. They are estimated with the session's own ratio of
    ``sample_tokens`` to ``sample_chars``.
    """

    used_tokens: int | None
    tail_chars: int = 0
    sample_chars: int = 0
    sample_tokens: int = 0
    model: str | None = None  # as requested, with the suffix for a larger window if it has one
    window_tokens: int | None = None  # as the agent reports it
    compacted_at_tokens: int | None = None  # the usage at the last automatic compaction, if that is found
    client_version: str | None = None
    baseline_tokens: int | None = None  # sent besides the conversation; of a session that leftoff began
    turn_ends_tokens: tuple[int, ...] = ()  # after each of the last turns, oldest first, since any compaction


class Window(NamedTuple):
    """The window and its usable part: the smaller of the window and the point of automatic compaction."""

    window_tokens: int | None
    usable_tokens: int | None
    basis: WindowBasis


def measure(
    occupancy: Occupancy,
    agent_window: AgentWindow,
    *,
    windows: Mapping[str, int],
    observed_compaction_tokens: int | None,
    at: datetime,
    stop_reason: str = "end_turn",
) -> ContextMetrics:
    """Combine what is known into context metrics.

    ``windows`` are the user's own window sizes by model; ``observed_compaction_tokens`` is where sessions on this machine
    were compacted.
    """
    window = usable_window(occupancy, agent_window, windows, observed_compaction_tokens)
    used, basis = used_tokens(occupancy, agent_window)
    return ContextMetrics(
        total_budget=window.usable_tokens,
        used_tokens=used,
        stop_reason=stop_reason,
        model=occupancy.model or "unknown",
        timestamp=_rfc3339(at),
        window_tokens=window.window_tokens,
        basis=basis,
        window_basis=window.basis,
    )


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def used_tokens(occupancy: Occupancy, agent_window: AgentWindow) -> tuple[int | None, Basis]:
    """Return the tokens in the window: those reported by the last reply plus an estimate of what was added since.

    Before the first reply of a fresh session that says what is sent besides its messages, everything is an estimate.
    """
    tail = math.ceil(occupancy.tail_chars * _tokens_per_char(occupancy, agent_window.tokens_per_char))
    if occupancy.used_tokens is not None:
        return occupancy.used_tokens + tail, "estimated" if tail else "reported"
    if occupancy.baseline_tokens is None:
        return None, "unknown"
    return occupancy.baseline_tokens + tail, "estimated"


def _tokens_per_char(occupancy: Occupancy, usual: float) -> float:
    """Return the session's own ratio if it is plausible, else the usual one."""
    if occupancy.sample_chars < _SMALLEST_SAMPLE_CHARS:
        return usual
    ratio = occupancy.sample_tokens / occupancy.sample_chars
    return ratio if _LOWEST_RATIO <= ratio <= _HIGHEST_RATIO else usual


def usable_window(
    occupancy: Occupancy, agent_window: AgentWindow, windows: Mapping[str, int], observed: int | None
) -> Window:
    """Return the window from the user's settings, else from the agent, limited by automatic compaction."""
    own = windows.get(occupancy.model or "")
    tokens = own if own is not None else agent_window.window_tokens
    basis: WindowBasis = "setting" if own is not None else agent_window.window_basis
    if tokens is None:
        return Window(window_tokens=None, usable_tokens=None, basis="unknown")
    point = _compaction_point(agent_window, own, observed)
    usable = tokens if point is None else min(tokens, point)
    return Window(window_tokens=tokens, usable_tokens=usable, basis=basis)


def _compaction_point(agent_window: AgentWindow, own: int | None, observed: int | None) -> int | None:
    """Return the point of automatic compaction: a setting wins over an observation, which wins over the table.

    An observation of less than half of what the table says for this window is of another window: the session has changed its
    model since. ``own`` is the user's own size of the window.
    """
    table = agent_window.compacts_at_tokens
    if agent_window.compaction_basis == "setting":
        return table
    if own is not None:
        table = _scale_compaction_point(table, agent_window.window_tokens, own)
    if observed is None:
        return table
    return table if table is not None and observed < table / 2 else observed


def _scale_compaction_point(point: int | None, table: int | None, own: int) -> int | None:
    """Return the table's point for a window of another size: same headroom or same share, whichever is lower."""
    if point is None or table is None or point > table:
        return point
    return max(1, min(own - (table - point), own * point // table))


class StatusInput(NamedTuple):
    """What an agent passes to its status line command. None means that the agent does not say."""

    session_id: str
    transcript: str | None
    folder: str | None
    window_tokens: int | None
