"""The envelope of every line that is invented: ids, parents, times, and the fields that all lines share."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from leftoff.model.script import Script
from leftoff.model.wire import JsonObject

VERSION = "2.1.325"
_TICK = timedelta(milliseconds=1)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Pen:
    """Writes the lines of one conversation: the main one, or that of the subagent ``agent_id``."""

    script: Script
    agent_id: str | None = None
    leaf: str | None = None  # what the next line hangs from
    prompt: str | None = None  # id of the prompt that is being answered
    _now: datetime = _BEGINNING
    _ids: int = 0

    def chained(self, kind: str, fields: JsonObject, at: datetime) -> JsonObject:
        """A line of the chain, below the last one; it is the last one from now on."""
        parent, self.leaf = self.leaf, self.new_uuid()
        return {
            "parentUuid": parent,
            "isSidechain": self.agent_id is not None,
            **({"agentId": self.agent_id} if self.agent_id else {}),
            **fields,
            "type": kind,
            "uuid": self.leaf,
            "timestamp": self.stamp(at),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.script.project,
            "sessionId": self.script.session_id,
            "version": VERSION,
            "gitBranch": self.script.branch,
        }

    def beside(self, kind: str, fields: JsonObject) -> JsonObject:
        """A line of the client's bookkeeping."""
        return {"type": kind, **fields, "sessionId": self.script.session_id}

    def stamp(self, at: datetime) -> str:
        """The time of a line: never before that of the line before it."""
        self._now = max(at.astimezone(UTC), self._now + _TICK)
        return self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def new_uuid(self) -> str:
        """The next id, as random as the client's and yet always the same."""
        return str(uuid.UUID(bytes=self._digest()[:16], version=4))

    def new_name(self, prefix: str, characters: int = 24) -> str:
        """The next id of another kind: ``msg_…``, ``toolu_…``."""
        return prefix + self._digest().hex()[:characters]

    def _digest(self) -> bytes:
        self._ids += 1
        whose = f"{self.script.session_id}/{self.agent_id or ''}/{self._ids}"
        return hashlib.sha256(whose.encode()).digest()
