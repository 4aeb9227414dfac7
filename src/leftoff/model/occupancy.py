"""The facts a gauge is made from: what a transcript says about its window, and what the agent is set up to hold."""

from __future__ import annotations

from leftoff.model.context_metrics import WindowBasis
from leftoff.model.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWindow:
    """What an agent, as it is set up here, holds in a session, and where it compacts by itself. None: not known.

    ``compacts_at_tokens`` is None too where automatic compaction is switched off, which ``compaction_basis`` then calls a
    setting.
    """

    window_tokens: int | None
    window_basis: WindowBasis
    compacts_at_tokens: int | None
    compaction_basis: WindowBasis = "table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """The last word of a transcript on how full the window is. None means that it does not say.

    ``used_tokens`` is the occupancy after the last reply of the main conversation (L1, L2), or what the agent says is
    left after a compaction that no reply has followed (L5). ``tail_chars`` is what was added since, counted by nobody
    yet; ``sample_chars`` and ``sample_tokens`` tell how many tokens characters took earlier in this session, so that
    the tail can be estimated with this session's own ratio (L6).
    """

    used_tokens: int | None
    tail_chars: int = 0
    sample_chars: int = 0
    sample_tokens: int = 0
    model: str | None = None  # as asked for: with the suffix that names a larger window, where there is one
    window_tokens: int | None = None  # as the agent reports it
    compacted_at_tokens: int | None = None  # where its last automatic compaction came, if the tail shows it
    client_version: str | None = None
    turn_ends_tokens: tuple[int, ...] = ()  # after each of the last turns, oldest first, since any compaction
