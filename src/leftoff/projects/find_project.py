"""Which projects a repository has, which one a selector means, and reading and writing their resume states under a lock.

Every change starts from what is on disk; if the file changes between reading and writing, that is an error and nothing is
written. Changing a document never makes a foreign one trusted: written, trusted and foreign documents stay what they are.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leftoff.config.settings import ProjectStateSettings
from leftoff.core.wire import JsonObject
from leftoff.errors import LeftoffError, NotFoundError, UsageError
from leftoff.platform import clock, files, locks, paths
from leftoff.platform.paths import Project
from leftoff.platform.register import Judgement, Register
from leftoff.projects import layout
from leftoff.projects.layout import Home, Tree
from leftoff.workspace import Workspace

if TYPE_CHECKING:
    from leftoff.projects.document import Document
    from leftoff.projects.project_state import State

FOLDER = "projects"


class ProjectSet(NamedTuple):
    """The projects of a repository, with the settings in force."""

    folder: Path
    tree: Tree
    homes: tuple[Home, ...]
    settings: ProjectStateSettings
    register: Register

    def find(self, selector: str | None) -> Home:
        """Return the project that ``selector`` names; None selects the one the folder is in, or the only open one."""
        if selector is not None:
            return layout.require_real_files(layout.find_home(self.homes, selector, self.names))
        inside = [
            home
            for home in self.homes
            if home.working is not None and self.folder.is_relative_to(home.folder)
        ]
        begun = [home for home in self.homes if home.is_begun]
        candidates = inside or [home for home in begun if not self.is_complete(home)] or begun
        if not candidates:
            raise NotFoundError('There is no project here yet. To start one: leftoff project init "NAME"')
        if len(candidates) > 1:
            some = ", ".join(home.id for home in candidates[:6])
            example = candidates[0].number or candidates[0].id
            raise UsageError(
                f"{len(candidates)} projects are open here: {some}. Say which one, by number or name: load and resume take "
                f"it as it is (leftoff project load {example}), save, complete and close with --project {example}."
            )
        return layout.require_real_files(candidates[0])

    @property
    def names(self) -> dict[str, str]:
        """The names of the projects by id, if their states can be read."""
        documents = {home.id: self.load_valid_state(home) for home in self.homes}
        return {
            project_id: document.state.project.project_name or ""
            for project_id, document in documents.items()
            if document is not None
        }

    def load_valid_state(self, home: Home) -> Document | None:
        """Return a project's resume state; None if it has none, or none that is valid."""
        with suppress(LeftoffError):
            document = load_state(home)
            _ = document.state  # raises if it is not valid
            return document
        return None

    def require_trusted(self, home: Home) -> None:
        """Raise NotTrustedError, with what to type, if the state of ``home`` may not be passed to an agent."""
        self.register.require(self.judge(home)[0])

    def judge(self, home: Home) -> tuple[Path, Judgement]:
        """Return the document that decides whether the project may be passed to an agent: its state, or steps that arrived.

        The steps are the user's own document, but the next task is read from them: those that git or an archive has brought
        wait too.
        """
        state, steps = self.register.judge(home.state), home.part("steps")
        if state.standing != "foreign" and steps.is_file():
            judged = self.register.judge_own(steps)
            if judged.standing == "foreign":
                return steps, judged
        return home.state, state

    def note_steps(self, home: Home, at: datetime) -> None:
        """Record steps that were made here, so that they stay usable when git has them, and later arrivals are noticed."""
        steps = home.part("steps")
        if not steps.is_file() or str(steps) in self.register.noted_paths(steps.parent):
            return
        if self.register.judge_own(steps).standing != "foreign":
            self.register.trust(steps, at)

    def is_complete(self, home: Home) -> bool:
        """Return whether the project is complete."""
        document = self.load_valid_state(home)
        return document is not None and document.state.project.project_status == "COMPLETE"


def own_folder(project: Project) -> Project:
    """Return the project with the folder of this checkout: a state belongs to a branch, so a worktree has its own."""
    if project.worktree is None:
        return project
    return project._replace(folder=project.root / paths.PROJECT_FOLDER)


def load_projects(workspace: Workspace) -> ProjectSet:
    """Return all projects of the workspace's repository. Nothing is created on disk."""
    project, settings = workspace.project, workspace.settings.project_state
    names = {**ProjectStateSettings().layout, **settings.layout}
    tree = Tree(
        root=project.root,
        projects=paths.require_inside(project.root, project.root / settings.root),
        plain=own_folder(project).folder / layout.PLAIN_FOLDER,
        planning=names["planning"],
        resources=names["resources"],
        working=names["working"],
    )
    return ProjectSet(
        folder=workspace.folder.resolve(),
        tree=tree,
        homes=tuple(layout.list_homes(tree)),
        settings=settings,
        register=Register(folder=paths.data_folder()),
    )


