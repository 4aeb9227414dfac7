"""Codex as an agent: joins the parts of this folder to what ``leftoff.model.protocols.Agent`` asks for.

What finding sessions does not need is loaded when it is called: somebody waits for ``leftoff status``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from leftoff.agents.codex import finding
from leftoff.agents.later import later
from leftoff.model.lineage_text import without_own_words
from leftoff.model.occupancy import AgentWindow, Occupancy
from leftoff.model.records import Place, Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.model.session import LiveChain, Session, SessionEntry
from leftoff.model.values import dataclass

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from leftoff.agents import hook_groups, jsonl
    from leftoff.agents.codex import (
        actions,
        chain,
        compressed,
        copying,
        events,
        forks,
        fresh,
        glance,
        headless,
        items,
        left_out,
        live_pieces,
        metering,
        reading,
        scribe,
        starting,
        tail,
        validity,
        window,
        wiring,
    )
    from leftoff.model.actions import Action, Answer
    from leftoff.model.copying import Change, Copy, CopyOrder, FreshOrder, Invariant, LeftOut, LivePieces
    from leftoff.model.hook_event import HookEvent, Saying
    from leftoff.model.script import Script
    from leftoff.model.trim_plan import CutPart
    from leftoff.model.wire import JsonObject, JsonValue
    from leftoff.model.wiring import Commands, Hook, HookTrouble, Scope, Trace, Wired
else:
    globals().update(later("leftoff.agents", "hook_groups jsonl"))
    globals().update(
        later(__package__, "actions chain compressed copying events forks fresh glance headless items")
    )
    globals().update(
        later(
            __package__, "left_out live_pieces metering reading scribe starting tail validity window wiring"
        )
    )

_NOTHING: Mapping[str, str] = {}
_ZSTD = b"\x28\xb5\x2f\xfd"
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
        """Whether a file that begins so is a rollout, compressed or not."""
        text = compressed.text_begun(head) if head.startswith(_ZSTD) else head
        return text is None or any(known.match(text) for known in _HEADS)

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
            records=_Records(segments=segments, home=self.home),
            project=begins.project,
            model=begins.model,
            client_version=own.meta.client_version,
            parent=glance.parent(segments),
        )

    def read(self, transcript: Path, after: Place | None = None) -> Iterator[Record]:
        """All records of the one file, or those that follow the one at ``after``."""
        return map(reading.record, jsonl.pieces(compressed.readable(transcript), after))

    def live_chain(self, session: Session) -> LiveChain:
        """What the model is sent next."""
        return chain.live_chain(session.records)

    def occupancy(self, transcript: Path) -> Occupancy:
        """How full the window is, from the tail of the rollout."""
        return tail.occupancy(transcript, self.home)

    def usages(self, transcript: Path) -> Iterator[int]:
        """What stood in the window after each reply."""
        return metering.usages(compressed.readable(transcript))

    def window(self, occupancy: Occupancy, project: str | None) -> AgentWindow:  # noqa: ARG002 - the same everywhere
        """What it holds in such a session: as it reports itself, else ``config.toml``, else the dated table."""
        return window.window(self.home, occupancy)

    def typed(self, record: Record) -> str:
        """What the user typed in a prompt."""
        return "\n".join(
            without_own_words(block.text).strip()
            for block in record.blocks
            if isinstance(block, Text) and items.is_own(block)
        )

    def actions(self, use: ToolUse) -> tuple[Action, ...]:
        """What a tool call does."""
        return actions.actions(use)

    def answer(self, use: ToolUse, result: ToolResult) -> Answer:
        """What came back of it."""
        return actions.answer(use, result)

    def rewound(self, record: Record) -> int | str | None:
        """The turns that a rollback takes back."""
        return chain.turns_taken_back(record) if record.type == chain.ROLLED_BACK else None

    @property
    def tail_format(self) -> str:
        """How the fast path reads the end of a transcript."""
        return events.TAIL_FORMAT

    def event(self, said: JsonObject) -> HookEvent | None:
        """The event that a hook is called with."""
        return events.event(said)

    def reply(self, event: HookEvent, saying: Saying) -> bytes:
        """What the hook prints."""
        return events.reply(event, saying)

    def resume_command(self, session_id: str) -> tuple[str, ...]:
        """What starts the agent on that session."""
        return ("codex", "resume", session_id)

    def start_command(self, prompt: str) -> tuple[str, ...]:
        """What starts the agent on a first prompt, for a person to go on with."""
        return ("codex", prompt)

    def run_command(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """What starts the agent with these flags."""
        return (starting.PROGRAM, *arguments)

    def run_again_command(self, session_id: str, arguments: Sequence[str]) -> tuple[str, ...] | None:
        """What goes on in that session with the same flags."""
        if starting.FLAGS.answers_once(arguments):
            return None
        return (*self.resume_command(session_id), *starting.FLAGS.kept(arguments))

    def headless_command(self) -> tuple[str, ...]:
        """What answers one prompt without tools that could do anything."""
        return headless.COMMAND

    def settings_files(self, scope: Scope, project: Path) -> tuple[Path, ...]:
        """The ``hooks.json`` of that scope."""
        return wiring.settings_files(self.home, scope, project)

    def wired(self, text: str, commands: Commands, beneath: Sequence[str], *, where: Path) -> Wired:  # noqa: ARG002
        """The file with our hooks in it."""
        return wiring.wired(text, commands, where=where)

    def unwired(self, text: str, was: Trace | None, *, where: Path) -> str:
        """The file without ours."""
        return wiring.unwired(text, was, where=where)

    def ours_in(self, text: str, *, where: Path) -> tuple[Hook, ...]:
        """What of the file is ours."""
        return tuple(hook for hook in hook_groups.hooks_in(text, str(where)) if hook.origin)

    def hooks_here(self, project: Path) -> tuple[Hook, ...]:
        """Every hook that runs in the project."""
        return (*wiring.hooks_here(self.home, project),)

    def hook_troubles(self, scope: Scope, project: Path) -> tuple[HookTrouble, ...]:
        """Which of our hooks the user has not approved."""
        return (*wiring.troubles(self.home, scope, project),)

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
        """What events showed; thoughts are never cut here."""
        return left_out.left_out(self.home, session, ancestors)

    def write_copy(self, session: Session, changes: Sequence[Change], order: CopyOrder) -> Copy:
        """A new session file with a new id, in the folder of the day."""
        return copying.write_copy(self.home, session, changes, order, self.invariants)

    def copy_size(self, session: Session, changes: Sequence[Change], order: CopyOrder) -> int:
        """How many bytes ``write_copy`` would write, refused as it would be; nothing is written."""
        return copying.copy_size(self.home, session, changes, order, self.invariants)

    def write_fresh(self, order: FreshOrder) -> Copy:
        """A new session of one message."""
        return fresh.write_fresh(self.home, order)

    def transcribe(self, script: Script, transcript: Path) -> None:
        """Write an invented session as Codex 0.166 would have."""
        scribe.transcribe(script, transcript)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Records:
    """The records of a session, read anew at each pass; one without bytes says that its beginning cannot be had."""

    segments: tuple[forks.Segment, ...]
    home: Path

    def __iter__(self) -> Iterator[Record]:
        note = forks.missing(self.segments, self.home)
        if note:
            place = Place(str(self.segments[0].path), 0, 0, 0)
            yield Record(place=place, kind=RecordKind.BROKEN, type="missing", raw=b"", note=note)
        yield from map(reading.record, forks.oldest_first(self.segments))
