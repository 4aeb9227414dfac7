"""JsonlAgent: the base class of adapters for agents that write one file of JSON lines per session."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from leftoff.agents.jsonl import JsonLines, Piece, count, pieces, size, table, text
from leftoff.core.metrics import AgentWindow, Occupancy
from leftoff.core.records import Block, Image, Opaque, Record, RecordKind, Text, Thinking, ToolResult, ToolUse

if TYPE_CHECKING:
    import os

    from leftoff.agents.command_line import CommandLine
    from leftoff.core.actions import Action, Answer, FinishedJob
    from leftoff.core.fast_path import FastPathRules
    from leftoff.core.hook_event import HookEvent, HookResponse
    from leftoff.core.hook_settings import AgentCommands, EditTrace, Hook, HookProblem, Scope, WiredSettings
    from leftoff.core.metrics import WindowBasis
    from leftoff.core.protocols import HasEvents, HasFastPath, HasHooks, TakesMcpServer
    from leftoff.core.records import Place
    from leftoff.core.session import LiveChain, Parent, Session, SessionEntry
    from leftoff.core.wire import JsonObject

    class EventSupport(HasEvents, HasFastPath, Protocol):
        """All that an adapter does when a hook is called."""

    class HookSupport(HasHooks, TakesMcpServer, Protocol):
        """All that an adapter does with hooks in settings files."""


OWN_METADATA = b'_metadata"'  # a first line with this may say more than its replies
_SAMPLE_CHARS = 100_000
USUAL_IMAGE_CHARS = 4_000  # an image costs about 1,500 tokens, at 2.7 characters to a token


class TranscriptHead(NamedTuple):
    """What the first lines of a transcript say about the session. None means that they do not say it."""

    session_id: str
    project: str | None = None
    first_prompt: str | None = None
    model: str | None = None
    parent: Parent | None = None


class JsonlAgent(ABC):
    """An adapter for an agent that writes one file of JSON lines per session.

    A subclass with ``id``, ``name``, ``transcripts``, ``recognises`` and ``parse`` is a complete read-only
    ``leftoff.core.protocols.Agent``. Every other method has a default that fits simple formats: override those that the
    agent does differently. What else an agent can do (copies, hooks, a status line) is a protocol of its own in
    ``leftoff.core.protocols``: add its methods to the subclass.
    """

    id: str
    name: str
    _measured: tuple[tuple[Path, int, int], Occupancy] | None = (
        None  # the last file: its version and occupancy
    )

    def __init__(self, home: Path) -> None:
        self.home = home

    @abstractmethod
    def transcripts(self) -> Iterator[Path]:
        """Find the transcripts under the agent's home, in any order; without those of subagents."""

    @abstractmethod
    def recognises(self, head: bytes) -> bool:
        """Say whether a file that begins with these bytes (a few kilobytes) is a transcript of this agent."""

    def parse(self, line: JsonObject, record: Record) -> Record:  # noqa: ARG002 - for subclasses
        """Return ``record``, which is of kind ``unknown``, with what the line says. No content may raise."""
        return record

    def record(self, piece: Piece) -> Record:
        """Turn one piece of a transcript into a record: by default ``parse`` reads every JSON object."""
        if piece.value is None:
            kind = RecordKind.BROKEN if piece.note else RecordKind.SIDE
            return Record(piece.place, kind, "", piece.raw, note=piece.note)
        line_type = str(piece.value.get("type", ""))[:80]
        return self.parse(piece.value, Record(piece.place, RecordKind.UNKNOWN, line_type, piece.raw))

    def read(self, transcript: Path, after: Place | None = None) -> Iterator[Record]:
        """Read all records of the file, or those that follow ``after``."""
        return map(self.record, pieces(transcript, after))

    def entry(self, transcript: Path) -> SessionEntry:
        """Return what a list shows of the session, from the head and tail of the file alone."""
        with JsonLines(transcript) as lines:
            head = self.read_head(lines)
            occupancy = self.read_tail(lines, with_history=False)
        return self._new_entry(transcript, lines.stat, head, occupancy)

    def _new_entry(
        self, transcript: Path, stat: os.stat_result, head: TranscriptHead, occupancy: Occupancy
    ) -> SessionEntry:
        from leftoff.core.session import SessionEntry  # noqa: PLC0415 - the status line does without

        return SessionEntry(
            agent=self.id,
            session_id=head.session_id,
            transcript=str(transcript),
            size_bytes=stat.st_size,
            modified_at=datetime.fromtimestamp(stat.st_mtime, UTC),
            project=head.project,
            model=occupancy.model or head.model,
            first_prompt=head.first_prompt,
            occupancy=occupancy._replace(turn_ends_tokens=()),
            parent=head.parent,
        )

    def open(self, transcript: Path) -> Session:
        """Return the session. Its records are read from the file on every iteration."""
        from leftoff.core.session import Session  # noqa: PLC0415 - the status line does without

        with JsonLines(transcript) as lines:
            head = self.read_head(lines)
            occupancy = self.read_tail(lines, with_history=False)
        return Session(
            agent=self.id,
            session_id=head.session_id,
            transcript=str(transcript),
            records=RecordsInFile(self, transcript),
            project=head.project,
            model=occupancy.model or head.model,
            client_version=occupancy.client_version,
            parent=head.parent,
        )

    def occupancy(self, transcript: Path) -> Occupancy:
        """Return how full the context window is, from the tail of the file; it is read once as long as the file stays as it is."""
        with JsonLines(transcript) as lines:
            version = (transcript, lines.stat.st_size, lines.stat.st_mtime_ns)
            if self._measured is None or self._measured[0] != version:
                self._measured = (version, self.read_tail(lines, with_history=True))
            return self._measured[1]

    def occupancy_at(self, transcript: Path, end_bytes: int) -> Occupancy:
        """Return how full the window was when the transcript ended at that byte; the compaction point may be a later one."""
        with JsonLines(transcript) as lines:
            lines.end_bytes = end_bytes
            return self.read_tail(lines, with_history=False)

    def read_head(self, lines: JsonLines) -> TranscriptHead:
        """Read the first lines up to the first prompt. By default the file's name, up to its first dot, is the session's id."""
        project = model = prompt = None
        for piece in lines.oldest_first():
            record = self.record(piece)
            project = project or record.cwd
            model = model or record.model
            if record.kind is RecordKind.PROMPT and record.actor is None:
                prompt = self.typed(record) or None
            if prompt:
                break
        return TranscriptHead(lines.path.name.partition(".")[0], project, prompt, model)

    def read_tail(self, lines: JsonLines, *, with_history: bool) -> Occupancy:  # noqa: ARG002 - for subclasses
        """Read back to the last reply that says what it used, or to the last compaction.

        The numbers of the gauge do not depend on ``with_history``: it only adds how full the window was at the end of earlier
        turns, from which the turns left are forecast.
        """
        tail_chars = 0
        used = model = window_tokens = None
        for record in map(self.record, lines.newest_first()):
            if record.actor is not None:
                continue
            model = model or record.model
            window_tokens = window_tokens or record.window_tokens
            if record.usage is not None:
                used = record.usage.occupancy_tokens
                break
            if record.compaction is not None:
                used = record.compaction.after_tokens
                break
            tail_chars += count_chars(record.blocks, image_chars=USUAL_IMAGE_CHARS)
        return Occupancy(
            used_tokens=used,
            tail_chars=tail_chars if used is not None else 0,
            model=model,
            window_tokens=window_tokens,
        )

    def live_chain(self, session: Session) -> LiveChain:
        """Return what the model is sent next: by default everything since the last compaction, which brings its summary."""
        from leftoff.core.session import LiveChain  # noqa: PLC0415 - the status line does without

        places: list[Place] = []
        for record in session.records:
            if record.kind is RecordKind.COMPACTION:
                places = []
            if record.messages and record.actor is None:
                places.append(record.place)
        return LiveChain(places=tuple(places))

    def window(self, occupancy: Occupancy, project: str | None) -> AgentWindow:  # noqa: ARG002 - for subclasses
        """Return the size of the context window: by default the one that the transcript reports."""
        basis: WindowBasis = "reported" if occupancy.window_tokens else "unknown"
        return AgentWindow(window_tokens=occupancy.window_tokens, window_basis=basis, compacts_at_tokens=None)

    def typed(self, record: Record) -> str:
        """Return what the user typed in a prompt: by default all of its text."""
        from leftoff.core.session import strip_leftoff_text  # noqa: PLC0415 - the status line does without

        return strip_leftoff_text(record.text).strip()

    def actions(self, use: ToolUse) -> tuple[Action, ...]:
        """Return what a tool call does: by default only the tool's name and its input are known."""
        from leftoff.core.actions import Other  # noqa: PLC0415 - the status line needs no actions

        return (Other(use.tool, str(use.input)),)

    def answer(self, use: ToolUse, result: ToolResult) -> Answer:  # noqa: ARG002 - for subclasses
        """Return what came back from a tool call."""
        from leftoff.core.actions import Answer  # noqa: PLC0415 - the status line needs no actions

        return Answer(text=result.text, failed=result.is_error)

    def finished_jobs(self, record: Record) -> tuple[FinishedJob, ...]:  # noqa: ARG002 - for subclasses
        """Return the background jobs whose end the record reports: by default no record does."""
        return ()

    def assigned(self, record: Record) -> str | None:  # noqa: ARG002 - for subclasses
        """Return what another agent asked of this one: by default only users ask."""
        return None

    def queued(self, record: Record) -> str | None:  # noqa: ARG002 - for subclasses
        """Return the prompt that waits while the agent works: by default the transcript does not show it."""
        return None

    def rewound(self, record: Record) -> int | str | None:  # noqa: ARG002 - for subclasses
        """Return how far the record takes the conversation back: by default no record does."""
        return None


