"""Codex as an agent: joins the parts of this folder to what ``leftoff.model.protocols.Agent`` asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from leftoff.agents import jsonl
from leftoff.agents.codex import chain, finding, forks, glance, metering, tail, window
from leftoff.agents.codex.compressed import readable
from leftoff.agents.codex.reading import record
from leftoff.model.occupancy import AgentWindow, Occupancy
from leftoff.model.records import Place, Record
from leftoff.model.session import LiveChain, Session, SessionEntry

if TYPE_CHECKING:
    from leftoff.model.script import Script

_NOTHING: Mapping[str, str] = {}
_HEADS = (
    re.compile(rb'\s*\{[^{}]*"type": ?"session_meta"'),
    re.compile(rb'\s*\{"id": ?"[^"]*", ?"timestamp": ?"[^"]*", ?"instructions":'),  # until August 2025
)


class Codex:
    """Codex, with its home folder; ``CODEX_HOME`` in the environment names another."""

    id = "codex"
    name = "Codex"

    def __init__(self, home: Path, environment: Mapping[str, str] = _NOTHING) -> None:
        named = environment.get("CODEX_HOME")
        self.home = Path(named) if named else home

    def transcripts(self) -> Iterator[Path]:
        """The rollouts of all threads, archived ones too; subagents' left out."""
        return finding.transcripts(self.home)

    def recognises(self, head: bytes) -> bool:
        """Whether a file that begins so is a rollout."""
        return any(known.match(head) for known in _HEADS)

    def entry(self, transcript: Path) -> SessionEntry:
        """What a list shows of it, from head and tail alone."""
        return glance.entry(transcript, self.home, self.id)

    def open(self, transcript: Path) -> Session:
        """The session: a fork with what it inherits, as far as that is there."""
        segments = forks.lineage(transcript, self.home)
        own = segments[-1]
        begins = glance.head(own)
        return Session(
            agent=self.id,
            session_id=own.meta.session_id,
            transcript=str(transcript),
            records=_Records(segments=segments),
            project=begins.project,
            model=begins.model,
            client_version=own.meta.client_version,
            parent=glance.parent(segments),
        )

    def read(self, transcript: Path, after: Place | None = None) -> Iterator[Record]:
        """All records of the one file, or those that follow the one at ``after``."""
        return map(record, jsonl.pieces(readable(transcript), after))

    def live_chain(self, session: Session) -> LiveChain:
        """What the model is sent next."""
        return chain.live_chain(session.records)

    def occupancy(self, transcript: Path) -> Occupancy:
        """How full the window is, from the tail of the rollout."""
        return tail.occupancy(transcript, self.home)

    def usages(self, transcript: Path) -> Iterator[int]:
        """What stood in the window after each reply; two lines may say it, one after the other."""
        said = (metered.reading for metered in metering.readings(readable(transcript)))
        real = (reading.used_tokens for reading in said if reading.used_tokens and not reading.is_estimate)
        return (tokens for tokens, _ in groupby(real))

    def window(self, occupancy: Occupancy, project: str | None) -> AgentWindow:  # noqa: ARG002 - the same everywhere
        """What it holds in such a session: as it reports itself, else ``config.toml``, else the dated table."""
        return window.window(self.home, occupancy)

    def transcribe(self, script: Script, transcript: Path) -> None:
        """Write an invented session as Codex 0.166 would have."""
        from leftoff.agents.codex import scribe  # noqa: PLC0415 - only samples are written, and rarely

        scribe.transcribe(script, transcript)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Records:
    """The records of a session, read anew at each pass."""

    segments: tuple[forks.Segment, ...]

    def __iter__(self) -> Iterator[Record]:
        return map(record, forks.oldest_first(self.segments))
