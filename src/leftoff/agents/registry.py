"""Loads the agents that are installed, built in or as plugins, and finds the one that wrote a transcript."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from leftoff.agents.jsonl import open_transcript
from leftoff.errors import NotFoundError, PluginError, TranscriptError, UsageError
from leftoff.plugins import BUILT_IN, make, make_all

if TYPE_CHECKING:
    from leftoff.core.protocols import Agent

_HEAD_BYTES = 160 * 1024  # one block of a compressed transcript may take 128 KB


def load_agents() -> list[Agent]:
    """Load every agent; one that cannot be loaded is left out, and reported by ``leftoff doctor``."""
    return [*_agents()]


def _agents() -> Iterator[Agent]:
    """Load the agents one by one, so that the others are not imported once the right one is found."""
    return (agent for agent in make_all("agents") if not isinstance(agent, PluginError))


def agent_by_id(agent_id: str) -> Agent:
    """Return the agent with that public id."""
    if agent_id in BUILT_IN["agents"]:
        agent: Agent = make("agents", agent_id)
        return agent
    for agent in _agents():
        if agent.id == agent_id:
            return agent
    known = ", ".join(agent.id for agent in load_agents())
    raise NotFoundError(f"No agent is called {agent_id!r}. There are: {known}.")


def agent_from_argument(agent_id: str) -> Agent:
    """Return the agent with an id that the user typed: a wrong one is a usage error."""
    try:
        return agent_by_id(agent_id)
    except NotFoundError as error:
        raise UsageError(error.message) from error


def agent_of(transcript: Path) -> Agent:
    """Return the agent that wrote the file: the first that recognises its head."""
    with open_transcript(transcript) as file:
        head = file.read(_HEAD_BYTES)
    for agent in _agents():
        if agent.recognises(head):
            return agent
    known = ", ".join(agent.name for agent in load_agents())
    what = "is empty" if not head else "is not a transcript that leftoff knows"
    raise TranscriptError(f"{transcript}: {what}. It reads those of: {known}.", path=transcript)