class ListedProject(NamedTuple):
    """One project. ``state`` is ``None`` if it has none, or none that can be read; ``trouble`` says why."""

    home: Home
    state: State | None
    judgement: Judgement | None
    trouble: str | None = None

    @property
    def updated_at(self) -> datetime | None:
        """When its state was last updated; None if it does not say."""
        return self.state.metadata.last_updated if self.state is not None else None

    def to_dict(self) -> JsonObject:
        """Return the form that scripts rely on."""
        from leftoff.projects.project_state import State  # noqa: PLC0415 - hooks load this module and seldom get here

        state, at = self.state or State(), self.updated_at
        return {
            "id": self.home.id,
            "number": self.home.number,
            "name": state.project.project_name,
            "status": state.project.project_status,
            "next_action": state.next_action,
            "tasks_completed": state.execution.progress_tasks_completed,
            "tasks_total": state.execution.progress_tasks_total,
            "last_updated": None if at is None else clock.format_rfc3339(at),
            "state_file": str(self.home.state),
            "standing": None if self.judgement is None else self.judgement.standing,
            "waits_because": None if self.judgement is None else self.judgement.why or None,
            "trouble": self.trouble,
        }


def list_projects(workspace: Workspace) -> list[ListedProject]:
    """Return all projects; one whose state is broken hides no other."""
    projects = load_projects(workspace)
    return [_list_project(projects, home) for home in projects.homes]


def _list_project(projects: ProjectSet, home: Home) -> ListedProject:
    from leftoff.projects import progress  # noqa: PLC0415 - hooks load this module and seldom get here

    try:
        state = progress.derive_state(load_state(home).state, progress.gather_facts(home))
        return ListedProject(home=home, state=state, judgement=projects.register.judge(home.state))
    except LeftoffError as error:
        return ListedProject(home=home, state=None, judgement=None, trouble=error.message)


class SavedState(NamedTuple):
    """A resume state after a change. ``is_changed`` is true if it was written just now."""

    home: Home
    document: Document
    is_changed: bool
    judgement: Judgement


def load_state(home: Home) -> Document:
    """Return the resume state; raise NotFoundError if none exists."""
    from leftoff.projects.document import LARGEST_BYTES, Document  # noqa: PLC0415 - hooks load this module and seldom get here

    data = layout.read_bytes(layout.require_real_files(home), home.state, LARGEST_BYTES)
    if data is None:
        raise NotFoundError(
            f"{home.state}: {home.id} has no resume state yet. To make one: leftoff project import {home.id}",
            path=home.state,
        )
    return Document.of_bytes(data, str(home.state))


def change_state(
    home: Home, step: Callable[[Document], Document], register: Register, at: datetime
) -> SavedState:
    """Apply ``step`` to the resume state and the history file on disk. The caller holds the project's lock."""
    before, moved_bytes = load_state(home), _read_history(home)
    before = replace(before, moved=_decode(moved_bytes))
    after = step(before)
    judgement = register.judge(home.state)
    if after.text == before.text:
        return SavedState(home=home, document=before, is_changed=False, judgement=judgement)
    # First, so that an interruption leaves an entry in both files, never in none.
    if after.moved != before.moved:
        moved = after.moved.encode("utf-8", "surrogateescape")
        files.replace_if_unchanged(home.history, moved_bytes, moved)
        if judgement.standing != "foreign":
            register.note_written(home.history, home.id, at)
    files.replace_if_unchanged(home.state, before.to_bytes(), after.to_bytes())
    if judgement.standing == "trusted":
        register.trust(home.state, at)
    elif judgement.standing != "foreign":
        register.note_written(home.state, home.id, at)
    return SavedState(home=home, document=after, is_changed=True, judgement=judgement)


def _read_history(home: Home) -> bytes | None:
    """Return what was moved out of the resume state; None if nothing was."""
    from leftoff.projects.document import LARGEST_BYTES  # noqa: PLC0415 - hooks load this module and seldom get here

    return layout.read_bytes(home, home.history, LARGEST_BYTES)


def _decode(data: bytes | None) -> str:
    return "" if data is None else data.decode("utf-8", "surrogateescape")


def create_state(home: Home, document: Document) -> bool:
    """Write the first resume state of a project; return False, and change nothing, if there is one."""
    return files.create_file(layout.require_real_files(home).state, document.to_bytes())


@contextmanager
def project_lock(home: Home) -> Iterator[None]:
    """Keep other leftoff processes from changing the project."""
    with _lock(home.state):
        yield


@contextmanager
def tree_lock(tree: Tree) -> Iterator[None]:
    """Keep other leftoff processes from creating a project in the tree."""
    with _lock(tree.projects):
        yield


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold the lock of a path; its file is in the state folder, not in the repository."""
    folder = paths.state_folder() / FOLDER
    files.make_folder(folder)
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:24]
    with locks.hold(folder / f"{name}.lock"):
        yield


def write_document(path: Path, before: str, after: str) -> None:
    """Write the new text of a document; raise if the file has changed since it was read."""
    if before != after:
        files.replace_if_unchanged(
            path, before.encode("utf-8", "surrogateescape"), after.encode("utf-8", "surrogateescape")
        )
