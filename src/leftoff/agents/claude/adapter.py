"""Claude Code as leftoff sees it: finds, reads and measures its sessions, and writes invented ones.

Each call is done by a module of its own; here they come together as ``leftoff.model.protocols.Agent``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from leftoff.agents.claude import chain, glance, metering, tail, window
from leftoff.agents.claude.queued import record_of
from leftoff.agents.jsonl import pieces
from leftoff.model.occupancy import AgentWindow, Occupancy
from leftoff.model.records import Place, Record
from leftoff.model.session import LiveChain, Session, SessionEntry

if TYPE_CHECKING:
    from leftoff.model.script import Script


@dataclass(frozen=True, slots=True, kw_only=True)
class Claude:
    """The adapter. ``home`` is what CLAUDE_CONFIG_DIR names; of ``environment`` only ``window.VARIABLES`` are looked at."""

    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The public id."""
        return "claude"

    @property
    def name(self) -> str:
        """What people call it."""
        return "Claude Code"

    def transcripts(self) -> Iterator[Path]:
        """Every session's file under the home."""
        return glance.transcripts(self.home)

    def subagents(self, transcript: Path) -> tuple[Path, ...]:
        """The transcripts of the session's subagents, which have files of their own since 2.0."""
        return glance.subagents(transcript)

    def recognises(self, head: bytes) -> bool:
        """Whether a file that begins so is one of Claude Code's."""
        return glance.recognises(head)

    def entry(self, transcript: Path) -> SessionEntry:
        """What a list shows of it."""
        return glance.entry(transcript, self.id)

    def open(self, transcript: Path) -> Session:
        """The session; its records are read when they are asked for."""
        first = glance.head(transcript)
        last = tail.looked_at(transcript, reach_bytes=0)
        return Session(
            agent=self.id,
            session_id=first.session_id,
            transcript=str(transcript),
            records=_Records(transcript),
            project=first.project,
            model=last.model,
            client_version=last.client_version,
            parent=first.parent,
        )

    def read(self, transcript: Path, after: Place | None = None) -> Iterator[Record]:
        """All records of the file, or those that follow ``after``."""
        return (record_of(transcript, piece) for piece in pieces(transcript, after))

    def live_chain(self, session: Session) -> LiveChain:
        """What the model is sent next."""
        return chain.live_chain(session.records)

    def occupancy(self, transcript: Path) -> Occupancy:
        """How full the window is."""
        return tail.occupancy(transcript)

    def usages(self, transcript: Path) -> Iterator[int]:
        """What stood in the window after each reply."""
        return (metered.usage.occupancy_tokens for metered in metering.usages(transcript))

    def window(self, occupancy: Occupancy, project: str | None) -> AgentWindow:
        """What the window holds and where the client compacts by itself."""
        return window.window(self.home, self.environment, occupancy, project)

    def transcribe(self, script: Script, transcript: Path) -> None:
        """Write an invented session as Claude Code would have."""
        from leftoff.agents.claude import scribe  # noqa: PLC0415 - only samples are written, and rarely

        scribe.transcribe(script, transcript)


@dataclass(frozen=True, slots=True)
class _Records:
    """The records of a file, read anew on each pass."""

    transcript: Path

    def __iter__(self) -> Iterator[Record]:
        return (record_of(self.transcript, piece) for piece in pieces(self.transcript))
