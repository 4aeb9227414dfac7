"""What others may implement, and what each promises. The suites in ``leftoff.testing`` hold one test per promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:  # a protocol is only ever read; who keeps one has the nouns it needs
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from leftoff.errors import LeftoffError
    from leftoff.model.actions import Action, Answer
    from leftoff.model.context_metrics import ContextMetrics
    from leftoff.model.copying import Change, Copy, CopyOrder, FreshOrder, Invariant, LeftOut, LivePieces
    from leftoff.model.hook_event import HookEvent, Saying
    from leftoff.model.occupancy import AgentWindow, Occupancy
    from leftoff.model.records import Place, Record, ToolResult, ToolUse
    from leftoff.model.resume_log import ResumeLog
    from leftoff.model.script import Script
    from leftoff.model.session import LiveChain, Session, SessionEntry
    from leftoff.model.status_input import StatusInput
    from leftoff.model.trim_plan import CutPart
    from leftoff.model.wire import JsonObject, JsonValue
    from leftoff.model.wiring import Commands, Hook, HookTrouble, Scope, Trace, Wired


@runtime_checkable
class Agent(Protocol):
    """An adapter: everything odd about one agent, so that nothing odd is left outside.

    Promises. *Reading is lenient*: no content raises; what is not understood comes back as a record of kind ``unknown``
    or ``broken``; a file that cannot be opened raises TranscriptError. *Nothing is lost*: the places of ``read``'s
    records tile the file from its first byte to its last. *Reading can go on*: ``read`` after any record's place gives
    the rest of the same records. *The transcript is never written*. *Memory stays flat*: ``read`` holds one record at a
    time. *The live chain is the truth*: its messages are what the model is sent next when the session is resumed.
    """

    @property
    def id(self) -> str:
        """The public id: what people type."""
        ...

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def home(self) -> Path:
        """The folder that holds its sessions, settings and state."""
        ...

    def transcripts(self) -> Iterator[Path]:
        """The transcripts under this agent's home, in no promised order; subagents' own files left out."""
        ...

    def recognises(self, head: bytes) -> bool:
        """Whether a file that begins so (a few kilobytes) is a transcript of this agent."""
        ...

    def entry(self, transcript: Path) -> SessionEntry:
        """What a list shows of it, from head and tail alone: the same work for a large file as for a small one."""
        ...

    def open(self, transcript: Path) -> Session:
        """The session; its records are read when they are asked for, each pass anew."""
        ...

    def read(self, transcript: Path, after: Place | None = None) -> Iterator[Record]:
        """All records of the file, or those that follow the one at ``after``."""
        ...

    def live_chain(self, session: Session) -> LiveChain:
        """What the model is sent next."""
        ...

    def occupancy(self, transcript: Path) -> Occupancy:
        """How full the window is, from the tail of the transcript: the same work for any size."""
        ...

    def usages(self, transcript: Path) -> Iterator[int]:
        """What stood in the window after each reply of the main conversation, oldest first: all of the file, fast."""
        ...

    def window(self, occupancy: Occupancy, project: str | None) -> AgentWindow:
        """What it holds in such a session: what it reports itself, else its settings, else the dated table.

        More in use than the table allows shows that the table is wrong: the next larger size, basis ``observed``.
        """
        ...

    def typed(self, record: Record) -> str:
        """What the user typed in a prompt, as it was typed: without what the client puts around or beside it."""
        ...

    def actions(self, use: ToolUse) -> tuple[Action, ...]:
        """What a tool call does, in words that no agent owns; empty for what does nothing by itself."""
        ...

    def answer(self, use: ToolUse, result: ToolResult) -> Answer:
        """What came back of it."""
        ...

    def rewound(self, record: Record) -> int | str | None:
        """How far the record takes the conversation back: so many turns, or to just behind the record of that id."""
        ...

    def transcribe(self, script: Script, transcript: Path) -> None:
        """Write an invented session as this agent would have: ``transcript`` must not exist yet."""
        ...


@runtime_checkable
class CanCopy(Protocol):
    """An agent that goes on from a copy we write.

    Promises. *The original is never touched*. *Strict*: the copy is looked through before it takes its name, by the
    invariants of the order and the agent's own; on any trouble nothing is left behind that the agent would list. *Exact*: what
    no change names is byte for byte what it was, but for ids, usage and the one line that carries the metadata. *Usage is
    rewritten* (L28), the old numbers are kept. *Memory stays flat*. *There and back*: each original is found by its line, part,
    call and digest, and giving it back gives the same JSON value.
    """

    @property
    def invariants(self) -> tuple[Invariant, ...]:
        """What must hold in a session of this agent, beyond what holds everywhere."""
        ...

    def refusal(self, session: Session) -> str | None:
        """Why a copy cannot be trusted to be resumed: a client newer than the data file, with unknown fields on the chain."""
        ...

    def live_pieces(self, session: Session, *, at_least_chars: int, head: int, tail: int) -> LivePieces:
        """The live content that could be cut and has at least so many characters; one lean pass over the file."""
        ...

    def original(self, record: Record, part: CutPart, call_id: str | None) -> JsonValue:
        """The JSON value of one piece as it stands in that record; None when there is none."""
        ...

    def left_out(self, session: Session, ancestors: Sequence[Path]) -> LeftOut:
        """What cuts took out of the session without a placeholder and its ancestors, oldest first, still have."""
        ...

    def write_copy(self, session: Session, changes: Sequence[Change], order: CopyOrder) -> Copy:
        """A new session file with a new id, where the agent looks for those of its folder."""
        ...

    def write_fresh(self, order: FreshOrder) -> Copy:
        """A new session of one message."""
        ...


@runtime_checkable
class CanRehearse(Protocol):
    """An agent that can tell how a copy would come out without writing it."""

    def copy_size(self, session: Session, changes: Sequence[Change], order: CopyOrder) -> int:
        """How many bytes ``write_copy`` would write, refused as it would be; nothing is written."""
        ...


@runtime_checkable
class CanRunHeadless(Protocol):
    """An agent that answers one prompt without a person and without tools, for summaries."""

    def headless_command(self) -> tuple[str, ...]:
        """A command that reads the prompt on standard input and prints the answer, with no tool allowed."""
        ...


@runtime_checkable
class CanResume(Protocol):
    """An agent that a person can go on with from the command line, in the session's folder."""

    def resume_command(self, session_id: str) -> tuple[str, ...]:
        """What starts the agent on that session."""
        ...

    def start_command(self, prompt: str) -> tuple[str, ...]:
        """What starts the agent on a first prompt."""
        ...


