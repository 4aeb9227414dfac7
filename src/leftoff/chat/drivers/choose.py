"""From what the user types to an agent: an address, an agent file, or the id of a registered agent that can run headless."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leftoff.chat.drivers import loading
from leftoff.chat.drivers.endpoint import Api, Endpoint, address
from leftoff.chat.drivers.headless import HeadlessAgent
from leftoff.chat.drivers.python_agent import PythonAgent
from leftoff.errors import NotFoundError, UsageError
from leftoff.flows.agents import agents_here
from leftoff.flows.chat_agent import ChatAgent
from leftoff.model.protocols import CanRunHeadless


def agent_named(
    words: str, *, model: str | None = None, api: Api | None = None, key_variable: str | None = None
) -> ChatAgent:
    """The agent that ``words`` name."""
    if "://" in words:
        return Endpoint(address(words, model, api, key_variable))
    file, colon, attribute = words.rpartition(":")
    if colon and file.endswith(".py"):
        return loading.load(Path(file), attribute)
    if words.endswith(".py") or Path(words).is_file():
        return loading.load(Path(words))
    if (Path(words) / "agent.py").is_file():
        return loading.load(Path(words) / "agent.py")
    return _registered(words)


def agent_from(agent: Any, *, name: str | None = None, path: str = "") -> ChatAgent:
    """An agent that is at hand already: one of ours, or an object of any framework."""
    if all(hasattr(agent, part) for part in ("ask", "reset", "name", "path")):
        return agent  # type: ignore[no-any-return]
    where = path or f"{type(agent).__module__}.{getattr(agent, '__qualname__', type(agent).__qualname__)}"
    return PythonAgent(agent, name=name or loading.name_of(agent, Path(f"{_name(agent)}.py")), path=where)


def _registered(agent_id: str) -> ChatAgent:
    able = [agent for agent in agents_here() if isinstance(agent, CanRunHeadless)]
    for agent in able:
        if agent.id == agent_id:
            return HeadlessAgent(agent.headless_command(), name=agent.name, path=agent.id)
    if any(agent.id == agent_id for agent in agents_here()):
        raise UsageError(
            f"{agent_id} cannot answer without its own terminal. Name another, or an agent file."
        )
    known = ", ".join(agent.id for agent in able)
    raise NotFoundError(
        f"{agent_id}: no such agent file, and no agent of that name. There are: {known}; or an address with https://."
    )


def _name(agent: Any) -> str:
    return str(getattr(agent, "__name__", type(agent).__name__)).strip("_<>") or "agent"
