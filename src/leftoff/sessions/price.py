"""What the first prompt of a session costs: by the user's own prices, else by the agent's dated table; never guessed."""

from __future__ import annotations

from collections.abc import Mapping

from leftoff.core.prices import Price
from leftoff.core.protocols import Agent, HasPrices


def find_price(agent: Agent, model: str | None, own: Mapping[str, float]) -> Price | None:
    """Return the price of a model; None if neither the user nor the agent's table names it. ``own`` are the user's prices."""
    if model is None:
        return None
    if model in own:
        return Price(own[model])
    return agent.price(model) if isinstance(agent, HasPrices) else None
