"""What ``leftoff project`` does to a project: create it, save its state, tick tasks, close a session, set values by hand."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from leftoff.core.wire import JsonObject
from leftoff.errors import LeftoffError, NotFoundError, NothingToDoError, StorageError, UsageError
from leftoff.platform import clock, files, git, paths
from leftoff.platform.paths import Project
from leftoff.projects import body, find_project, history, layout, project_state, steps, update
from leftoff.projects.body import Item, ListName
from leftoff.projects.condense import HistoryFile
from leftoff.projects.document import Document
from leftoff.projects.find_project import ProjectSet, SavedState, load_projects, own_folder
from leftoff.projects.history import SessionWork, session_work, touched_projects
from leftoff.projects.layout import Home
from leftoff.projects.progress import NO_INPUT, TO_DO, UserInput
from leftoff.projects.project_state import Plain, State
from leftoff.projects.steps import Steps
from leftoff.projects.update import gather_update, update_state
from leftoff.sessions.find import LATEST, find_session
from leftoff.workspace import Capture, Workspace

_LONGEST_NAME = 200
_DOCUMENTS = {
    "overview": f"# {{name}}\n\n{TO_DO}\n\n## Purpose\n\n## Goals\n\n## Success\n",
    "plan": f"# Plan: {{name}}\n\n{TO_DO}\n\n## Approach\n\n## Decisions\n\n## Risks\n",
    "steps": f"# Steps: {{name}}\n\n{TO_DO}\n\n## Section 1: Setup\n",
    "research": f"# Research: {{name}}\n\n{TO_DO}\n\n## Findings\n",
}
_MOST_NAMED = 8
_FILE_LISTS: tuple[ListName, ...] = ("created", "modified", "pending")


def init(name: str, workspace: Workspace) -> Home:
    """Create a project in the numbered tree, with the next free number."""
    projects, project = load_projects(workspace), workspace.project
    tree = projects.tree
    _check_name(name)
    with find_project.tree_lock(tree):  # two processes must not take the same number
        home = layout.numbered_home(tree, layout.new_id(tree, name))
        paths.require_inside(tree.root, home.folder)
        if not project.in_git:
            paths.make_project_folder(project)  # marks the root, so that the folders below it find it
        files.make_folder(home.folder)
    try:
        for folder in (home.planning, home.resources, *([home.working] if home.working else [])):
            files.make_folder(folder)
        for part, text in _DOCUMENTS.items():
            files.create_file(home.part(part), text.format(name=name.strip()).encode())  # type: ignore[arg-type]
        projects.register.note_written(
            home.part("steps"), home.id, clock.now()
        )  # the next task is read from them
        return _create_state(projects, home, name)
    except StorageError:
        shutil.rmtree(home.folder, ignore_errors=True)  # half a project would keep its number
        raise


def init_plain(name: str, workspace: Workspace) -> Home:
    """Create a state for this repository, without a tree."""
    projects = load_projects(workspace)
    _check_name(name)
    paths.make_project_folder(own_folder(workspace.project))
    files.make_folder(projects.tree.plain)
    return _create_state(projects, layout.plain_home(projects.tree), name)


def _create_state(projects: ProjectSet, home: Home, name: str) -> Home:
    at = clock.now()
    with find_project.project_lock(home):
        first = update.create_document(home.id, name.strip(), gather_update(projects, home, at))
        if not find_project.create_state(home, first):
            raise UsageError(f"{home.state}: this project has a resume state already.", path=home.state)
        projects.register.note_written(home.state, home.id, at)
    return home


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise UsageError(f"A project needs a name of one line, at most {_LONGEST_NAME} characters.")


def save(
    selector: str | None, workspace: Workspace, *, given: UserInput = NO_INPUT, session: str | None = None
) -> SavedState:
    """Update the state of a project; ``session`` selects a session that worked on it (default: the latest)."""
    return _save(selector, workspace, given=given, session=session)[0]


def _save(
    selector: str | None,
    workspace: Workspace,
    *,
    given: UserInput,
    session: str | None,
    then: Callable[[Document], Document] = lambda document: document,
) -> tuple[SavedState, SessionWork | None]:
    """Update the state of a project; return it with what the session did."""
    projects = load_projects(workspace)
    home = projects.find(selector)
    work = _find_work(session, home, workspace)
    clean = _redact_input(given, workspace.capture)
    return update_state(projects, home, clock.now(), given=clean, work=work, then=then), work


def _find_work(selector: str | None, home: Home, workspace: Workspace) -> SessionWork | None:
    """Return what the selected session did; without a selector, the latest one if it worked on the project."""
    if selector is not None:
        session = find_session(selector, workspace)
        find_project.load_state(home)  # raises if none exists
        return session_work(session, home, workspace)
    try:
        session = find_session(LATEST, workspace)
    except LeftoffError:
        return None
    document = find_project.load_state(home)
    is_known = history.has_session(document, session.agent.id, session.session_id)
    is_touched = is_known or touched_projects(session, [home], workspace)
    return session_work(session, home, workspace) if is_touched else None


def _redact_input(given: UserInput, capture: Capture) -> UserInput:
    """Return what the user said without credentials."""
    values = {name: value for name, value in given._asdict().items() if value}
    as_lists = {name: [*value] if isinstance(value, tuple) else value for name, value in values.items()}
    clean: dict[str, Any] = capture.clean_object(cast("JsonObject", as_lists))
    as_tuples: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in clean.items()
    }
    return UserInput(**as_tuples)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedTasks:
    """The tasks that were ticked, and the new state of the project."""

    home: Home
    tasks: tuple[int, ...]
    sections: tuple[str, ...]  # completed by this
    state: State

    def to_dict(self) -> JsonObject:
        """Return the form that scripts rely on."""
        return {
            "id": self.home.id,
            "completed": [*self.tasks],
            "sections_completed": [*self.sections],
            "state": self.state.to_dict(),
        }


def complete(selector: str | None, tasks: str, workspace: Workspace) -> CompletedTasks:
    """Tick the tasks that a selection such as ``1-5,8`` names, and update the state."""
    numbers = steps.parse_task_numbers(tasks)
    return _complete(selector, workspace, lambda _: numbers)


def complete_section(selector: str | None, section: int, workspace: Workspace) -> CompletedTasks:
    """Tick every task of a section, and update the state."""

    return _complete(
        selector, workspace, lambda found: [task.number for task in found.require_section(section).tasks]
    )


def _complete(
    selector: str | None, workspace: Workspace, choose: Callable[[Steps], Iterable[int]]
) -> CompletedTasks:
    projects = load_projects(workspace)
    home = projects.find(selector)
    path = home.part("steps")
    with find_project.project_lock(home):
        document = find_project.load_state(home)  # without a state nothing is ticked
        text = layout.read_text(home, path)
        if text is None:
            raise NotFoundError(f"{path}: this project has no steps yet.", path=path)
        before = steps.parse_steps(text)
        after_text = steps.tick(text, choose(before))
        after = steps.parse_steps(after_text)
        done = [
            new.number for old, new in zip(before.tasks, after.tasks, strict=True) if old.mark != new.mark
        ]
        if not done:
            raise NothingToDoError(f"{home.id}: these tasks are done or given up already.")
        at = clock.now()
        news = gather_update(projects, home, at, steps_text=after_text)
        # A state that cannot be updated is refused before anything is ticked.
        update.update_document(document, news)
        find_project.write_document(path, text, after_text)
        try:
            saved = find_project.change_state(
                home, lambda document: update.update_document(document, news), projects.register, at
            )
        except LeftoffError:
            find_project.write_document(path, after_text, text)  # both are written, or neither
            raise
    finished = (
        f"Section {new.number}: {new.name}"
        for old, new in zip(before.sections, after.sections, strict=True)
        if new.is_complete and not old.is_complete
    )
    return CompletedTasks(home=home, tasks=tuple(done), sections=tuple(finished), state=saved.document.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One question to answer before a session is closed. ``missing`` is what the answer lacks."""

    question: str
    is_good: bool
    missing: tuple[str, ...] = ()
    what_to_do: str | None = None

    def to_dict(self) -> JsonObject:
        """Return the form that scripts rely on."""
        return {
            "question": self.question,
            "is_good": self.is_good,
            "missing": [*self.missing],
            "what_to_do": self.what_to_do,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedSession:
    """The saved state, and the checks."""

    saved: SavedState
    checks: tuple[Check, ...]

    def to_dict(self) -> JsonObject:
        """Return the form that scripts rely on."""
        return {
            "id": self.saved.home.id,
            "state_file": str(self.saved.home.state),
            "state": self.saved.document.state.to_dict(),
            "checks": [check.to_dict() for check in self.checks],
        }


def close(
    selector: str | None, workspace: Workspace, *, given: UserInput = NO_INPUT, session: str | None = None
) -> ClosedSession:
    """Save the state, mark no session as the current one, and check what must not be forgotten."""
    saved, work = _save(selector, workspace, given=given, session=session, then=history.end_sessions)
    return ClosedSession(saved=saved, checks=tuple(_checks(saved, work, workspace.project)))


def _checks(saved: SavedState, work: SessionWork | None, project: Project) -> Iterator[Check]:
    text = saved.document.body
    recorded = {item.key for item in body.list_items(text, "decisions")}
    recorded |= HistoryFile(saved.document.moved).keys("decisions")
    decided = work.decisions if work is not None else ()
    missing = [decision for decision in decided if Item(text=decision).key not in recorded]
    has_none = not recorded and not decided
    yield Check(
        question="Are the decisions captured?",
        is_good=not missing and not has_none,
        missing=tuple(missing[:_MOST_NAMED]),
        what_to_do='leftoff project save --decision "WHAT: WHY"' if missing or has_none else None,
    )
    listed = {
        item.text.partition(" - ")[0].strip("` ")
        for name in _FILE_LISTS
        for item in body.list_items(text, name)
    }
    unlisted = [
        name
        for name in _changed_files(saved.home, project)
        if not any(name == path or name.endswith(f"/{path}") for path in listed)
    ]
    yield Check(
        question="Is the list of files current?",
        is_good=not unlisted,
        missing=tuple(unlisted[:_MOST_NAMED]),
        what_to_do='leftoff project save --pending "FILE - WHAT IS LEFT"' if unlisted else None,
    )
    open_blockers = [item.text for item in body.list_items(text, "blockers") if item.is_done is False]
    yield Check(
        question="Is every blocker resolved?",
        is_good=not open_blockers,
        missing=tuple(open_blockers[:_MOST_NAMED]),
        what_to_do='leftoff project save --resolved "PART OF IT"' if open_blockers else None,
    )


def _changed_files(home: Home, project: Project) -> list[str]:
    """Return what git sees as changed, without leftoff's documents and those of the plan."""
    if not project.in_git:
        return []
    dirty = git.read_ground(project.root, []).dirty or ()
    planning = str(home.planning.relative_to(home.root)) + "/"
    return [
        name
        for name in dirty
        if not name.startswith((planning, paths.PROJECT_FOLDER)) and not name.endswith("/")
    ]


def open_state(selector: str | None, workspace: Workspace) -> tuple[Home, Document]:
    """Return the selected project and its state."""
    home = load_projects(workspace).find(selector)
    return home, find_project.load_state(home)


def check_changes(changes: Mapping[str, Plain], where: str) -> dict[str, Plain]:
    """Return the changes if every key is known and every value is valid; raise otherwise."""
    if unknown := [key for key in changes if key not in project_state.KEYS]:
        raise UsageError(
            f"{unknown[0]!r} is not a key of a resume state. There are: {', '.join(project_state.KEYS)}."
        )
    project_state.parse_state(
        {key: value for key, value in changes.items() if value is not None}, where=where
    )
    return dict(changes)


def edit(home: Home, read: Document, changes: Mapping[str, Plain], workspace: Workspace) -> SavedState:
    """Set keys of the front matter. ``read`` is the document that the caller saw.

    A key that another process has changed since is refused by name; all other changes are kept.
    """
    projects, at = load_projects(workspace), clock.now()

    def step(document: Document) -> Document:
        then, now = read.values, document.values
        clashing = [key for key in changes if then.get(key) != now.get(key) != changes[key]]
        if clashing:
            raise StorageError(
                f"{home.state}: another program has changed {', '.join(clashing)} meanwhile. "
                "Nothing was written; load it again.",
                path=home.state,
            )
        changed = document.with_values(changes)
        if changed.text == document.text or "last_updated" in changes:
            return changed
        return changed.with_values({"last_updated": clock.format_rfc3339(at.replace(microsecond=0))})

    with find_project.project_lock(layout.require_real_files(home)):
        return find_project.change_state(home, step, projects.register, at)
