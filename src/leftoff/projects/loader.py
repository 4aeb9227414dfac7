"""What a session needs to continue a project: the manifest for programs and agents, and the welcome-back screen for people."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from leftoff.core import markdown
from leftoff.core.quantities import count
from leftoff.core.wire import JsonObject
from leftoff.errors import NotFoundError, OutsideFolderError
from leftoff.platform import paths
from leftoff.platform.register import WRITTEN, Judgement
from leftoff.projects import body, find_project, progress
from leftoff.projects.body import Item, ListName
from leftoff.projects.document import Document
from leftoff.projects.find_project import ProjectSet, load_projects
from leftoff.projects.layout import Home
from leftoff.projects.progress import Facts, derive_state
from leftoff.projects.project_state import State
from leftoff.projects.update import short_id
from leftoff.workspace import Workspace

Action = Literal["continue_working", "start", "complete"]
_MOST_ITEMS = 8
_LONGEST = 240
_REMEMBERED: tuple[tuple[str, body.ListName], ...] = (
    ("Decisions", "decisions"),
    ("Assumptions", "assumptions"),
    ("Open blockers", "blockers"),
    ("Mental models", "mental-models"),
    ("Files pending", "pending"),
)
_MOST_REMEMBERED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What to read and do. ``state`` is ``None`` for a project without one; all reads exist, in reading order."""

    id: str
    state: State | None
    action: Action
    recommended_reads: tuple[str, ...]
    instructions: tuple[str, ...]
    mark: str = ""  # says that the state is not trusted
    judgement: Judgement = WRITTEN

    def to_dict(self) -> JsonObject:
        """Return the form that scripts rely on."""
        return {
            "state": None if self.state is None else self.state.to_dict(),
            "action": self.action,
            "recommended_reads": [*self.recommended_reads],
            "instructions": [*self.instructions],
        }


def build_manifest(home: Home, document: Document | None, facts: Facts, folder: Path) -> Manifest:
    """Return what to read and do. Reads below ``folder`` are relative to it, others absolute."""
    state = derive_state(document.state, facts) if document is not None else None
    listed = state.files_to_load if state is not None and state.files_to_load else facts.reads
    first = [home.relative(home.state)] if document is not None else []
    reads = [_display_path(path, folder) for path in _existing_files(home, [*first, *listed])]
    action: Action = "start"
    if state is not None:
        is_complete = state.project.project_status == "COMPLETE"
        action = "complete" if is_complete else "continue_working"
    return Manifest(
        id=home.id,
        state=state,
        action=action,
        recommended_reads=tuple(reads),
        instructions=tuple(_instructions(state, action, home.id, bool(reads))),
    )


def text_for_agent(manifest: Manifest, document: Document, known: Iterable[str] = ()) -> str:
    """Return the manifest in full, then a short list of what must not be forgotten, without what the agent knows already."""
    state = manifest.state or State()
    task = state.execution
    lines = [
        f"Project: {_line(state.project.project_name or manifest.id)} ({manifest.id})",
        f"Status: {state.project.project_status}, phase {state.location.current_phase}",
        f"Next action: {_line(state.next_action or 'not known')}",
    ]
    if task.current_section is not None:
        lines.append(f"Current section: {task.current_section}: {_line(task.current_section_name or '')}")
    if task.next_task_number is not None:
        lines.append(f"Next task: #{task.next_task_number}: {_line(task.next_task_description or '')}")
    if task.progress_tasks_total:
        lines.append(
            f"Progress: {task.progress_tasks_completed}/{task.progress_tasks_total} tasks ({task.progress_percentage}%)"
        )
    lines += ["", "Files to load, in this order:"]
    lines += [f"{number}. {_line(each)}" for number, each in enumerate(manifest.recommended_reads, 1)]
    known_keys = {Item(text=text).key for text in known}
    for title, name in _REMEMBERED:
        items = [
            item
            for item in body.list_items(document.body, name)
            if item.is_done is not True and item.key not in known_keys
        ]
        if items:
            lines += ["", f"{title}:", *(f"- {_line(item.text)}" for item in items[-_MOST_ITEMS:])]
    return "\n".join(lines)


