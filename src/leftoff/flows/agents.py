"""The agents there are, and which of them wrote a given file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from leftoff import plugins
from leftoff.agents.jsonl import opened
from leftoff.errors import NotFoundError, PluginError, TranscriptError, UsageError

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from leftoff.model.protocols import Agent

_HEAD_BYTES = (
    160 * 1024
)  # of a compressed transcript, so much that text can come out: a block of it may take 128 KB


def agents_here() -> list[Agent]:
    """Every agent that can be loaded; those that cannot are doctor's business."""
    return [*_agents()]


def _agents() -> Iterator[Agent]:
    """The same one by one, so that who finds the right one early does not load the rest."""
    return (made for made in plugins.make_all("agents") if not isinstance(made, PluginError))


def agent_called(agent_id: str) -> Agent:
    """The agent of that public id."""
    for agent in _agents():
        if agent.id == agent_id:
            return agent
    known = ", ".join(agent.id for agent in agents_here())
    raise NotFoundError(f"No agent is called {agent_id!r}. There are: {known}.")


def agent_typed(agent_id: str) -> Agent:
    """The same for an id that somebody typed: a wrong one is wrong usage, because nothing was looked for."""
    try:
        return agent_called(agent_id)
    except NotFoundError as error:
        raise UsageError(error.message) from error


def agent_of(transcript: Path) -> Agent:
    """The agent that wrote the file: the first that recognises its head."""
    with opened(transcript) as file:
        head = file.read(_HEAD_BYTES)
    for agent in _agents():
        if agent.recognises(head):
            return agent
    known = ", ".join(agent.name for agent in agents_here())
    what = "is empty" if not head else "is no transcript that leftoff knows"
    raise TranscriptError(f"{transcript}: {what}. It reads those of: {known}.", path=transcript)
