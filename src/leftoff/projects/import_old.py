"""Import resume states of older forms: their keys and texts are kept, and what the current form has beside them is added.

What comes from a file that this machine did not write stays foreign until ``leftoff trust``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from leftoff.errors import DocumentError, LeftoffError, NotFoundError, NothingToDoError
from leftoff.platform import clock
from leftoff.projects import body, find_project, layout, project_state, update
from leftoff.projects.document import Document
from leftoff.projects.find_project import ProjectSet, load_projects
from leftoff.projects.layout import Home
from leftoff.projects.project_state import Plain
from leftoff.projects.update import gather_update
from leftoff.workspace import Workspace

How = Literal["completed", "taken over", "begun", "nothing to do", "failed"]
# The former name of a key → its name now.
_RENAMED: Mapping[str, str] = {
    "phase": "current_phase",
    "last_skill": "current_skill",
    "build_id": "project_id",
    "build_name": "project_name",
    "current_task": "next_task_number",
    "total_tasks": "progress_tasks_total",
    "tasks_completed": "progress_tasks_completed",
}
# The former name of a phase → its name now.
_PHASES: Mapping[str, str] = {
    "discovery": "research",
    "ideation": "research",
    "documentation": "execution",
    "implementation": "execution",
    "build": "execution",
    "complete": "deployment",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedProject:
    """The result for one project. ``waits`` means that its state must be trusted before agents get it."""

    home: Home
    how: How
    waits: bool = False
    trouble: str | None = None


def import_projects(selector: str | None, workspace: Workspace) -> list[ImportedProject]:
    """Import the selected project, or all; one that fails hides no other. Raise NothingToDoError if all are current."""
    projects, at = load_projects(workspace), clock.now()
    homes = [projects.find(selector)] if selector is not None else [*projects.homes]
    if not homes:
        raise NotFoundError(
            f"{projects.tree.projects}: no project was found. To begin one: leftoff project init NAME"
        )
    imported = [_import_project(projects, home, at) for home in homes]
    if all(project.how == "nothing to do" for project in imported):
        raise NothingToDoError("Nothing to import: every project has a current resume state already.")
    return imported


def _import_project(projects: ProjectSet, home: Home, at: datetime) -> ImportedProject:
    try:
        with find_project.project_lock(layout.require_real_files(home)):
            how = _import_state(projects, home, at)
        waits = how != "nothing to do" and projects.register.standing(home.state) == "foreign"
        return ImportedProject(home=home, how=how, waits=waits)
    except LeftoffError as error:
        return ImportedProject(home=home, how="failed", trouble=error.message)


def _import_state(projects: ProjectSet, home: Home, at: datetime) -> How:
    text = layout.read_text(home, home.state)
    if text is None:
        return _create_from_older(projects, home, at)
    if body.find_blocks(text):
        return "nothing to do"
    news = gather_update(projects, home, at)

    def step(document: Document) -> Document:
        front, _ = _parts(document)
        if not front and document.text == text and not _has_front(document):
            fresh = update.create_document(home.id, _project_name(home), news)
            return update.adopt_older(fresh, {}, document.text)
        missing = {key: value for key, value in front.items() if key not in document.values}
        return update.complete_document(document.with_values(missing), home.id, news)

    saved = find_project.change_state(home, step, projects.register, at)
    return "completed" if saved.is_changed else "nothing to do"


def _create_from_older(projects: ProjectSet, home: Home, at: datetime) -> How:
    """Create a state. One with the contents of an older document is not registered as this machine's."""
    first = update.create_document(home.id, _project_name(home), gather_update(projects, home, at))
    text = layout.read_text(home, home.older)
    if text is None:
        find_project.create_state(home, first)
        projects.register.note_written(home.state, home.id, at)
        return "begun"
    document = Document(text=text, where=str(home.older))
    front, body_text = _parts(document)
    adopted = update.adopt_older(first, front, body_text)
    if front:
        adopted = update.copy_unknown_keys(adopted, document, unknown_keys(document))
    find_project.create_state(home, adopted)
    return "taken over"


def _parts(document: Document) -> tuple[dict[str, Plain], str]:
    if not _has_front(document):
        return {}, document.text
    return read_old_front(document), document.body


def _has_front(document: Document) -> bool:
    try:
        return bool(document.values)
    except DocumentError as error:
        if error.line == 1 and "no front matter" in error.message:
            return False
        raise


def _project_name(home: Home) -> str:
    """Return the title of the overview, else the name of the folder."""
    for line in (layout.read_beginning(home, home.part("overview")) or "").splitlines():
        if line.startswith("# ") and line.isprintable() and line[2:].strip():
            return line[2:].strip()
    return home.id.partition("-")[2].replace("-", " ").title() or home.id


def read_old_front(document: Document) -> dict[str, Plain]:
    """Return the values of an older front matter by the current keys; what fits none of them is left out."""
    old = document.values
    new = {_RENAMED.get(key, key): value for key, value in old.items() if value is not None}
    phase = new.get("current_phase")
    if isinstance(phase, str):
        new["current_phase"] = _PHASES.get(phase.lower(), phase.lower())
    ids = old.get("session_ids")
    if isinstance(ids, list) and "session_count" not in new:
        new["session_count"] = len(ids)
    return {key: value for key, value in new.items() if key in project_state.KEYS and _is_valid(key, value)}


def unknown_keys(document: Document) -> list[str]:
    """Return the keys that have no current name; they are kept as they are."""
    taken = read_old_front(document)
    return [
        key for key in document.values if key not in project_state.KEYS and _RENAMED.get(key) not in taken
    ]


def _is_valid(key: str, value: Plain) -> bool:
    try:
        project_state.parse_state({key: value}, where="")
    except DocumentError:
        return False
    return True
