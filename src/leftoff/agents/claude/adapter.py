"""Claude Code as leftoff sees it: finds, reads and measures its sessions, and writes invented ones.

Each call is done by a module of its own; here they come together as ``leftoff.model.protocols.Agent``. What a gauge does
not need is imported when it is called: somebody waits for ``leftoff status``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from leftoff.agents.claude import glance, headless, tail, typed, window
from leftoff.agents.claude.queued import record_of
from leftoff.agents.jsonl import pieces
from leftoff.agents.later import later
from leftoff.model.occupancy import AgentWindow, Occupancy
from leftoff.model.records import Place, Record, Text, ToolResult, ToolUse
from leftoff.model.session import LiveChain, Session, SessionEntry
from leftoff.model.values import dataclass, field

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from leftoff.agents import hook_events
    from leftoff.agents.claude import (
        actions,
        chain,
        copying,
        events,
        fresh,
        left_out,
        live_pieces,
        metering,
        scribe,
        starting,
        status_line,
        subagents,
        validity,
        wiring,
    )
    from leftoff.model.actions import Action, Answer
    from leftoff.model.copying import Change, Copy, CopyOrder, FreshOrder, Invariant, LeftOut, LivePieces
    from leftoff.model.hook_event import HookEvent, Saying
    from leftoff.model.script import Script
    from leftoff.model.status_input import StatusInput
    from leftoff.model.trim_plan import CutPart
    from leftoff.model.wire import JsonObject, JsonValue
    from leftoff.model.wiring import Commands, Hook, HookTrouble, Scope, Trace, Wired
else:
    globals().update(later("leftoff.agents", "hook_events"))
    globals().update(
        later(
            __package__,
            "actions chain copying events fresh left_out live_pieces metering scribe starting status_line "
            "subagents validity wiring",
        )
    )


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
        return metering.usages(transcript)

    def window(self, occupancy: Occupancy, project: str | None) -> AgentWindow:
        """What the window holds and where the client compacts by itself."""
        return window.window(self.home, self.environment, occupancy, project)

    def typed(self, record: Record) -> str:
        """What the user typed in a prompt."""
        own = (
            block.text for block in record.blocks if isinstance(block, Text) and typed.is_typed(block.text)
        )
        return "\n".join(map(typed.shown, own))

    def actions(self, use: ToolUse) -> tuple[Action, ...]:
        """What a tool call does."""
        return actions.actions(use)

    def answer(self, use: ToolUse, result: ToolResult) -> Answer:
        """What came back of it."""
        return actions.answer(use, result)

    def rewound(self, record: Record) -> int | str | None:
        """The leaf that the client will go on from."""
        return chain.named_leaf(record)

    @property
    def tail_format(self) -> str:
        """How the fast path reads the end of a transcript."""
        return events.TAIL_FORMAT

    def event(self, said: JsonObject) -> HookEvent | None:
        """The event that a hook is called with."""
        return events.event(said, self.environment)

    def reply(self, event: HookEvent, saying: Saying) -> bytes:
        """What the hook prints."""
        return hook_events.reply(event, saying)

    def resume_command(self, session_id: str) -> tuple[str, ...]:
        """What starts the agent on that session."""
        return ("claude", "--resume", session_id)

    def start_command(self, prompt: str) -> tuple[str, ...]:
        """What starts the agent on a first prompt, for a person to go on with."""
        return ("claude", prompt)

    def run_command(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """What starts the agent with these flags."""
        return (starting.PROGRAM, *arguments)

    def run_again_command(self, session_id: str, arguments: Sequence[str]) -> tuple[str, ...] | None:
        """What goes on in that session with the same flags."""
        if starting.FLAGS.answers_once(arguments):
            return None
        return (*self.resume_command(session_id), *starting.FLAGS.kept(arguments))

    def headless_command(self) -> tuple[str, ...]:
        """What answers one prompt without tools."""
        return headless.COMMAND

    def settings_files(self, scope: Scope, project: Path) -> tuple[Path, ...]:
        """The settings of that scope, last; before it those that it stands above."""
        return wiring.settings_files(self.home, scope, project)

    def wired(self, text: str, commands: Commands, beneath: Sequence[str], *, where: Path) -> Wired:
        """The settings with our hooks and status line in them."""
        return wiring.wired(text, commands, beneath, where=where, client_version=self._client_version())

    def unwired(self, text: str, was: Trace | None, *, where: Path) -> str:
        """The settings without ours."""
        return wiring.unwired(text, was, where=where)

    def ours_in(self, text: str, *, where: Path) -> tuple[Hook, ...]:
        """What of the settings is ours, the status line included."""
        return (*wiring.ours_in(text, where),)

    def hooks_here(self, project: Path) -> tuple[Hook, ...]:
        """Every hook that runs in the project."""
        return (*wiring.hooks_here(self.home, project),)

    def hook_troubles(self, scope: Scope, project: Path) -> tuple[HookTrouble, ...]:  # noqa: ARG002 - the same for both
        """Whether settings switch all hooks off."""
        return (*wiring.troubles(self.home, project),)

    def status_input(self, said: JsonObject) -> StatusInput | None:
        """What the client tells the command behind its status line."""
        return status_line.status_input(said)

    def _client_version(self) -> str | None:
        """Of the client that wrote the newest transcript."""
        newest = max(self.transcripts(), key=lambda path: path.stat().st_mtime_ns, default=None)
        return tail.looked_at(newest, reach_bytes=0).client_version if newest else None

    def live_pieces(self, session: Session, *, at_least_chars: int, head: int, tail: int) -> LivePieces:
        """The live content that could be cut."""
        occupancy = self.occupancy(Path(session.transcript))
        return live_pieces.live_pieces(
            session, occupancy, at_least_chars=at_least_chars, head=head, tail=tail
        )

    @property
    def invariants(self) -> tuple[Invariant, ...]:
        """What must hold in a session of this agent, beyond what holds everywhere."""
        return validity.INVARIANTS

    def refusal(self, session: Session) -> str | None:
        """Why a copy cannot be trusted to be resumed."""
        return validity.refusal(session)

    def original(self, record: Record, part: CutPart, call_id: str | None) -> JsonValue:
        """The JSON value of one piece as it stands in that record."""
        return copying.original(record, part, call_id)

    def left_out(self, session: Session, ancestors: Sequence[Path]) -> LeftOut:
        """Thoughts, and what results repeat for the screen."""
        return left_out.left_out(session, ancestors)

    def write_copy(self, session: Session, changes: Sequence[Change], order: CopyOrder) -> Copy:
        """A new session file with a new id; where the client finds it, with what its subagents wrote."""
        subagents.tidy(Path(session.transcript).parent)
        return copying.write_copy(self.home, session, changes, order, self.invariants)

    def copy_size(self, session: Session, changes: Sequence[Change], order: CopyOrder) -> int:
        """How many bytes ``write_copy`` would write, refused as it would be; nothing is written."""
        return copying.copy_size(self.home, session, changes, order, self.invariants)

    def write_fresh(self, order: FreshOrder) -> Copy:
        """A new session of one message."""
        return fresh.write_fresh(self.home, order)

    def transcribe(self, script: Script, transcript: Path) -> None:
        """Write an invented session as Claude Code would have."""
        scribe.transcribe(script, transcript)


@dataclass(frozen=True, slots=True)
class _Records:
    """The records of a file, read anew on each pass."""

    transcript: Path

    def __iter__(self) -> Iterator[Record]:
        return (record_of(self.transcript, piece) for piece in pieces(self.transcript))
