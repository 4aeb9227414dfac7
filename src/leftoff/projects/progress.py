"""The facts of a project from its files, and the state that follows from them and from what the user said.

``gather_facts`` only reads: tasks from ``steps.md``, the purpose from ``overview.md``, what is written, what to read.
``derive_state`` is pure. What the user said is valid until the facts change; the state records the facts it was said under.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from leftoff.errors import NothingToDoError
from leftoff.projects import layout, steps
from leftoff.projects.layout import PARTS, Home, Part
from leftoff.projects.project_state import FLAGS, Execution, Flag, Location, Phase, Planning, State, Status
from leftoff.projects.steps import Steps

TO_DO = "<!-- leftoff: to be written -->"
_MOST_WORKING_FILES = 5
_MOST_FILES_CHECKED = 2000
_LEAST_CHARS = 40  # a document with fewer counts as not written
_LONGEST_PURPOSE = 300
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_PURPOSE = re.compile(r"#{1,6}\s+.*\b(?:purpose|goal|what we're building|overview)\b", re.IGNORECASE)
_NO_TEXT = ("#", "<!--", "---", "```", "|", ">")
_STATUS_OF: dict[Phase, Status] = {"research": "RESEARCH", "planning": "PLANNING"}
_SKILL_OF: dict[Phase, str] = {"research": "create-project", "planning": "create-project"}
_DOCUMENTS: dict[Flag, str] = {
    "research": "Do the research and write down what was found",
    "overview": "Write the overview: purpose, goals, what counts as success",
    "plan": "Write the plan: approach, decisions, risks",
    "steps": "Write the steps: sections of tasks with check-boxes",
}


class Facts(NamedTuple):
    """What the files of a project say. ``purpose`` is ``None`` if the overview does not state it."""

    steps: Steps
    purpose: str | None
    planning: Planning
    reads: tuple[str, ...]  # what to read, in order: the state itself, the plan, work in progress
    working: tuple[str, ...] = ()


def gather_facts(home: Home, steps_text: str | None = None) -> Facts:
    """Read the facts from the files; ``steps_text`` is the content that the steps are about to get."""
    texts: dict[Part, str | None] = {
        part: layout.read_beginning(home, home.part(part)) for part in PARTS if part != "steps"
    }
    texts["steps"] = layout.read_text(home, home.part("steps")) if steps_text is None else steps_text
    tasks = steps.parse_steps(texts["steps"] or "")
    written = {part: is_written(texts[part]) for part in FLAGS}
    existing = [home.relative(home.part(part)) for part in PARTS if texts[part] is not None]
    working = tuple(home.relative(path) for path in _recent_working_files(home))
    return Facts(
        steps=tasks,
        purpose=_purpose(texts["overview"] or ""),
        planning=Planning(**(written | {"steps": bool(tasks.tasks) and written["steps"]})),
        reads=(home.relative(home.state), *existing, *working),
        working=working,
    )


def is_written(text: str | None) -> bool:
    """Return whether the document has content: more than headings and comments, such as that of a new project."""
    if text is None:
        return False
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", "<!--"))
    ]
    return sum(map(len, lines)) >= _LEAST_CHARS or any("[" in line for line in lines)


def _recent_working_files(home: Home) -> Iterator[Path]:
    """Yield the files changed last, sorted by name: by time, every save would reorder the list. Links are not followed."""
    if home.working is None or layout.is_link(home.working):
        return
    found: list[tuple[float, str]] = []
    for folder, names, files in os.walk(home.working):
        names[:] = [name for name in names if not name.startswith(".")]
        for name in files:
            path = f"{folder}{os.sep}{name}"
            if not name.startswith(".") and (changed_at := _changed_at(path)) is not None:
                found.append((-changed_at, path))
        if len(found) > _MOST_FILES_CHECKED:
            break
    yield from sorted(Path(path) for _, path in sorted(found)[:_MOST_WORKING_FILES])


def _changed_at(path: str) -> float | None:
    """Return when a regular file last changed; None for anything else, and if it is gone."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime if stat.S_ISREG(status.st_mode) else None


