"""``ResumeState`` (001): a project's ``_resume.md`` as an object to load, update and save."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from leftoff.flows import project_edit as flow
from leftoff.projects import body
from leftoff.projects.body import Item, ListName
from leftoff.projects.document import Document
from leftoff.projects.layout import Home
from leftoff.projects.values import Plain, State
from leftoff.system import paths


class ResumeState:
    """The state as it was loaded, with what was updated since; ``save`` puts both together with what stands on the disk."""

    def __init__(self, home: Home, document: Document, project_path: Path) -> None:
        self.path = home.state
        self.project_path = project_path
        self._home, self._document = home, document
        self._changes: dict[str, Plain] = {}

    @classmethod
    def load(cls, project: str | int | None = None, project_path: Path | str | None = None) -> ResumeState:
        """The state of a project: by number, name or part of it; without one, the only open project."""
        folder = Path(project_path) if project_path is not None else paths.working_folder()
        home, document = flow.opened(None if project is None else str(project), folder)
        return cls(home, document, folder)

    @property
    def state(self) -> State:
        """The front matter as a typed value, updates included; DocumentError where a key is of the wrong kind."""
        return self._document.with_values(self._changes).state

    @property
    def values(self) -> dict[str, Any]:
        """The whole front matter, unknown keys too."""
        return cast("dict[str, Any]", self._document.with_values(self._changes).values)

    @property
    def sections(self) -> dict[str, str]:
        """The body's sections by heading."""
        return body.sections(self._document.body)

    def listed(self, name: ListName) -> list[Item]:
        """The entries of one of the body's lists: decisions, assumptions, blockers, mental-models, created, …"""
        return body.listed(self._document.body, name)

    def update(self, changes: Mapping[str, Any]) -> None:
        """Set keys of the front matter; UsageError for an unknown key, DocumentError for a value of the wrong kind."""
        self._changes |= flow.checked(changes, str(self.path))

    def save(self) -> Path:
        """Write what was updated. StorageError, and nothing written, where somebody else has changed the same keys."""
        kept = flow.edit(self._home, self._document, self._changes, self.project_path)
        self._document, self._changes = kept.document, {}
        return self.path
