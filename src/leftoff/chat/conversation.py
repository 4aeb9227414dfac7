"""What the chat loop talks to, where chats are saved, and the state of a chat while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from leftoff.chat.chat_file import ChatFile, Entry
from leftoff.chat.page import Header, Parent, Tokens, Totals
from leftoff.config import load
from leftoff.config.settings import ChatSettings
from leftoff.core.metrics import ContextMetrics, Level, Thresholds
from leftoff.platform import clock, paths
from leftoff.platform.register import Register
from leftoff.workspace import Workspace, log_folder

# How an agent's history was emptied: by its own reset method, because leftoff kept the history, by clearing its list of
# messages, by creating a new agent; or it could not be.
Reset = Literal["hook", "dropped", "cleared", "fresh", "cannot"]
OnText = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer. ``text`` is ``None`` if the agent returned nothing; the other fields are None if it did not report them.

    ``used_tokens`` is what the context window held when the answer was complete.
    """

    text: str | None
    tokens: Tokens | None = None
    used_tokens: int | None = None
    model: str | None = None


class ChatAgent(Protocol):
    """Anything that answers a prompt.

    Promises: failures are raised as LeftoffError, whatever the agent raised. Ctrl-C stops the answer: KeyboardInterrupt leaves
    ``ask`` soon even if the agent hangs, and the next ``ask`` works or says why not. Streamed text was passed to ``on_text``.
    """

    @property
    def name(self) -> str:
        """The name shown to people."""
        ...

    @property
    def path(self) -> str:
        """Where the agent comes from: a file, an agent's id or an address."""
        ...

    def ask(self, prompt: str, *, on_text: OnText, timeout_seconds: float | None) -> Reply:
        """Return the answer to a prompt; agents that stream call ``on_text`` with each piece."""
        ...

    def reset(self) -> Reset:
        """Forget the conversation, and say how."""
        ...


@dataclass(frozen=True, kw_only=True)
class ChatStore:
    """Where the chats of a workspace are saved. ``register`` records what this machine wrote itself."""

    workspace: Workspace
    folder: Path
    register: Register = field(default_factory=lambda: Register(folder=paths.data_folder()))

    @classmethod
    def open(cls, workspace: Workspace, folder: Path | None = None) -> ChatStore:
        """Return the store in ``folder``; by default in the folder that the setting ``chat.folder`` names."""
        return cls(
            workspace=workspace,
            folder=folder or log_folder(workspace.project, workspace.settings.chat.folder),
        )

    @property
    def settings(self) -> ChatSettings:
        """The settings of the chat loop."""
        return self.workspace.settings.chat

    def create_project_folder(self) -> None:
        """Create the project's ``.leftoff`` folder where the chats are kept in it."""
        if self.folder.is_relative_to(self.workspace.project.folder):
            paths.make_project_folder(self.workspace.project)


@dataclass(slots=True, kw_only=True)
class Chat:
    """The state of a running chat. ``file`` is ``None`` until something is saved; ``unsaved`` holds entries still to be saved."""

    agent: ChatAgent
    store: ChatStore
    window_tokens: int | None = None  # given by the user; None: the settings' window for the model
    began: datetime = field(default_factory=clock.now)
    parent: Parent | None = None
    parent_summary: str | None = None
    file: ChatFile | None = None
    unsaved: list[Entry] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    summarised_queries: int = 0  # how many queries the summary in the file covers
    pending_context: str | None = (
        None  # text that precedes the next query, because the agent has not received it yet
    )
    used_tokens: int | None = None
    used_is_estimated: bool = True
    model: str | None = None
    announced_level: Level = Level.OK

    @property
    def header(self) -> Header:
        """The header of the chat's page; the id is empty until the file is created."""
        return Header(
            session_id=self.file.session_id if self.file else "",
            date=self.began,
            agent=self.agent.name,
            agent_path=self.agent.path,
            resumed_from=self.parent.session_id if self.parent else None,
            previous_session=self.parent.path if self.parent else None,
        )

    @property
    def thresholds(self) -> Thresholds:
        """The levels at which the user is warned."""
        return load.thresholds(self.store.workspace.settings)

    @property
    def metrics(self) -> ContextMetrics:
        """How full the window is. Its size is what the user gave for this chat, or set for the model."""
        window = self.window_tokens or self.store.workspace.settings.windows.get(self.model or "")
        return ContextMetrics(
            total_budget=window,
            used_tokens=self.used_tokens,
            model=self.model or "unknown",
            timestamp=clock.format_rfc3339(self.began),
            window_tokens=window,
            basis="estimated" if self.used_is_estimated else "reported",
            window_basis="setting" if window else "unknown",
        )
