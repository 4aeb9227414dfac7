"""Project states and saved chats for programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from leftoff.chat import chat_file, page, saved_chats
from leftoff.chat.conversation import ChatStore
from leftoff.platform import clock
from leftoff.projects import body, commands, find_project, loader
from leftoff.projects.body import Item, ListName
from leftoff.projects.document import Document
from leftoff.projects.layout import Home
from leftoff.projects.project_state import Plain, State
from leftoff.workspace import Workspace


class ProjectLoader:
    """Says what a session must read and do to continue a project of one repository."""

    def __init__(self, project_path: Path | str | None = None) -> None:
        self._workspace = Workspace.open(None if project_path is None else Path(project_path))
        self.project_path = self._workspace.folder

    def load(self, project: str | int | None = None) -> dict[str, Any]:
        """Return ``{state, action, recommended_reads, instructions}``; NotTrustedError for a state from elsewhere."""
        selector = None if project is None else str(project)
        return dict(loader.load_project(selector, self._workspace).to_dict())

    def list(self) -> list[dict[str, Any]]:
        """Return the projects of the repository, by number."""
        return [dict(each.to_dict()) for each in find_project.list_projects(self._workspace)]


class ResumeState:
    """A project's ``_resume.md`` as it was loaded, with the updates since; ``save`` merges them into the file."""

    def __init__(self, home: Home, document: Document, workspace: Workspace) -> None:
        self.path = home.state
        self.project_path = workspace.folder
        self._workspace = workspace
        self._home, self._document = home, document
        self._changes: dict[str, Plain] = {}

    @classmethod
    def load(cls, project: str | int | None = None, project_path: Path | str | None = None) -> ResumeState:
        """Load the state of a project: by number, name or part of it; without one, of the only open project."""
        workspace = Workspace.open(None if project_path is None else Path(project_path))
        home, document = commands.open_state(None if project is None else str(project), workspace)
        return cls(home, document, workspace)

    @property
    def state(self) -> State:
        """The front matter as a typed value, with the updates; DocumentError if a value has the wrong type."""
        return self._document.with_values(self._changes).state

    @property
    def values(self) -> dict[str, Any]:
        """The whole front matter, unknown keys too."""
        return cast("dict[str, Any]", self._document.with_values(self._changes).values)

    @property
    def sections(self) -> dict[str, str]:
        """The body's sections by heading."""
        return body.split_sections(self._document.body)

    def listed(self, name: ListName) -> list[Item]:
        """Return the entries of one of the body's lists: decisions, assumptions, blockers, mental-models, created, …"""
        return body.list_items(self._document.body, name)

    def update(self, changes: Mapping[str, Any]) -> None:
        """Set keys of the front matter; UsageError for an unknown key, DocumentError for a value of the wrong type."""
        self._changes |= commands.check_changes(changes, str(self.path))

    def save(self) -> Path:
        """Write the updates; StorageError, and nothing is written, if the same keys have been changed in the file."""
        saved = commands.edit(self._home, self._document, self._changes, self._workspace)
        self._document, self._changes = saved.document, {}
        return self.path


class ChatSessions:
    """The saved chats of a folder: written with their summary, listed newest first, found by number or id."""

    def __init__(self, project_path: Path | None = None, folder: Path | None = None) -> None:
        workspace = Workspace.open(Path(project_path) if project_path else None)
        self._store = ChatStore.open(workspace, Path(folder) if folder else None)

    @property
    def folder(self) -> Path:
        """The folder of the saved chats."""
        return self._store.folder

    def save_markdown_with_summary(self, session_id: str, markdown: str, summary: str | None = None) -> Path:
        """Write a conversation and its summary block; without a summary, an existing one is kept."""
        return saved_chats.save_markdown(self._store, session_id, markdown, summary)

    def extract_summary(self, file_path: Path) -> str | None:
        """Return the summary of a saved chat without its markers; None if it is missing or damaged."""
        return page.find_summary(chat_file.read_text(Path(file_path))).text

    def extract_metadata(self, file_path: Path) -> dict[str, Any]:
        """Return what the header and the entries of a saved chat say; None for what they do not say."""
        saved = chat_file.load(Path(file_path))
        return {
            "session_id": saved.header.session_id,
            "date": clock.format_rfc3339(saved.header.date),
            "agent": saved.header.agent,
            "agent_path": saved.header.agent_path or None,
            "resumed_from": saved.header.resumed_from,
            "previous_session": saved.header.previous_session,
            "total_queries": saved.totals.queries,
            "total_tokens": saved.totals.tokens,
            "has_summary": saved.summary.text is not None,
        }

    def list(self) -> list[dict[str, Any]]:
        """Return all saved chats, newest first."""
        return [dict(each.to_dict()) for each in saved_chats.list_chats(self._store.folder).chats]

    def resolve(self, words: str | int) -> Path:
        """Return the file of a chat by its number in ``list``, its id or the beginning of it; NotFoundError if none fits."""
        return saved_chats.find_chat(self._store.folder, str(words), None).path
