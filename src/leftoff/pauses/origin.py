"""Which session of an agent a pause belongs to, as the pause's first line keeps it.

A pause that somebody drives by hand has none. Lines of the fast path hold type, tool name, ids, byte offset and percentage
only; the words are read from the transcript named here, from ``offset`` on.
"""

from __future__ import annotations

from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """An agent's session. ``offset`` is the transcript's size in bytes when the pause began; None where it is not known."""

    agent: str
    session_id: str
    transcript: str | None = None
    offset: int | None = None
    project: str | None = None  # the folder that it ran in

    def to_dict(self) -> JsonObject:
        """As it stands in the data of a pause's first line."""
        return {
            "agent": self.agent,
            "session_id": self.session_id,
            "transcript": self.transcript,
            "offset": self.offset,
            "project": self.project,
        }


def origin_in(first_data: JsonObject) -> Origin | None:
    """The origin that a pause's first line tells; None where it tells none."""
    match first_data.get("origin"):
        case {"agent": str(agent), "session_id": str(session_id), **rest}:
            transcript, offset, project = (rest.get(name) for name in ("transcript", "offset", "project"))
            return Origin(
                agent=agent,
                session_id=session_id,
                transcript=transcript if isinstance(transcript, str) else None,
                offset=offset if isinstance(offset, int) and offset >= 0 else None,
                project=project if isinstance(project, str) else None,
            )
        case _:
            return None
