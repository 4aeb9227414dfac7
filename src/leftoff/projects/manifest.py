"""What a session is handed of a project: the loader's answer of 001, and the same as text for an agent. Pure but for asking what exists."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from leftoff.errors import OutsideFolderError
from leftoff.model import markdown
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject
from leftoff.projects import body
from leftoff.projects.derive import derived
from leftoff.projects.document import Document
from leftoff.projects.facts import Facts
from leftoff.projects.layout import Home
from leftoff.projects.values import State
from leftoff.system import paths

Action = Literal["continue_working", "start", "complete"]
_MOST_ITEMS = 8
_LONGEST = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The loader's answer. ``state`` is None for a project without one; the reads exist, in the order to read them in."""

    id: str
    state: State | None
    action: Action
    recommended_reads: tuple[str, ...]
    instructions: tuple[str, ...]

    def to_dict(self) -> JsonObject:
        """The shape that scripts rely on."""
        return {
            "state": None if self.state is None else self.state.to_dict(),
            "action": self.action,
            "recommended_reads": [*self.recommended_reads],
            "instructions": [*self.instructions],
        }


def loaded(home: Home, document: Document | None, facts: Facts, working_folder: Path) -> Loaded:
    """What to read and do. Reads are relative to the working folder where they are below it, else absolute."""
    state = derived(document.state, facts) if document is not None else None  # as the steps stand now
    listed = state.files_to_load if state is not None and state.files_to_load else facts.reads
    first = [home.relative(home.state)] if document is not None else []
    reads = [_shown(path, working_folder) for path in _existing(home, [*first, *listed])]
    action: Action = "start"
    if state is not None:
        is_complete = state.project.project_status == "COMPLETE"
        action = "complete" if is_complete else "continue_working"
    return Loaded(
        id=home.id,
        state=state,
        action=action,
        recommended_reads=tuple(reads),
        instructions=tuple(_instructions(state, action, home.id, bool(reads))),
    )


def text_for_agent(given: Loaded, document: Document) -> str:
    """The manifest, exact and first; then, short, what must not be forgotten."""
    state = given.state or State()
    task = state.execution
    lines = [
        f"Project: {_line(state.project.project_name or given.id)} ({given.id})",
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
    lines += [f"{number}. {_line(each)}" for number, each in enumerate(given.recommended_reads, 1)]
    for title, name in _REMEMBERED:
        items = [item for item in body.listed(document.body, name) if item.is_done is not True][-_MOST_ITEMS:]
        if items:
            lines += ["", f"{title}:", *(f"- {_line(item.text)}" for item in items)]
    return "\n".join(lines)


_REMEMBERED: tuple[tuple[str, body.ListName], ...] = (
    ("Decisions", "decisions"),
    ("Assumptions", "assumptions"),
    ("Open blockers", "blockers"),
    ("Mental models", "mental-models"),
    ("Files pending", "pending"),
)


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
        where = [
            f"Continue with Task {task.next_task_number} of {task.progress_tasks_total}; do not repeat finished tasks."
        ]
    return [
        "Read the recommended files in order, the resume state first.",
        *where,
        "Tick tasks in the steps as you finish them, or: leftoff project complete NUMBERS",
        'Say decisions with their reason, or: leftoff project save --decision "WHAT: WHY"',
    ]


def _existing(home: Home, names: list[str]) -> list[Path]:
    """Files of the repository that are there, each once. A list can come from anywhere: what leads out is left out."""
    found: dict[Path, None] = {}
    for name in names:
        try:
            for path in (home.folder / name, home.root / name):
                if path.is_file():
                    found.setdefault(paths.contained(home.root, path), None)
                    break
        except (OutsideFolderError, OSError, ValueError):
            continue
    return [*found]


def _shown(path: Path, working_folder: Path) -> str:
    return str(path.relative_to(working_folder) if path.is_relative_to(working_folder) else path)


def _line(text: str) -> str:
    flat = markdown.inline(text)
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 1]}…"
