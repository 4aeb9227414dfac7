"""The adapter for Codex: joins the modules of this folder to the protocols in ``leftoff.core.protocols``.

Methods import what most commands do not need.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leftoff.agents import jsonl
from leftoff.agents.base import CallsHooks, JsonlAgent, StartsFromCommandLine
from leftoff.agents.codex.versions import ROLLED_BACK
from leftoff.core.records import Place, Record, Text
from leftoff.core.session import Session, strip_leftoff_text
from leftoff.platform import zstd

if TYPE_CHECKING:
    from leftoff.agents.codex.events import CodexEvents
    from leftoff.agents.codex.hooks import CodexHooks
    from leftoff.agents.command_line import CommandLine
    from leftoff.agents.jsonl import Piece
    from leftoff.core.actions import Action, Answer
    from leftoff.core.metrics import AgentWindow, Occupancy
    from leftoff.core.records import ToolResult, ToolUse
    from leftoff.core.session import LiveChain, SessionEntry
    from leftoff.core.trim_plan import (
        Change,
        Copy,
        CopyOrder,
        CutPart,
        FreshOrder,
        Invariant,
        LivePieces,
        RemovedContent,
    )
    from leftoff.core.wire import JsonValue

_HEADS = (
    re.compile(rb'\s*\{[^{}]*"type": ?"session_meta"'),
    re.compile(rb'\s*\{"id": ?"[^"]*", ?"timestamp": ?"[^"]*", ?"instructions":'),  # until August 2025
)


class Codex(JsonlAgent, StartsFromCommandLine, CallsHooks):
    """Codex. ``CODEX_HOME`` in the environment takes precedence over ``home``."""

    id = "codex"
    name = "Codex"

    def __init__(self, home: Path, environment: Mapping[str, str] | None = None) -> None:
        from_environment = (environment or {}).get("CODEX_HOME")
        super().__init__(Path(from_environment) if from_environment else home)

    # Reading

    def transcripts(self) -> Iterator[Path]:
        """Find the rollouts of all threads, archived ones too; without those of subagents."""
        from leftoff.agents.codex import rollouts

        return rollouts.transcripts(self.home)

    def recognises(self, head: bytes) -> bool:
        """Say whether a file that begins with these bytes is a rollout, compressed or not."""
        from leftoff.agents.codex import rollouts

        text = rollouts.decompress_head(head) if head.startswith(zstd.MAGIC) else head
        # A file that cannot be decompressed is taken for a rollout: opening it says what to install.
        return text is None or any(known.match(text) for known in _HEADS)

    def record(self, piece: Piece) -> Record:
        """Turn one piece of a rollout into a record."""
        from leftoff.agents.codex.records import read_record

        return read_record(piece)

    def read(self, transcript: Path, after: Place | None = None) -> Iterator[Record]:
        """Read all records of this one file, or those that follow ``after``."""
        from leftoff.agents.codex import rollouts
        from leftoff.agents.codex.records import is_plain_event, read_record

        return map(read_record, jsonl.pieces(rollouts.readable(transcript), after, unparsed=is_plain_event))

    def entry(self, transcript: Path) -> SessionEntry:
        """Return what a list shows of the session, from the head and tail of its rollout."""
        from leftoff.agents.codex import listing, rollouts, usage

        with rollouts.open_rollout(transcript) as lines:
            segments = rollouts.lineage_of(lines, self.home)
            head = listing.read_head(lines, segments)
            occupancy = usage.read_tail(lines, segments, with_history=False)
        return self._new_entry(transcript, lines.stat, head, occupancy)

    def open(self, transcript: Path) -> Session:
        """Return the session: a fork includes what it inherits, as far as that can be found."""
        from leftoff.agents.codex import listing, rollouts

        with rollouts.open_rollout(transcript) as lines:
            segments = rollouts.lineage_of(lines, self.home)
            head = listing.read_head(lines, segments)
        return Session(
            agent=self.id,
            session_id=head.session_id,
            transcript=str(transcript),
            records=rollouts.RecordsOfSegments(segments, self.home),
            project=head.project,
            model=head.model,
            client_version=segments[-1].meta.client_version,
            parent=head.parent,
        )

    def occupancy(self, transcript: Path) -> Occupancy:
        """Return how full the context window is, from the tail of the rollout."""
        from leftoff.agents.codex import usage

        return usage.occupancy(transcript, self.home)

    def occupancy_at(self, transcript: Path, end_bytes: int) -> Occupancy:
        """Return how full the window was when the rollout ended at that byte."""
        from leftoff.agents.codex import rollouts, usage

        with rollouts.open_rollout(transcript) as lines:
            segments = rollouts.lineage_of(lines, self.home)
            lines.end_bytes = end_bytes
            return usage.read_tail(lines, segments, with_history=False)

    def live_chain(self, session: Session) -> LiveChain:
        """Return what the model is sent next."""
        from leftoff.agents.codex import chain

        return chain.live_chain(session.records)

    def rewound(self, record: Record) -> int | str | None:
        """Return how many turns a rollback removes."""
        if record.type != ROLLED_BACK:
            return None
        from leftoff.agents.codex import chain

        return chain.turns_rolled_back(record)

    def window(self, occupancy: Occupancy, project: str | None) -> AgentWindow:  # noqa: ARG002 - the same in all projects
        """Return the size of the context window and where Codex compacts."""
        from leftoff.agents.codex import usage

        return usage.window(self.home, occupancy)

    def typed(self, record: Record) -> str:
        """Return what the user typed in a prompt."""
        from leftoff.agents.codex import items

        texts = [block for block in record.blocks if isinstance(block, Text) and items.is_typed(block)]
        return "\n".join(strip_leftoff_text(block.text).strip() for block in texts)

    def actions(self, use: ToolUse) -> tuple[Action, ...]:
        """Return what a tool call does."""
        from leftoff.agents.codex import tools

        return tools.actions(use)

    def answer(self, use: ToolUse, result: ToolResult) -> Answer:
        """Return what came back from a tool call."""
        from leftoff.agents.codex import tools

        return tools.answer(use, result)

    # Starting Codex, and hooks

    @property
    def command_line(self) -> CommandLine:
        """How Codex is started."""
        from leftoff.agents.codex import launch

        return launch.COMMAND_LINE

    @property
    def events(self) -> CodexEvents:
        """The events at which Codex calls its hooks."""
        from leftoff.agents.codex.events import CodexEvents

        return CodexEvents()

    @property
    def hooks(self) -> CodexHooks:
        """The hooks of Codex and their file."""
        from leftoff.agents.codex.hooks import CodexHooks

        return CodexHooks(self.home)

    # Copies

    @property
    def invariants(self) -> tuple[Invariant, ...]:
        """What must hold in a copy, beyond what holds for every agent."""
        from leftoff.agents.codex import copy_checks

        return copy_checks.INVARIANTS

    def refusal(self, session: Session) -> str | None:
        """Say why a copy might not be resumable; None if it is."""
        from leftoff.agents.codex import copy_checks

        return copy_checks.refusal(session)

    def live_pieces(self, session: Session, *, at_least_chars: int, head: int, tail: int) -> LivePieces:
        """Return the live content that could be cut."""
        from leftoff.agents.codex import shrinkable

        occupancy = self.occupancy(Path(session.transcript))
        window = self.window(occupancy, session.project)
        return shrinkable.live_pieces(
            session, occupancy, window, at_least_chars=at_least_chars, head=head, tail=tail
        )

    def original(self, record: Record, part: CutPart, call_id: str | None) -> JsonValue:
        """Return the JSON value of one piece of a record."""
        from leftoff.agents import collector
        from leftoff.agents.codex import shrinkable

        return collector.original_value(record, lambda line: shrinkable.value_of(line, part, call_id))

    def left_out(self, session: Session, ancestors: Sequence[Path]) -> RemovedContent:
        """Find what events showed and earlier cuts removed; thinking is never cut here."""
        from leftoff.agents.codex import shrinkable

        return shrinkable.removed_content(self.home, session, ancestors)

    def write_copy(self, session: Session, changes: Sequence[Change], order: CopyOrder) -> Copy:
        """Write a copy with a new id, in the folder of the day."""
        from leftoff.agents.codex import copying

        return copying.write_copy(self.home, session, changes, order, self.invariants)

    def copy_size(self, session: Session, changes: Sequence[Change], order: CopyOrder) -> int:
        """Return how many bytes ``write_copy`` would write; it refuses what that would refuse."""
        from leftoff.agents.codex import copying

        return copying.copy_size(self.home, session, changes, order, self.invariants)

    def write_fresh(self, order: FreshOrder) -> Copy:
        """Write a new session of one message."""
        from leftoff.agents.codex import launch

        return launch.write_fresh(self.home, order)

    # Sessions in the background

    def open_screens(self, client_pid: int, project: Path) -> int | None:
        """Return how many screens of the daemon are known to be open in the project; None if the process is not a daemon."""
        from leftoff.agents.codex import daemon

        return daemon.open_screens(client_pid, project)

    def is_at_work(self, transcript: Path) -> bool:
        """Return whether a turn of the session is not finished yet."""
        from leftoff.agents.codex import daemon

        return daemon.is_at_work(transcript)
