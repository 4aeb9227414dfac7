"""What the first prompt of a session costs: by the user's own prices, else by the agent's dated table; never guessed."""

from __future__ import annotations

from collections.abc import Mapping

from leftoff.agents.registry import agent_by_id
from leftoff.core.prices import Price, dollars
from leftoff.core.protocols import Agent, HasPrices
from leftoff.sessions.status import Status


def find_price(agent: Agent, model: str | None, own: Mapping[str, float]) -> Price | None:
    """Return the price of a model; None if neither the user nor the agent's table names it.

    ``own`` are the user's prices: a name that ends with ``*`` stands for all models that begin so, and the longest that fits counts.
    """
    if model is None:
        return None
    if model in own:
        return Price(own[model])
    fitting = [name for name in own if name.endswith("*") and model.startswith(name[:-1])]
    if fitting:
        return Price(own[max(fitting, key=len)])
    return agent.price(model) if isinstance(agent, HasPrices) else None


def first_prompt_line(status: Status, own: Mapping[str, float]) -> str:
    """Say what the first prompt of a session costs if no cache holds it; empty if that is not known."""
    price = find_price(agent_by_id(status.agent), status.model, own)
    tokens = status.metrics.used_tokens
    if price is None or tokens is None:
        return ""
    return f"First prompt: about {dollars(price.of(tokens))} if the prompt cache is cold."