def add_own_metadata(occupancy: Occupancy, line: JsonObject) -> Occupancy:
    """Return the occupancy of a session that leftoff wrote, with what its metadata say where nothing newer is known.

    A copy has usage that was rewritten, so its replies no longer show how many tokens a character takes; its metadata do.
    """
    begun = table(line, "continue_metadata")
    ratio = table(table(line, "trim_metadata"), "stats").get("tokens_per_char")
    if isinstance(ratio, float) and 0 < ratio < 1:
        occupancy = occupancy._replace(sample_chars=_SAMPLE_CHARS, sample_tokens=int(ratio * _SAMPLE_CHARS))
    return occupancy._replace(
        model=occupancy.model or text(begun, "model"),
        window_tokens=occupancy.window_tokens or count(begun, "window_tokens"),
        compacted_at_tokens=occupancy.compacted_at_tokens or count(begun, "compacted_at_tokens"),
        baseline_tokens=count(begun, "baseline_tokens"),
    )


class RecordsInFile:
    """The records of one file, read again on every iteration."""

    def __init__(self, agent: JsonlAgent, transcript: Path) -> None:
        self._agent, self._transcript = agent, transcript

    def __iter__(self) -> Iterator[Record]:
        return self._agent.read(self._transcript)


class StartsFromCommandLine(ABC):
    """The commands that start an agent, for ``CanResume``, ``CanStart`` and ``CanRunHeadless``, from one description."""

    @property
    @abstractmethod
    def command_line(self) -> CommandLine:
        """How the agent is started."""

    def resume_command(self, session_id: str) -> tuple[str, ...]:
        """Return the command that resumes a session."""
        return (*self.command_line.resume, session_id)

    def run_command(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """Return the command that starts the agent with these arguments."""
        return (self.command_line.program, *arguments)

    def run_again_command(self, session_id: str, arguments: Sequence[str]) -> tuple[str, ...] | None:
        """Return the command that resumes a session with the flags of ``arguments``; None if those answer once and exit."""
        if self.command_line.answers_once(arguments):
            return None
        return (*self.resume_command(session_id), *self.command_line.flags_to_keep(arguments))

    def headless_command(self) -> tuple[str, ...]:
        """Return the command that answers one prompt on standard input, without tools."""
        return self.command_line.headless


class CallsHooks(ABC):
    """``HasEvents``, ``HasFastPath``, ``HasHooks`` and ``TakesMcpServer`` by two objects that are created when they are needed.

    The agent waits while an event is answered, and settings files take more modules than the rest of an adapter.
    """

    @property
    @abstractmethod
    def events(self) -> EventSupport:
        """What understands and answers events."""

    @property
    @abstractmethod
    def hooks(self) -> HookSupport:
        """What edits settings files."""

    @property
    def fast_path(self) -> FastPathRules:
        """How the fast path reads events and the end of a transcript."""
        return self.events.fast_path

    def event(self, payload: JsonObject) -> HookEvent | None:
        """Parse the event that a hook is called with."""
        return self.events.event(payload)

    def reply(self, event: HookEvent, response: HookResponse) -> bytes:
        """Return what the hook prints."""
        return self.events.reply(event, response)

    def settings_files(self, scope: Scope, project: Path) -> tuple[Path, ...]:
        """Return the settings file of the scope, last; before it those that it overrides."""
        return self.hooks.settings_files(scope, project)

    def wired(
        self, text: str, commands: AgentCommands, beneath: Sequence[str], *, where: Path
    ) -> WiredSettings:
        """Return the settings with our entries added."""
        return self.hooks.wired(text, commands, beneath, where=where)

    def unwired(self, text: str, was: EditTrace | None, *, where: Path) -> str:
        """Return the settings without our entries."""
        return self.hooks.unwired(text, was, where=where)

    def ours_in(self, text: str, *, where: Path) -> tuple[Hook, ...]:
        """Return our entries in the settings."""
        return self.hooks.ours_in(text, where=where)

    def hooks_here(self, project: Path) -> tuple[Hook, ...]:
        """Return every hook that runs in the project."""
        return self.hooks.hooks_here(project)

    def hook_troubles(self, scope: Scope, project: Path) -> tuple[HookProblem, ...]:
        """Say why the hooks of that scope would not be called."""
        return self.hooks.hook_troubles(scope, project)

    @property
    def mcp_file(self) -> Path:
        """The file that names the user's MCP servers."""
        return self.hooks.mcp_file

    def with_mcp_server(self, text: str, command: Sequence[str], *, where: Path) -> WiredSettings:
        """Return that file with our server added."""
        return self.hooks.with_mcp_server(text, command, where=where)


def count_chars(blocks: Iterable[Block], *, image_chars: int) -> int:
    """Count the characters that the model is sent; ``image_chars`` is what one image counts."""
    return sum(_chars_of(block, image_chars) for block in blocks)


def _chars_of(block: Block, image_chars: int) -> int:
    match block:
        case Text() | Thinking():
            return len(block.text)
        case ToolUse():
            return len(block.tool) + size(block.input)
        case ToolResult():
            return count_chars(block.parts, image_chars=image_chars)
        case Opaque():
            return block.chars
        case Image():
            return image_chars