def _purpose(text: str) -> str | None:
    """Return one or two sentences: below a heading about the purpose, else from the first paragraph."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[:1] == ["---"] and "---" in lines[1:]:
        lines = lines[lines.index("---", 1) + 1 :]
    starts = [number for number, line in enumerate(lines) if number and _PURPOSE.match(line)]
    for start in (*(number + 1 for number in starts), 0):
        if paragraph := _paragraph(lines[start:], stops_at_heading=start > 0):
            purpose = " ".join(_SENTENCE_END.split(paragraph)[:2])
            return purpose if len(purpose) <= _LONGEST_PURPOSE else f"{purpose[: _LONGEST_PURPOSE - 1]}…"
    return None


def _paragraph(lines: list[str], *, stops_at_heading: bool) -> str:
    found: list[str] = []
    for line in lines:
        text = line.strip()
        if stops_at_heading and text.startswith("#"):
            break
        if text and not text.startswith(_NO_TEXT):
            found.append(text.lstrip("-* "))
        elif found:
            break
    return " ".join(found)


class UserInput(NamedTuple):
    """What the user says about a project beside its files. None means nothing was said."""

    phase: Phase | None = None
    status: Status | None = None
    skill: str | None = None
    workflow_step: int | None = None
    next_action: str | None = None
    section: int | None = None  # to jump to
    flags: tuple[Flag, ...] = ()
    decisions: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()  # parts of the texts of resolved blockers
    models: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


NO_INPUT = UserInput()


def derive_state(before: State, facts: Facts, given: UserInput = NO_INPUT) -> State:
    """Return the state that follows from the one before, the facts and what the user said.

    The current section stays current until its last task is done, so a jump to another one holds.
    """
    planning = _planning(before.planning, facts.planning, given)
    phase = given.phase or _phase(before, planning, facts.steps, given)
    section = before.execution.current_section if given.section is None else given.section
    if given.section is not None and facts.steps.require_section(given.section).is_complete:
        raise NothingToDoError(f"Section {given.section} has no open task.")
    after = before._replace(
        planning=planning,
        location=_location(before.location, phase, planning, given),
        execution=_execution(facts.steps, section),
        project=before.project._replace(project_status=_status(before, phase, facts.steps, given)),
    )
    return after._replace(next_action=_next_action(before, after, given))


def default_action(state: State) -> str:
    """Return the next action that follows from the state."""
    task, phase = state.execution, state.location.current_phase
    if state.project.project_status == "COMPLETE":
        return "Nothing is left to do: the project is complete"
    if phase in {"research", "planning"}:
        document = state.planning.first_open
        if document is not None:
            return _DOCUMENTS[document]
        return "Begin the execution: leftoff project save --phase execution"
    if task.next_task_number is not None:
        return f'Continue Task {task.next_task_number} - "{task.next_task_description}"'
    if not task.progress_tasks_total:
        return "Write the tasks into the steps"
    return f"Continue {phase or 'the work'}: every task of the steps is done"


def _planning(before: Planning, found: Planning, given: UserInput) -> Planning:
    """Combine the flags; one that is set stays set."""
    return Planning(
        **{flag: bool(getattr(before, flag) or getattr(found, flag) or flag in given.flags) for flag in FLAGS}
    )


def _phase(before: State, planning: Planning, tasks: Steps, given: UserInput) -> Phase:
    """Return the phase: research ends when it is written, execution begins with the first task ticked or jumped to."""
    current = before.location.current_phase
    if current in {None, "research", "planning"}:
        if given.section is not None or tasks.done > (before.execution.progress_tasks_completed or 0):
            return "execution"
        if current != "planning" and planning.research and not before.planning.research:
            return "planning"
    return current or "research"


def _status(before: State, phase: Phase, tasks: Steps, given: UserInput) -> Status:
    """Return the status that follows from phase and tasks; one set by the user is kept while those are unchanged."""
    if given.status is not None:
        return given.status
    current, task = before.project.project_status, before.execution
    usual = _default_status(phase, tasks.total, tasks.done)
    if current == "COMPLETE" and given.phase is None and tasks.next is None:
        return current
    was_usual = _default_status(
        before.location.current_phase, task.progress_tasks_total or 0, task.progress_tasks_completed or 0
    )
    is_same = (phase, tasks.total, tasks.done) == (
        before.location.current_phase,
        task.progress_tasks_total,
        task.progress_tasks_completed,
    )
    return current if is_same and current not in {None, was_usual} and current is not None else usual


def _default_status(phase: Phase | None, total: int, done: int) -> Status:
    if phase == "execution" and 0 < total <= done:
        return "COMPLETE"
    return _STATUS_OF.get(phase or "research", "IN_PROGRESS")


def _location(before: Location, phase: Phase, planning: Planning, given: UserInput) -> Location:
    usual = _SKILL_OF.get(phase, "execute-project")
    is_same = _SKILL_OF.get(before.current_phase or "research", "execute-project") == usual
    written = sum(bool(getattr(planning, flag)) for flag in FLAGS)
    step = before.current_workflow_step if usual == "execute-project" else written + 1
    return Location(
        current_phase=phase,
        current_skill=given.skill or (before.current_skill if is_same else None) or usual,
        current_workflow_step=given.workflow_step or step,
    )


def _execution(tasks: Steps, current_section: int | None) -> Execution:
    if not tasks.tasks:
        return Execution(progress_tasks_completed=0, progress_tasks_total=0, progress_percentage=0)
    task = tasks.next_task(current_section)
    section = tasks.section(task.section) if task is not None else (tasks.sections or (None,))[-1]
    return Execution(
        current_section=section.number if section is not None else None,
        current_section_name=section.name if section is not None else None,
        next_task_number=task.number if task is not None else None,
        next_task_description=task.text if task is not None else None,
        progress_tasks_completed=tasks.done,
        progress_tasks_total=tasks.total,
        progress_percentage=tasks.percentage,
    )


def _next_action(before: State, after: State, given: UserInput) -> str:
    """Return the next action. The user's own is kept until the work moves on; finished work is never suggested."""
    if given.next_action is not None:
        return given.next_action
    if given.section is not None:
        return default_action(after)
    current = before.next_action
    is_own = current is not None and current != default_action(before)
    is_kept = is_own and _position(before) == _position(after)
    return current if current is not None and is_kept else default_action(after)


def _position(state: State) -> tuple[object, ...]:
    """Return the position of the work, however its next action is worded."""
    task, phase = state.execution, state.location.current_phase
    document = state.planning.first_open if phase in {"research", "planning"} else None
    return (
        state.project.project_status,
        phase,
        document,
        task.next_task_number,
        task.progress_tasks_completed or 0,
    )