@runtime_checkable
class CanStart(Protocol):
    """An agent that a person starts with flags of their own, and that can go on in another session with the same ones."""

    def run_command(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """What starts the agent with these flags."""
        ...

    def run_again_command(self, session_id: str, arguments: Sequence[str]) -> tuple[str, ...] | None:
        """What goes on in that session with the same flags, without the prompt and whatever chose the first session.

        None for flags with which it answers once and ends: there is nobody to go on.
        """
        ...


@runtime_checkable
class HasEvents(Protocol):
    """An agent whose hooks we understand.

    Promises. *No object raises*: what is no event is None. *Nothing harms a turn*: a reply holds only what the agent honours
    at that event, blocks nothing but a prompt that was for us, and is empty where there is nothing to say.
    """

    @property
    def tail_format(self) -> str:
        """By which reader of the fast path the end of a transcript is understood."""
        ...

    def event(self, said: JsonObject) -> HookEvent | None:
        """The event that a hook is called with."""
        ...

    def reply(self, event: HookEvent, saying: Saying) -> bytes:
        """What the hook prints to say it."""
        ...


@runtime_checkable
class HasHooks(Protocol):
    """An agent that calls commands at its events, as its settings say.

    Promises. *Nothing is written*: texts in, texts out. *Only ours*: foreign entries, their order and every byte around
    ours stay as they are. *There and back*: the edits taken back give the text before; ``unwired`` gives it too, up to
    white space, and works on a text that others have changed since. *Broken settings are refused* with ConfigError.
    """

    def settings_files(self, scope: Scope, project: Path) -> tuple[Path, ...]:
        """The file to be wired, last; before it those that it stands above."""
        ...

    def wired(self, text: str, commands: Commands, beneath: Sequence[str], *, where: Path) -> Wired:
        """The settings with ours in them, which must not hold ours yet; ``beneath`` are the texts that ``where`` stands above."""
        ...

    def unwired(self, text: str, was: Trace | None, *, where: Path) -> str:
        """The settings without ours; ``was`` is what is remembered of putting them in, None when nobody does."""
        ...

    def ours_in(self, text: str, *, where: Path) -> tuple[Hook, ...]:
        """What of a settings text is ours; a broken text holds nothing."""
        ...

    def hooks_here(self, project: Path) -> tuple[Hook, ...]:
        """Every hook that runs in the project, whoever brought it."""
        ...

    def hook_troubles(self, scope: Scope, project: Path) -> tuple[HookTrouble, ...]:
        """Why the hooks in the settings of that scope would not be called."""
        ...


@runtime_checkable
class HasStatusLine(Protocol):
    """An agent that shows a line which a command prints."""

    def status_input(self, said: JsonObject) -> StatusInput | None:
        """What the agent hands to the command; None when this is no input of this agent."""
        ...


class StorageBackend(Protocol):
    """Where resume logs are kept.

    Promises. *Read your writes*: what ``save`` returned can be loaded at once, by anybody, equal to what was saved
    (equality: ``to_dict`` of both). *All or nothing*: a reader sees a whole log or none; a crash leaves the old one or
    the new one. *Last save wins*: saving the same session again replaces; two at once leave one of the two, whole.
    *Order*: ``list`` gives identifiers newest save first, among machines as well as their clocks agree. *Absence is not an
    error*: ``load`` of nothing is None, ``delete`` of nothing is False. *One bad entry hides no other*: ``list`` and ``load``
    of the rest go on working; loading the bad one is a DocumentError.
    *Bad identifiers are refused* with InvalidIdError before anything is touched. *Gone is gone*: what ``delete`` found is gone when
    it returns, and so is what arrived meanwhile; a save whose caller has given it up, and that a server finishes after that, may
    stand there again.
    """

    def save(self, resume_log: ResumeLog) -> str:
        """Keep it; the identifier to load it by."""
        ...

    def load(self, identifier: str) -> ResumeLog | None:
        """The log, or None when there is none; DocumentError when it is there and broken."""
        ...

    def list(self) -> list[str]:
        """All identifiers, newest save first."""
        ...

    def delete(self, identifier: str) -> bool:
        """Whether there was one to delete."""
        ...


@runtime_checkable
class TakesOptions(Protocol):
    """A storage backend that is told the user's ``storage_options`` before it is used."""

    def with_options(self, options: Mapping[str, str]) -> StorageBackend:
        """The backend that they describe; ConfigError for what it does not understand. Nothing is connected to yet."""
        ...


@runtime_checkable
class KnowsProjects(Protocol):
    """A storage backend that keeps the logs of many projects apart, by what their metadata say of their project."""

    def for_project(self, key: str) -> StorageBackend:
        """The same backend, seen from one project (``ProjectIdentity.key``)."""
        ...


@runtime_checkable
class CanSaveLate(Protocol):
    """A storage backend to which a log may be sent long after it was saved, and more than once.

    Promises. *Sending twice is sending once*. *In its place*: a log that was saved later, by anybody, stays on top.
    """

    def save_as_of(self, resume_log: ResumeLog, saved_ns: int) -> str:
        """Keep it as saved at that moment, in nanoseconds since 1970."""
        ...


@runtime_checkable
class TellsMoments(Protocol):
    """A storage backend that says when a log was saved, so that a machine whose clock is behind can save after it."""

    def saved_at(self, identifier: str) -> int | None:
        """The moment of what ``load`` would give, in nanoseconds since 1970 as ``save_as_of`` takes it; None when there is none."""
        ...


@runtime_checkable
class CanRewrite(Protocol):
    """A storage backend that can change what it keeps where it stands: every version of every log, in every project.

    Promises. *Each on its own*: one that cannot be changed hides no other. *In its place*: what was changed keeps its project
    and its moment. *Nothing old stays*: of what was changed no earlier form is left in the store's own keeping; what a
    server finishes later of a save that was given up is not among that.
    """

    def rewrite(self, change: Callable[[bytes], bytes | None]) -> Iterator[str | LeftoffError]:
        """Ask ``change`` about the JSON of each: the same keeps it, None drops it, as does any change of a broken one.

        The session ids of those that were changed or dropped, and an error for each that could not be.
        """
        ...


@runtime_checkable
class CanBeChecked(Protocol):
    """A storage backend that can say whether it would work now."""

    def check(self) -> str:
        """What was reached, in words; StorageError in words when it was not. Changes no log."""
        ...


class SectionProvider(Protocol):
    """Makes one more section of a resume log.

    Promises: the same session state gives the same content; nothing is written. A provider that raises, or returns
    something else than text, is named and left out: the log is made without it.
    """

    def get_section_name(self) -> str:
        """The heading, on one line."""
        ...

    def get_token_budget(self) -> int:
        """The most it asks for; it shares the log's total."""
        ...

    def generate_content(self, session_state: dict[str, Any]) -> str:
        """Markdown below the heading; headings in it are escaped."""
        ...


class TriggerCondition(Protocol):
    """Decides that a resume log is due. Cheap, and without side effects: it is asked at every event."""

    def should_trigger(self, context_metrics: ContextMetrics, session_state: dict[str, Any]) -> bool:
        """Whether a resume log should be made now."""
        ...


class Summariser(Protocol):
    """Turns text into a summary.

    Promises: it runs no tool and fires no hook of ours; it ends within ``timeout_seconds``; failure is a ProcessError,
    never an empty summary.
    """

    def summarise(self, prompt: str, *, timeout_seconds: float) -> str:
        """The summary that ``prompt`` asks for."""
        ...
