"""From facts to the state: where the work stands, by what the files of a project say and what somebody has told us. Pure.

What somebody said stands until the facts change after it: the state itself remembers how they were when it was said.
"""

from __future__ import annotations

from dataclasses import replace

from leftoff.model.values import dataclass
from leftoff.projects.facts import Facts
from leftoff.projects.steps import Steps
from leftoff.projects.values import FLAGS, Execution, Flag, Location, Phase, Planning, State, Status

_STATUS_OF: dict[Phase, Status] = {"research": "RESEARCH", "planning": "PLANNING"}
_SKILL_OF: dict[Phase, str] = {"research": "create-project", "planning": "create-project"}
_DOCUMENTS: dict[Flag, str] = {
    "research": "Do the research and write down what was found",
    "overview": "Write the overview: purpose, goals, what counts as success",
    "plan": "Write the plan: approach, decisions, risks",
    "steps": "Write the steps: sections of tasks with check-boxes",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What somebody has told us about a project, which no file says. None: nothing was said."""

    phase: Phase | None = None
    status: Status | None = None
    skill: str | None = None
    workflow_step: int | None = None
    next_action: str | None = None
    flags: tuple[Flag, ...] = ()
    decisions: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()  # parts of the blockers that are no more
    models: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


NOTHING_GIVEN = Given()


def derived(before: State, facts: Facts, given: Given = NOTHING_GIVEN) -> State:
    """The state that follows."""
    planning = _planning(before.planning, facts.planning, given)
    phase = given.phase or _phase(before, planning, facts.steps)
    after = replace(
        before,
        planning=planning,
        location=_location(before.location, phase, planning, given),
        execution=_execution(facts.steps),
        project=replace(before.project, project_status=_status(before, phase, facts.steps, given)),
    )
    return replace(after, next_action=_next_action(before, after, given))


def usual_action(state: State) -> str:
    """What comes next, as the state itself says it."""
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
    return f"Go on with {phase or 'the work'}: every task of the steps is done"


def _planning(before: Planning, found: Planning, given: Given) -> Planning:
    """A flag that is set stays set: whoever said so knew why."""
    return Planning(
        **{flag: bool(getattr(before, flag) or getattr(found, flag) or flag in given.flags) for flag in FLAGS}
    )


def _phase(before: State, planning: Planning, tasks: Steps) -> Phase:
    """Research ends when it is written down; the execution begins with the first task that is done since."""
    said = before.location.current_phase
    if said in {None, "research", "planning"}:
        if tasks.done > (before.execution.progress_tasks_completed or 0):
            return "execution"
        if said != "planning" and planning.research and not before.planning.research:
            return "planning"
    return said or "research"


def _status(before: State, phase: Phase, tasks: Steps, given: Given) -> Status:
    """As phase and tasks have it; another one that somebody said holds while those are as they were."""
    if given.status is not None:
        return given.status
    said, task = before.project.project_status, before.execution
    usual = _usual_status(phase, tasks.total, tasks.done)
    if said == "COMPLETE" and given.phase is None and tasks.next is None:
        return said
    was_usual = _usual_status(
        before.location.current_phase, task.progress_tasks_total or 0, task.progress_tasks_completed or 0
    )
    is_same = (phase, tasks.total, tasks.done) == (
        before.location.current_phase,
        task.progress_tasks_total,
        task.progress_tasks_completed,
    )
    return said if is_same and said not in {None, was_usual} and said is not None else usual


def _usual_status(phase: Phase | None, total: int, done: int) -> Status:
    if phase == "execution" and 0 < total <= done:
        return "COMPLETE"
    return _STATUS_OF.get(phase or "research", "IN_PROGRESS")


def _location(before: Location, phase: Phase, planning: Planning, given: Given) -> Location:
    usual = _SKILL_OF.get(phase, "execute-project")
    is_same = _SKILL_OF.get(before.current_phase or "research", "execute-project") == usual
    written = sum(bool(getattr(planning, flag)) for flag in FLAGS)
    step = before.current_workflow_step if usual == "execute-project" else written + 1
    return Location(
        current_phase=phase,
        current_skill=given.skill or (before.current_skill if is_same else None) or usual,
        current_workflow_step=given.workflow_step or step,
    )


def _execution(tasks: Steps) -> Execution:
    if not tasks.tasks:
        return Execution(progress_tasks_completed=0, progress_tasks_total=0, progress_percentage=0)
    task = tasks.next
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


def _next_action(before: State, after: State, given: Given) -> str:
    """What somebody wrote there holds as long as the work stands where it stood; finished work is never offered."""
    if given.next_action is not None:
        return given.next_action
    said = before.next_action
    is_own = said is not None and said != usual_action(before)
    return said if said is not None and is_own and _place(before) == _place(after) else usual_action(after)


def _place(state: State) -> tuple[object, ...]:
    """Where the work stands, in whichever words."""
    task, phase = state.execution, state.location.current_phase
    document = state.planning.first_open if phase in {"research", "planning"} else None
    return (
        state.project.project_status,
        phase,
        document,
        task.next_task_number,
        task.progress_tasks_completed or 0,
    )
