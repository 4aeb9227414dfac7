"""Workspace and SessionRef: created once per command and passed down, so that nothing is looked up twice.

A ``Workspace`` is the folder a command works in with everything that follows from it: the project, the settings in force,
the redactor. A ``SessionRef`` is a session that was found: its agent, its transcript, and what listing learned on the way.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple, cast

from leftoff.config import load
from leftoff.config.load import Config
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import ConfigWarning
from leftoff.platform import paths
from leftoff.platform.paths import Project

if TYPE_CHECKING:
    from leftoff.config.settings import Settings
    from leftoff.core.project_identity import ProjectIdentity
    from leftoff.core.protocols import Agent
    from leftoff.core.session import Session, SessionEntry
    from leftoff.platform.redaction import Redactor

EXCLUDED = "left out, as capture.exclude_tools says"


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """The folder a command works in, its project and the settings in force there. Nothing is created on disk."""

    folder: Path
    project: Project
    config: Config

    @classmethod
    def open(cls, folder: Path | None = None, options: Mapping[str, str] | None = None) -> Workspace:
        """Look up the project of ``folder`` (default: the working folder) and load its settings.

        ``options`` are settings from the command line, by dotted key. Mistakes in the settings become a ConfigWarning.
        """
        folder = folder or paths.working_folder()
        project = paths.find_project(folder)
        config = load.load(
            user_file=paths.config_folder() / load.FILE_NAME,
            project_file=project.folder / load.FILE_NAME,
            environment=paths.environment(),
            options=options,
        )
        for complaint in config.complaints():
            warnings.warn(complaint, ConfigWarning, stacklevel=2)
        return cls(folder=folder, project=project, config=config)

    def at(self, folder: Path) -> Workspace:
        """Return the workspace of another folder; this one when ``folder`` is its own."""
        return self if folder == self.folder else Workspace.open(folder)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.config.settings

    @cached_property
    def redactor(self) -> Redactor | None:
        """What removes credentials from text; None where the user has switched redaction off."""
        from leftoff.platform.redaction import Redactor  # noqa: PLC0415 - its patterns are slow to load, and many commands write nothing

        wanted = self.settings.redaction
        return Redactor(allow=wanted.allow, deny=wanted.deny) if wanted.enabled else None

    def redact(self, text: str) -> str:
        """Return ``text`` without credentials, as the settings demand."""
        return text if self.redactor is None else self.redactor.redact(text)

    @cached_property
    def capture(self) -> Capture:
        """What may be recorded of a session's actions."""
        return Capture(redactor=self.redactor, exclude_tools=frozenset(self.settings.capture.exclude_tools))

    @property
    def log_folder(self) -> Path:
        """Where the project's resume logs are kept as files."""
        return log_folder(self.project, self.settings.resume_logs.storage_dir)

    @cached_property
    def identity(self) -> ProjectIdentity:
        """What this checkout shares with every other checkout of the same project."""
        return identity_of(self.project.root)


@dataclass(frozen=True, kw_only=True)
class SessionRef:
    """A session that was found. ``entry`` is what listing read of its transcript; None where it was named by its path."""

    agent: Agent
    transcript: Path
    entry: SessionEntry | None = None

    @cached_property
    def session(self) -> Session:
        """The session itself. Its records are read from disk each time they are iterated."""
        return self.agent.open(self.transcript)

    @property
    def session_id(self) -> str:
        """The id that the agent gave the session."""
        return self.session.session_id if self.entry is None else self.entry.session_id

    @property
    def project(self) -> str | None:
        """The folder that the session ran in; None where its transcript does not say."""
        return self.session.project if self.entry is None else self.entry.project

    @property
    def parent_id(self) -> str | None:
        """The session that this one was made from; None where its transcript names none."""
        parent = self.session.parent if self.entry is None else self.entry.parent
        return parent.session_id if parent else None


class Capture(NamedTuple):
    """What may be recorded: nothing of the tools that the user excluded, and no credentials.

    ``redactor`` is ``None`` where redaction is switched off.
    """

    redactor: Redactor | None
    exclude_tools: frozenset[str]

    def clean(self, value: JsonValue) -> JsonValue:
        """Return a copy of a JSON value without credentials."""
        return value if self.redactor is None else self.redactor.redact_value(value)

    def clean_data(self, action_type: str, data: JsonObject) -> JsonObject:
        """Return the data of an action as it may be kept."""
        tool = data.get("tool")
        if action_type == "tool_call" and isinstance(tool, str) and tool in self.exclude_tools:
            return {"tool": tool, "args": EXCLUDED}
        return self.clean_object(data)

    def clean_object(self, data: JsonObject) -> JsonObject:
        """Return a copy of a JSON object without credentials."""
        return cast("JsonObject", self.clean(data))


def log_folder(project: Project, storage_dir: str) -> Path:
    """Return the folder that ``resume_logs.storage_dir`` names: below ``.leftoff``, wherever that is, or below the root."""
    named = PurePath(storage_dir)
    if named.is_absolute():
        return Path(named)
    if named.parts[:1] == (paths.PROJECT_FOLDER,):
        return paths.require_inside(project.folder, project.folder.joinpath(*named.parts[1:]))
    return paths.require_inside(project.root, project.root / named)


def identity_of(root: Path) -> ProjectIdentity:
    """Return the identity of the project at ``root``; outside git, or where git says nothing, only its name."""
    from leftoff.core.project_identity import ProjectIdentity, normalise_remote  # noqa: PLC0415 - loads OpenSSL
    from leftoff.platform import git  # noqa: PLC0415 - loads subprocess, and few commands need it
    from leftoff.platform.redaction import Redactor  # noqa: PLC0415 - see Workspace.redactor

    clean = Redactor().redact  # without the user's own patterns: every machine must get the same identity
    if not root.is_dir():
        return ProjectIdentity(name=clean(root.name))
    address = git.remote_address(root)
    remote = None if address is None else normalise_remote(address)
    return ProjectIdentity(
        name=clean(root.name),
        remote=None if remote is None else clean(remote),
        root_commit=git.first_commit(root),
    )
