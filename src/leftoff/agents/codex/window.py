"""What Codex holds in a session: what it reports itself, else its ``config.toml``, else the dated table.

Two numbers go by the name of window: the raw one, which ``model_context_window`` sets, and 95 % of it, which Codex reports
in its rollouts under the same name. Ours is the one it reports, so that all sources can be compared. It compacts by
itself at 90 % of the raw one; ``model_auto_compact_token_limit`` can only lower that.
"""

from __future__ import annotations

from pathlib import Path

from leftoff.agents.codex import configuration
from leftoff.agents.codex.known import known
from leftoff.agents.fields import count, text
from leftoff.model.context_metrics import WindowBasis
from leftoff.model.occupancy import AgentWindow, Occupancy
from leftoff.model.wire import JsonObject


def window(home: Path, occupancy: Occupancy) -> AgentWindow:
    """The window of the session that the occupancy is of."""
    settings = configuration.settings(home)
    raw_tokens, basis = _raw_window(settings, occupancy)
    limit = count(settings, "model_auto_compact_token_limit") or None
    point = raw_tokens * known().compacts_at_percent // 100 if raw_tokens else None
    is_lowered = limit is not None and (point is None or limit < point)
    reported = _reported(raw_tokens) if raw_tokens else None
    return AgentWindow(
        window_tokens=occupancy.window_tokens or reported,
        window_basis=basis,
        compacts_at_tokens=limit if is_lowered else point,
        compaction_basis="setting" if is_lowered else "table" if point else "unknown",
    )


def _raw_window(settings: JsonObject, occupancy: Occupancy) -> tuple[int | None, WindowBasis]:
    if occupancy.window_tokens:
        return _raw(occupancy.window_tokens), "reported"
    if set_up := count(settings, "model_context_window"):
        return set_up, "setting"
    model = occupancy.model or text(settings, "model")
    if model is None:
        return None, "unknown"
    assumed = known().raw_window(model)
    used_tokens = occupancy.used_tokens or 0
    if used_tokens <= _reported(assumed):
        return assumed, "table"
    return min(
        (size for size in known().sizes if _reported(size) >= used_tokens), default=used_tokens
    ), "observed"


def _reported(raw_tokens: int) -> int:
    return raw_tokens * known().reported_percent // 100


def _raw(reported_tokens: int) -> int:
    """The raw window behind a reported one. In 2025 Codex reported the raw one itself."""
    if reported_tokens in known().sizes:
        return reported_tokens
    return reported_tokens * 100 // known().reported_percent
