"""What others may implement, and what each promises. The suites in ``leftoff.testing`` hold one test per promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:  # a protocol is only ever read; who keeps one has the nouns it needs
    from collections.abc import Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from leftoff.model.context_metrics import ContextMetrics
    from leftoff.model.occupancy import AgentWindow, Occupancy
    from leftoff.model.records import Place, Record
    from leftoff.model.resume_log import ResumeLog
    from leftoff.model.script import Script
    from leftoff.model.session import LiveChain, Session, SessionEntry
    from leftoff.model.trim_plan import TrimPlan
    from leftoff.model.wire import JsonValue


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

    def transcribe(self, script: Script, transcript: Path) -> None:
        """Write an invented session as this agent would have: ``transcript`` must not exist yet."""
        ...


@runtime_checkable
class CanCopy(Protocol):
    """An agent that goes on from a copy we write.

    Promises. *The original is never touched*. *Strict*: the copy is validated before it takes its name; on any trouble
    nothing is left behind. *Exact*: what the plan does not name is byte for byte what it was, but for ids and usage.
    *Twice is once*: a plan made on the copy has no cuts left. *Usage is rewritten* (L28), the old numbers are kept.
    """

    def write_copy(
        self, session: Session, plan: TrimPlan, *, metadata: Mapping[str, JsonValue], at: datetime
    ) -> Path:
        """A new session file with a new id, beside the original; ``metadata`` is carried where it survives a fork."""
        ...

    def resume_command(self, session_id: str) -> tuple[str, ...]:
        """What starts the agent on that session, to be run in the session's folder."""
        ...


@runtime_checkable
class CanRunHeadless(Protocol):
    """An agent that answers one prompt without a person and without tools, for summaries."""

    def headless_command(self) -> tuple[str, ...]:
        """A command that reads the prompt on standard input and prints the answer, with no tool allowed."""
        ...


class StorageBackend(Protocol):
    """Where resume logs are kept.

    Promises. *Read your writes*: what ``save`` returned can be loaded at once, by anybody, equal to what was saved
    (equality: ``to_dict`` of both). *All or nothing*: a reader sees a whole log or none; a crash leaves the old one or
    the new one. *Last save wins*: saving the same session again replaces; two at once leave one of the two, whole.
    *Order*: ``list`` gives identifiers newest save first. *Absence is not an error*: ``load`` of nothing is None,
    ``delete`` of nothing is False. *One bad entry hides no other*: ``list`` and ``load`` of the rest go on working.
    *Bad identifiers are refused* with InvalidIdError before anything is touched.
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
