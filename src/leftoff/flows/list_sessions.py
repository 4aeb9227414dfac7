"""The list of sessions with their gauges, and the numbers that stay bound to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from leftoff.flows.agents import agent_called, agents_here
from leftoff.flows.sessions import entries, found_sessions, remember_numbers, sessions_of
from leftoff.flows.settings import settings_here
from leftoff.flows.status import Gauges, Status
from leftoff.model.session import SessionEntry
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.system import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One line of the list."""

    entry: SessionEntry
    status: Status

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        parent = self.entry.parent
        return {
            **self.status.to_dict(),
            "first_prompt": self.entry.first_prompt,
            "size_bytes": self.entry.size_bytes,
            "modified_at": clock.rfc3339(self.entry.modified_at),
            "parent": None
            if parent is None
            else {
                "session_id": parent.session_id,
                "transcript": parent.transcript,
                "derivation": parent.derivation,
            },
        }


def list_sessions(agent_id: str | None, project: Path | None) -> Iterator[Listed]:
    """Newest first; nothing more is read than is asked for."""
    agents = agents_here() if agent_id is None else [agent_called(agent_id)]
    by_id = {agent.id: agent for agent in agents}
    found = found_sessions(agents)
    gauges = Gauges(settings_here())
    for entry in entries(found) if project is None else sessions_of(project, found):
        yield Listed(entry=entry, status=gauges.status(by_id[entry.agent], entry))


def remember(listed: list[Listed]) -> None:
    """Bind the numbers to this list."""
    remember_numbers([each.entry for each in listed])
