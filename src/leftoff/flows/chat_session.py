"""A chat while it is being talked: who talks, where it is kept, what has not been saved yet, how full the window is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from datetime import datetime
from pathlib import Path

from leftoff.config import layers
from leftoff.config.settings import Settings
from leftoff.conversations.chat_file import ChatFile, Entry
from leftoff.conversations.values import Header, Parent, Totals
from leftoff.flows.capture import capture_of
from leftoff.flows.chat_agent import ChatAgent
from leftoff.flows.log_folder import log_folder
from leftoff.flows.settings import settings_here
from leftoff.model.context_metrics import ContextMetrics, Level, Thresholds
from leftoff.model.values import dataclass
from leftoff.system import clock, paths
from leftoff.system.paths import Project
from leftoff.system.register import Register


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPlace:
    """Where chats of a working folder are kept, and how: the user's wishes, ready to be used many times."""

    project: Project
    folder: Path
    register: Register
    settings: Settings
    clean: Callable[[str], str]  # takes credentials out
    thresholds: Thresholds
    window_tokens: int | None = None  # given for this chat; else by model


def place_of(
    working_folder: Path, *, folder: Path | None = None, window_tokens: int | None = None
) -> ChatPlace:
    """As the settings in force want it; ``folder`` holds the chats where the caller names one. Nothing is created."""
    project = paths.project_of(working_folder)
    settings = settings_here(working_folder).settings
    redactor = capture_of(settings).redactor
    return ChatPlace(
        project=project,
        folder=folder or log_folder(project, settings.chat.folder),
        register=Register(folder=paths.data_folder()),
        settings=settings,
        clean=(lambda text: text) if redactor is None else redactor.redact,
        thresholds=layers.thresholds(settings),
        window_tokens=window_tokens,
    )


@dataclass(slots=True, kw_only=True)
class Chat:
    """One session of the loop. ``file`` None: nothing was saved yet; ``unsaved`` is what waits to be."""

    agent: ChatAgent
    place: ChatPlace
    began: datetime
    parent: Parent | None = None
    background: str | None = None  # the parent's summary
    file: ChatFile | None = None
    unsaved: list[Entry] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    summarised_queries: int = 0  # how many of the queries the summary in the file knows
    owed: str | None = None  # what the agent must still be told, before the next query
    used_tokens: int | None = None
    used_is_estimated: bool = True
    model: str | None = None
    said: Level = Level.OK

    @property
    def header(self) -> Header:
        """As it stands in the file; the id is given when that is made."""
        return Header(
            session_id=self.file.session_id if self.file else "",
            date=self.began,
            agent=self.agent.name,
            agent_path=self.agent.path,
            resumed_from=self.parent.session_id if self.parent else None,
            previous_session=self.parent.path if self.parent else None,
        )

    @property
    def metrics(self) -> ContextMetrics:
        """How full the window is; the window is what the user says it is, for this chat or for the model."""
        window = self.place.window_tokens or self.place.settings.windows.get(self.model or "")
        return ContextMetrics(
            total_budget=window,
            used_tokens=self.used_tokens,
            model=self.model or "unknown",
            timestamp=clock.rfc3339(self.began),
            window_tokens=window,
            basis="estimated" if self.used_is_estimated else "reported",
            window_basis="setting" if window else "unknown",
        )


def begin(agent: ChatAgent, place: ChatPlace) -> Chat:
    """A chat in which nothing was said yet."""
    return Chat(agent=agent, place=place, began=clock.now())
