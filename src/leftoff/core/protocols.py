"""The protocols that plugins implement. Each docstring states what leftoff relies on; ``leftoff.testing`` tests it.

docs/plugins.md has a small example of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:  # only annotations need these
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from leftoff.core.actions import Action, Answer, FinishedJob
    from leftoff.core.fast_path import FastPathRules
    from leftoff.core.hook_event import HookEvent, HookResponse
    from leftoff.core.hook_settings import AgentCommands, EditTrace, Hook, HookProblem, Scope, WiredSettings
    from leftoff.core.metrics import AgentWindow, ContextMetrics, Occupancy, StatusInput
    from leftoff.core.prices import Price
    from leftoff.core.records import Place, Record, ToolResult, ToolUse
    from leftoff.core.resume_log import ResumeLog
    from leftoff.core.session import LiveChain, Session, SessionEntry
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
    from leftoff.errors import LeftoffError


@runtime_checkable
class Agent(Protocol):
    """An adapter: everything that is specific to one agent. ``leftoff.agents.base.JsonlAgent`` has defaults for most of it.

    Promises. *Reading is lenient*: no content raises; what is not understood becomes a record of kind ``unknown`` or
    ``broken``; only a file that cannot be opened raises, TranscriptError. *Nothing is lost*: the places of the records cover
    the file from its first byte to its last. *Reading can resume*: ``read`` after any record's place gives the remaining
    records. *Transcripts are never written*. *Memory is constant*: ``read`` holds one record at a time. *The live chain is
    exact*: its messages are what the model is sent when the session is resumed.
    """

    @property
    def id(self) -> str:
        """The id that users type."""

    @property
    def name(self) -> str:
        """The name for people."""

    @property
    def home(self) -> Path:
        """The folder with the agent's sessions, settings and state."""

    def transcripts(self) -> Iterator[Path]:
        """Iterate over the transcripts below ``home``, in any order, without those of subagents."""

    def recognises(self, head: bytes) -> bool:
        """Return whether a file with this beginning (a few kilobytes) is a transcript of this agent."""

    def entry(self, transcript: Path) -> SessionEntry:
        """Return what a list shows, reading only the head and tail of the file."""

    def open(self, transcript: Path) -> Session:
        """Return the session; each iteration over its records reads the file again."""

    def read(self, transcript: Path, after: Place | None = None) -> Iterator[Record]:
        """Iterate over the records of the file, or those that follow the one at ``after``."""

    def live_chain(self, session: Session) -> LiveChain:
        """Return what the model is sent next."""

    def occupancy(self, transcript: Path) -> Occupancy:
        """Return how full the window is, reading only the tail of the transcript."""

    def window(self, occupancy: Occupancy, project: str | None) -> AgentWindow:
        """Return the size of the window: as the agent reports it, else from its settings, else from a table of models.

        If more tokens are in use than the table allows, return the next larger size with basis ``observed``.
        """

    def typed(self, record: Record) -> str:
        """Return the prompt as the user typed it, without what the client added."""

    def actions(self, use: ToolUse) -> tuple[Action, ...]:
        """Return what a tool call does, in terms independent of the agent; empty if it does nothing by itself."""

    def answer(self, use: ToolUse, result: ToolResult) -> Answer:
        """Return the result of a tool call."""

    def finished_jobs(self, record: Record) -> tuple[FinishedJob, ...]:
        """Return the background jobs whose end the record reports."""

    def assigned(self, record: Record) -> str | None:
        """Return what another agent, such as the lead of a team, asked of this one; None for other records."""

    def queued(self, record: Record) -> str | None:
        """Return the prompt that waits while the agent works; empty where the user took it back, None for other records."""

    def rewound(self, record: Record) -> int | str | None:
        """Return how far the record rewinds the conversation: a number of turns, or the id of the last record kept."""


@runtime_checkable
class HasPrices(Protocol):
    """An agent that comes with a table of prices."""

    def price(self, model: str) -> Price | None:
        """Return what a prompt costs that no cache holds; None for a model that the table does not name."""


@runtime_checkable
class CanCopy(Protocol):
    """An agent that can resume a copy of a session that leftoff wrote.

    Promises. *The original is never changed*. *Strict*: the copy is checked against all invariants before it gets its name;
    on failure no file is left that the agent would list. *Exact*: content that no change names stays byte for byte the same,
    except ids, usage and the one line with the metadata. *Usage is rewritten*, because agents decide by it when to compact;
    the old numbers are kept. *Memory is constant*. *Reversible*: each original is found by line, part, call and digest, and
    restoring it gives the same JSON value.
    """

    @property
    def invariants(self) -> tuple[Invariant, ...]:
        """The rules that a session of this agent must satisfy, in addition to those for every agent."""

    def refusal(self, session: Session) -> str | None:
        """Return why a copy might not be resumable, such as unknown fields on the chain; None if it is."""

    def live_pieces(self, session: Session, *, at_least_chars: int, head: int, tail: int) -> LivePieces:
        """Return the live content that could be cut and has at least ``at_least_chars``."""

    def original(self, record: Record, part: CutPart, call_id: str | None) -> JsonValue:
        """Return the JSON value of one piece of a record; None if the record does not have it."""

    def left_out(self, session: Session, ancestors: Sequence[Path]) -> RemovedContent:
        """Return what was cut from the session without a placeholder and its ancestors, oldest first, still have."""

    def write_copy(self, session: Session, changes: Sequence[Change], order: CopyOrder) -> Copy:
        """Write a new session file with a new id, where the agent lists it."""

    def write_fresh(self, order: FreshOrder) -> Copy:
        """Write a new session that contains one message."""


