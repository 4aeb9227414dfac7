"""The adapter for Claude Code: joins the modules of this folder to the protocols in ``leftoff.core.protocols``.

Methods import what the status line does not need: the client starts that command again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leftoff.agents.base import CallsHooks, JsonlAgent, StartsFromCommandLine
from leftoff.agents.claude import user_text
from leftoff.agents.claude.records import queued_prompt, read_record
from leftoff.core.records import Text

if TYPE_CHECKING:
    from leftoff.agents.base import TranscriptHead
    from leftoff.agents.claude.events import ClaudeEvents
    from leftoff.agents.claude.hooks import ClaudeHooks
    from leftoff.agents.command_line import CommandLine
    from leftoff.agents.jsonl import JsonLines, Piece
    from leftoff.core.actions import Action, Answer, FinishedJob
    from leftoff.core.live_messages import LiveMessage
    from leftoff.core.metrics import AgentWindow, Occupancy, StatusInput
    from leftoff.core.prices import Price
    from leftoff.core.records import Place, Record, ToolResult, ToolUse
    from leftoff.core.session import LiveChain, Session
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
    from leftoff.core.wire import JsonObject, JsonValue


class Claude(JsonlAgent, StartsFromCommandLine, CallsHooks):
    """Claude Code. ``home`` is the folder that CLAUDE_CONFIG_DIR names, ``environment`` what its variables are read from."""

    id = "claude"
    name = "Claude Code"

    def __init__(self, *, home: Path, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(home)
        self.environment = environment or {}

    # Reading

    def transcripts(self) -> Iterator[Path]:
        """Find the file of every session."""
        from leftoff.agents.claude import listing

        return listing.transcripts(self.home)

    def subagents(self, transcript: Path) -> tuple[Path, ...]:
        """Find the transcripts of the session's subagents, which have files of their own since 2.0."""
        from leftoff.agents.claude import listing

        return listing.subagents(transcript)

    def recognises(self, head: bytes) -> bool:
        """Say whether a file that begins with these bytes is a transcript of Claude Code."""
        from leftoff.agents.claude import listing

        return listing.recognises(head)

    def record(self, piece: Piece) -> Record:
        """Turn one piece of a transcript into a record."""
        return read_record(piece)

    def read(self, transcript: Path, after: Place | None = None) -> Iterator[Record]:
        """Read all records of the file, or those that follow ``after``."""
        from leftoff.agents.claude import repeated

        return repeated.mark_repeated(super().read(transcript, after), repeated.open_at(transcript, after))

    def read_head(self, lines: JsonLines) -> TranscriptHead:
        """Read what the first lines say about the session."""
        from leftoff.agents.claude import listing

        return listing.read_head(lines)

    def read_tail(self, lines: JsonLines, *, with_history: bool) -> Occupancy:
        """Read how full the context window is."""
        from leftoff.agents.claude import usage

        return usage.read_tail(lines, with_history=with_history)

    def live_chain(self, session: Session) -> LiveChain:
        """Return what the model is sent next."""
        from leftoff.agents.claude import chain

        return chain.live_chain(session.records)

    def rewound(self, record: Record) -> int | str | None:
        """Return the id of the record that the client will continue from, where this record says so."""
        if record.type != "last-prompt":
            return None
        from leftoff.agents.claude import chain

        return chain.named_leaf(record)

    def finished_jobs(self, record: Record) -> tuple[FinishedJob, ...]:
        """Return the background commands and agents whose end the client reports in this record."""
        if b"-notification>" not in record.raw:
            return ()
        from leftoff.agents.claude import tools

        return tools.finished_jobs(record)

    def assigned(self, record: Record) -> str | None:
        """Return what another member of an agent team wrote to this one."""
        if b"<teammate-message" not in record.raw:
            return None
        texts = [block.text for block in record.blocks if isinstance(block, Text)]
        return "\n\n".join(filter(None, map(user_text.from_teammate, texts))) or None

    def queued(self, record: Record) -> str | None:
        """Return the prompt that was typed while the agent worked and is not sent yet."""
        return queued_prompt(record) if record.type == "queue-operation" else None

    def window(self, occupancy: Occupancy, project: str | None) -> AgentWindow:
        """Return the size of the context window and where the client compacts."""
        from leftoff.agents.claude import usage

        return usage.window(self.home, self.environment, occupancy, project)

    def price(self, model: str) -> Price | None:
        """Return what a prompt costs that no cache holds."""
        from leftoff.agents.claude import prices

        return prices.price(model)

    def typed(self, record: Record) -> str:
        """Return what the user typed in a prompt."""
        texts = [block.text for block in record.blocks if isinstance(block, Text)]
        return "\n".join(user_text.as_typed(each) for each in texts if user_text.is_typed(each))

    def actions(self, use: ToolUse) -> tuple[Action, ...]:
        """Return what a tool call does."""
        from leftoff.agents.claude import tools

        return tools.actions(use)

    def answer(self, use: ToolUse, result: ToolResult) -> Answer:
        """Return what came back from a tool call."""
        from leftoff.agents.claude import tools

        return tools.answer(use, result)

    # Starting the client

    @property
    def command_line(self) -> CommandLine:
        """How the client is started."""
        from leftoff.agents.claude import launch

        return launch.COMMAND_LINE

    # Hooks and status line

    @property
    def events(self) -> ClaudeEvents:
        """The events at which the client calls its hooks."""
        from leftoff.agents.claude.events import ClaudeEvents

        return ClaudeEvents(self.environment)

    @property
    def hooks(self) -> ClaudeHooks:
        """The client's hooks and settings files."""
        from leftoff.agents.claude.hooks import ClaudeHooks

        return ClaudeHooks(self.home, self.environment)

    def status_input(self, payload: JsonObject) -> StatusInput | None:
        """Parse what the client passes to the status line's command."""
        from leftoff.agents.claude import usage

        return usage.read_status_input(payload)

    # Copies

    @property
    def invariants(self) -> tuple[Invariant, ...]:
        """What must hold in a copy, beyond what holds for every agent."""
        from leftoff.agents.claude import copy_checks

        return copy_checks.INVARIANTS

    def refusal(self, session: Session) -> str | None:
        """Say why a copy might not be resumable; None if it is."""
        from leftoff.agents.claude import copy_checks

        return copy_checks.refusal(session)

    def live_pieces(self, session: Session, *, at_least_chars: int, head: int, tail: int) -> LivePieces:
        """Return the live content that could be cut."""
        from leftoff.agents.claude import shrinkable

        occupancy = self.occupancy(Path(session.transcript))
        window = self.window(occupancy, session.project)
        return shrinkable.live_pieces(
            session, occupancy, window, at_least_chars=at_least_chars, head=head, tail=tail
        )

    def original(self, record: Record, part: CutPart, call_id: str | None) -> JsonValue:
        """Return the JSON value of one piece of a record."""
        from leftoff.agents import collector
        from leftoff.agents.claude import shrinkable

        return collector.original_value(record, lambda line: shrinkable.value_of(line, part, call_id))

    def read_live_messages(self, value: JsonValue) -> list[LiveMessage]:
        """Read the messages that the mod hands over."""
        from leftoff.agents.claude import mod

        return mod.read_messages(value)

    def write_live_messages(self, messages: Iterable[LiveMessage]) -> list[JsonValue]:
        """Write rebuilt messages as the mod answers with them."""
        from leftoff.agents.claude import mod

        return mod.write_messages(messages)

    def plugin_files(self) -> Mapping[str, bytes]:
        """Return the files of the plugin that brings the mod."""
        from leftoff.agents.claude import mod

        return mod.plugin_files()

    def needs_thinking(self, session: Session) -> bool:
        """Say whether a turn that is not over may need its thinking to continue."""
        from leftoff.agents.claude import mod
        from leftoff.agents.jsonl import JsonLines

        with JsonLines(Path(session.transcript)) as lines:
            return mod.needs_thinking(map(self.record, lines.newest_first()), self.environment)

    def is_typed(self, text: str) -> bool:
        """Say whether the user typed the text of a message."""
        return user_text.is_typed(text)

    def left_out(self, session: Session, ancestors: Sequence[Path]) -> RemovedContent:
        """Find thinking, and what results repeat for the screen, that earlier cuts removed."""
        from leftoff.agents.claude import subagents

        return subagents.removed_content(session, ancestors)

    def write_copy(self, session: Session, changes: Sequence[Change], order: CopyOrder) -> Copy:
        """Write a copy with a new id where the client looks for it, with the files of its subagents."""
        from leftoff.agents.claude import copying, subagents

        subagents.remove_abandoned(Path(session.transcript).parent)
        return copying.write_copy(self.home, session, changes, order, self.invariants)

    def copy_size(self, session: Session, changes: Sequence[Change], order: CopyOrder) -> int:
        """Return how many bytes ``write_copy`` would write; it refuses what that would refuse."""
        from leftoff.agents.claude import copying

        return copying.copy_size(self.home, session, changes, order, self.invariants)

    def write_fresh(self, order: FreshOrder) -> Copy:
        """Write a new session of one message."""
        from leftoff.agents.claude import launch

        return launch.write_fresh(self.home, order)
