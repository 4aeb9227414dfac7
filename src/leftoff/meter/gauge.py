"""From what a transcript says to context metrics: occupancy of the usable window (L1-L6)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime

from leftoff.model.context_metrics import Basis, ContextMetrics, WindowBasis
from leftoff.model.occupancy import AgentWindow, Occupancy
from leftoff.model.values import dataclass

# Measured over 204 real sessions: 2.7 characters to a token (p10 0.308, p90 0.426 tokens per character).
USUAL_TOKENS_PER_CHAR = 0.374
_LOWEST_RATIO, _HIGHEST_RATIO = 0.2, 1.5
_SMALLEST_SAMPLE_CHARS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What percentages are of: ``usable_tokens`` = min(window, where the agent compacts by itself)."""

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
    """The gauge. ``windows`` are the user's own by model; ``observed…`` is where this machine's sessions compacted."""
    window = usable_window(occupancy, agent_window, windows, observed_compaction_tokens)
    used, basis = used_tokens(occupancy)
    return ContextMetrics(
        total_budget=window.usable_tokens,
        used_tokens=used,
        stop_reason=stop_reason,
        model=occupancy.model or "unknown",
        timestamp=at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        window_tokens=window.window_tokens,
        basis=basis,
        window_basis=window.basis,
    )


def used_tokens(occupancy: Occupancy) -> tuple[int | None, Basis]:
    """What stands in the window: the last reply's own number, and an estimate of what was added since."""
    if occupancy.used_tokens is None:
        return None, "unknown"
    if occupancy.tail_chars == 0:
        return occupancy.used_tokens, "reported"
    return occupancy.used_tokens + math.ceil(occupancy.tail_chars * tokens_per_char(occupancy)), "estimated"


def tokens_per_char(occupancy: Occupancy) -> float:
    """This session's own ratio where it shows one that can be true, else the usual one."""
    if occupancy.sample_chars < _SMALLEST_SAMPLE_CHARS:
        return USUAL_TOKENS_PER_CHAR
    ratio = occupancy.sample_tokens / occupancy.sample_chars
    return ratio if _LOWEST_RATIO <= ratio <= _HIGHEST_RATIO else USUAL_TOKENS_PER_CHAR


def usable_window(
    occupancy: Occupancy, agent_window: AgentWindow, windows: Mapping[str, int], observed: int | None
) -> Window:
    """The user's own number first, then what the agent says; cut where the agent compacts by itself."""
    own = windows.get(occupancy.model or "")
    tokens = own if own is not None else agent_window.window_tokens
    basis: WindowBasis = "setting" if own is not None else agent_window.window_basis
    if tokens is None:
        return Window(window_tokens=None, usable_tokens=None, basis="unknown")
    point = _compaction_point(agent_window, observed)
    if own is not None and agent_window.compaction_basis == "table":
        point = _moved(point, agent_window.window_tokens, own)
    usable = tokens if point is None else min(tokens, point)
    return Window(window_tokens=tokens, usable_tokens=usable, basis=basis)


def _compaction_point(agent_window: AgentWindow, observed: int | None) -> int | None:
    """What somebody set stands above what was seen, and that above the table."""
    if agent_window.compaction_basis == "setting" or observed is None:
        return agent_window.compacts_at_tokens
    return observed


def _moved(point: int | None, table: int | None, own: int) -> int | None:
    """The table's point in a window of another size: the same headroom or the same share, whichever comes first."""
    if point is None or table is None or point > table:
        return point
    return max(1, min(own - (table - point), own * point // table))