@runtime_checkable
class CanRehearse(Protocol):
    """An agent that can predict the size of a copy without writing it."""

    def copy_size(self, session: Session, changes: Sequence[Change], order: CopyOrder) -> int:
        """Return how many bytes ``write_copy`` would write; raise what it would raise."""


@runtime_checkable
class CanRunHeadless(Protocol):
    """An agent that can answer one prompt without a user and without tools, for summaries."""

    def headless_command(self) -> tuple[str, ...]:
        """Return a command that reads the prompt on standard input and prints the answer, with all tools disabled."""


@runtime_checkable
class CanResume(Protocol):
    """An agent that can resume a session from the command line, in the session's folder."""

    def resume_command(self, session_id: str) -> tuple[str, ...]:
        """Return the command that resumes the session."""


@runtime_checkable
class CanStart(Protocol):
    """An agent that ``leftoff run`` can start with the user's flags, and start again in another session with the same ones."""

    def run_command(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """Return the command that starts the agent with these flags."""

    def run_again_command(self, session_id: str, arguments: Sequence[str]) -> tuple[str, ...] | None:
        """Return the command that resumes the session with the same flags, without the prompt and the first session's id.

        Return None if the flags make the agent answer once and exit.
        """


@runtime_checkable
class HasEvents(Protocol):
    """An agent whose hook events can be read and answered.

    Promises. *No object raises*: anything that is not an event gives None. *No harm to the turn*: a reply contains only what
    the agent supports at that event, blocks only a prompt that was a command for leftoff, and is empty without a text.
    """

    def event(self, payload: JsonObject) -> HookEvent | None:
        """Read the event that a hook was called with."""

    def reply(self, event: HookEvent, response: HookResponse) -> bytes:
        """Return what the hook prints to deliver the response."""


@runtime_checkable
class HasFastPath(Protocol):
    """An agent whose events the fast path can handle alone as long as no threshold is crossed.

    Without these rules every event of the agent starts the full program, which is correct but slower.
    """

    @property
    def fast_path(self) -> FastPathRules:
        """How the fast path reads the agent's events and the end of its transcript."""


@runtime_checkable
class KeepsSessions(Protocol):
    """An agent whose sessions may run in a background process, which keeps them for a while after the user has left."""

    def open_screens(self, client_pid: int, project: Path) -> int | None:
        """Return how many screens of that process are known to be open in the project; None if it is itself a screen."""

    def is_at_work(self, transcript: Path) -> bool:
        """Return whether a turn of the session is not finished yet, by its transcript."""


@runtime_checkable
class HasHooks(Protocol):
    """An agent that runs hook commands which its settings name.

    Promises. *Nothing is written*: the methods take and return texts. *Only leftoff's entries change*: all other entries,
    their order and every other byte stay the same. *Reversible*: undoing the edits restores the text; ``unwired`` restores it
    up to white space, also if others have changed it since. *Broken settings are refused* with ConfigError.
    """

    def settings_files(self, scope: Scope, project: Path) -> tuple[Path, ...]:
        """Return the settings file to edit, preceded by the files that it overrides."""

    def wired(
        self, text: str, commands: AgentCommands, beneath: Sequence[str], *, where: Path
    ) -> WiredSettings:
        """Add leftoff's entries to a text without any; ``beneath`` are the texts of the files that ``where`` overrides."""

    def unwired(self, text: str, was: EditTrace | None, *, where: Path) -> str:
        """Remove leftoff's entries; ``was`` are the recorded edits, None if they are not known."""

    def ours_in(self, text: str, *, where: Path) -> tuple[Hook, ...]:
        """Return leftoff's entries in a settings text; none if the text is broken."""

    def hooks_here(self, project: Path) -> tuple[Hook, ...]:
        """Return every hook that runs in the project, leftoff's and others."""

    def hook_troubles(self, scope: Scope, project: Path) -> tuple[HookProblem, ...]:
        """Return why the agent would not run the hooks of that scope."""


@runtime_checkable
class TakesMcpServer(Protocol):
    """An agent with the promises of ``HasHooks`` that reads its MCP servers from one file; ``unwired`` is for this file too."""

    @property
    def mcp_file(self) -> Path:
        """The file."""

    def with_mcp_server(self, text: str, command: Sequence[str], *, where: Path) -> WiredSettings:
        """Add leftoff's server to a text without it."""


@runtime_checkable
class HasStatusLine(Protocol):
    """An agent that shows the output of a status line command."""

    def status_input(self, payload: JsonObject) -> StatusInput | None:
        """Read what the agent passes to the command; None if it is not input of this agent."""


class StorageBackend(Protocol):
    """Where resume logs are stored.

    Promises. *Read your writes*: a log can be loaded as soon as ``save`` returns, by any process, and its ``to_dict`` equals
    the saved one's. *Atomic*: a reader sees a whole log or none; a crash leaves the old one or the new one. *Last save wins*:
    saving a session again replaces its log; of two concurrent saves one remains, complete. *Order*: ``list`` gives the newest
    save first, across machines as far as their clocks agree. *Absence is not an error*: ``load`` gives None and ``delete``
    gives False. *A broken entry hides no other*; loading it raises DocumentError. *Bad identifiers* raise InvalidIdError before
    anything is touched. *Deleted means gone*: the log does not exist when ``delete`` returns. Only a save that its caller gave
    up and a server finishes later can bring it back.
    """

    def save(self, resume_log: ResumeLog) -> str:
        """Save the log and return the identifier to load it by."""

    def load(self, identifier: str) -> ResumeLog | None:
        """Return the log; None if it does not exist, DocumentError if it is broken."""

    def list(self) -> list[str]:
        """Return all identifiers, newest save first."""

    def delete(self, identifier: str) -> bool:
        """Delete the log and return whether it existed."""


@runtime_checkable
class TakesOptions(Protocol):
    """A storage backend that takes the user's ``storage_options``."""

    def with_options(self, options: Mapping[str, str]) -> StorageBackend:
        """Return the configured backend, without connecting; ConfigError for options that it does not know."""


@runtime_checkable
class KnowsProjects(Protocol):
    """A storage backend that separates the logs of several projects, by their metadata."""

    def for_project(self, key: str) -> StorageBackend:
        """Return the backend restricted to one project (``ProjectIdentity.key``)."""


@runtime_checkable
class CanSaveLate(Protocol):
    """A storage backend that accepts logs long after they were saved locally, and more than once.

    Promises. *Idempotent*: sending a log twice equals sending it once. *Ordered*: a log that was saved later stays newer.
    """

    def save_as_of(self, resume_log: ResumeLog, saved_ns: int) -> str:
        """Save the log as of that moment, in nanoseconds since 1970."""


@runtime_checkable
class TellsMoments(Protocol):
    """A storage backend that knows when a log was saved, so that a machine whose clock is behind can save after it."""

    def saved_at(self, identifier: str) -> int | None:
        """Return when the log was saved, in nanoseconds since 1970; None if it does not exist."""


@runtime_checkable
class CanRewrite(Protocol):
    """A storage backend that can rewrite every version of every log, in every project.

    Promises. *Independent*: an entry that cannot be rewritten hides no other. *In place*: a rewritten log keeps its project and
    its moment. *Nothing old remains*: the store has no earlier form of what was rewritten.
    """

    def rewrite(self, change: Callable[[bytes], bytes | None]) -> Iterator[str | LeftoffError]:
        """Pass the JSON of each log to ``change`` and store the result; None, or any change of a broken log, deletes it.

        Yield the session ids of changed and deleted logs, and an error for each log that could not be changed.
        """


@runtime_checkable
class CanBeChecked(Protocol):
    """A storage backend that can check whether it works."""

    def check(self) -> str:
        """Return a sentence that says what was reached; StorageError if it does not work. Changes no log."""


class SectionProvider(Protocol):
    """Writes one more section of a resume log.

    Promises: the same session state gives the same content, and nothing is written. A provider that raises or does not
    return text is reported and left out.
    """

    def get_section_name(self) -> str:
        """Return the heading, on one line."""

    def get_token_budget(self) -> int:
        """Return the most tokens that the section may take of the log's total."""

    def generate_content(self, session_state: dict[str, Any]) -> str:
        """Return the Markdown below the heading; headings in it are escaped."""


class TriggerCondition(Protocol):
    """Decides when a resume log is due. It is asked often, so it must be fast and have no side effects."""

    def should_trigger(self, context_metrics: ContextMetrics, session_state: dict[str, Any]) -> bool:
        """Return whether to save a resume log now."""


class Summariser(Protocol):
    """Summarises text.

    Promises: it runs no tool and triggers no hook of leftoff, returns within ``timeout_seconds``, and raises ProcessError
    instead of returning an empty summary.
    """

    def summarise(self, prompt: str, *, timeout_seconds: float) -> str:
        """Return the summary that ``prompt`` asks for."""