def _instructions(state: State | None, action: Action, project_id: str, has_reads: bool) -> list[str]:  # noqa: FBT001
    if state is None:
        return [
            f"{project_id} has no resume state: make one with leftoff project import {project_id}",
            *(["Read the recommended files in order."] if has_reads else []),
        ]
    if action == "complete":
        return ["Every task is done. Ask the user what comes next before you begin anything."]
    task = state.execution
    where = []
    if task.next_task_number is not None and state.location.current_phase == "execution":
        is_task = state.next_action == progress.default_action(state)
        first = "Continue with" if is_task else "Do the next action first, then"
        where = [
            f"{first} Task {task.next_task_number} of {task.progress_tasks_total}; do not repeat finished tasks."
        ]
    return [
        "Read the recommended files in order, the resume state first.",
        *where,
        "Tick tasks in the steps as you finish them, or: leftoff project complete NUMBERS",
        'Say decisions with their reason, or: leftoff project save --decision "WHAT: WHY"',
    ]


def _existing_files(home: Home, names: list[str]) -> list[Path]:
    """Return the files that exist in the repository, each once. Paths that lead out of it are left out."""
    found: dict[Path, None] = {}
    for name in names:
        try:
            for path in (home.folder / name, home.root / name):
                if path.is_file():
                    found.setdefault(paths.require_inside(home.root, path), None)
                    break
        except (OutsideFolderError, OSError, ValueError):
            continue
    return [*found]


def _display_path(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


def _line(text: str) -> str:
    flat = markdown.escape_inline(text)
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 1]}…"


def load_project(selector: str | None, workspace: Workspace, *, trusted_only: bool = True) -> Manifest:
    """Return the manifest of a project; if its state came from elsewhere, raise NotTrustedError or mark it."""
    projects = load_projects(workspace)
    home = projects.find(selector)
    document = None
    with suppress(NotFoundError):
        document = find_project.load_state(home)
        if trusted_only:
            projects.require_trusted(home)
    return _marked(
        build_manifest(home, document, progress.gather_facts(home), projects.folder), projects, home
    )


def _marked(manifest: Manifest, projects: ProjectSet, home: Home) -> Manifest:
    if manifest.state is None:
        return manifest
    path, judgement = projects.judge(home)
    return replace(manifest, judgement=judgement, mark=judgement.mark(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class WelcomeBack:
    """What the welcome-back screen shows, with counts of the steps as they are now."""

    short_id: str
    loaded: Manifest
    state: State
    last_session: datetime | None
    recent: tuple[tuple[bool, str], ...]  # whether it is finished, and its text
    key_context: tuple[str, ...]
    sections: tuple[str, ...]

    def to_dict(self) -> JsonObject:
        """Return the manifest with what the screen adds."""
        return self.loaded.to_dict() | {
            "recent_progress": [text for _, text in self.recent],
            "key_context": [*self.key_context],
        }


def welcome_back(selector: str | None, workspace: Workspace) -> WelcomeBack:
    """Return the screen of a project, which marks a state that came from elsewhere."""
    projects = load_projects(workspace)
    home = projects.find(selector)
    document = find_project.load_state(home)
    facts = progress.gather_facts(home)
    loaded = _marked(build_manifest(home, document, facts, projects.folder), projects, home)
    return WelcomeBack(
        short_id=short_id(home),
        loaded=loaded,
        state=loaded.state or document.state,
        last_session=document.state.metadata.last_updated,
        recent=tuple(_recent_progress(facts, loaded.state)),
        key_context=tuple(_key_context(document.body)),
        sections=tuple(f"{each.number}: {each.name}" for each in facts.steps.sections),
    )


def _recent_progress(facts: Facts, state: State | None) -> list[tuple[bool, str]]:
    """Return the section finished last, and the one in progress."""
    finished = [each for each in facts.steps.sections if each.is_complete]
    lines = [
        (True, f"Completed Section {each.number}: {each.name} ({count(len(each.counted), 'task')})")
        for each in finished[-1:]
    ]
    number = state.execution.current_section if state is not None else None
    section = facts.steps.section(number) if number is not None else None
    if section is not None and section.done and not section.is_complete:
        lines.append(
            (False, f"Section {section.number}: {section.done}/{len(section.counted)} tasks complete")
        )
    return lines


def _key_context(text: str) -> list[str]:
    """Return the mental models, the latest decisions and the open blockers."""
    models = [item.text.partition(":")[0] for item in body.list_items(text, "mental-models")]
    lines = [f"Using {' + '.join(models)} models"] if models else []
    kinds: tuple[tuple[str, ListName], ...] = (("Decision", "decisions"), ("Blocker", "blockers"))
    for title, name in kinds:
        items = [item for item in body.list_items(text, name) if item.is_done is not True]
        lines += [f"{title}: {item.text}" for item in items[-_MOST_REMEMBERED:]]
    return lines
