"""A natural place to stop: the end of a task, the end of a section, green tests."""

from __future__ import annotations

from leftoff.extract import State
from leftoff.extract.happened import standing_failures
from leftoff.extract.worth import is_check
from leftoff.flows.choose import Chosen
from leftoff.flows.extraction import extracted
from leftoff.projects import facts
from leftoff.projects.layout import Home
from leftoff.projects.steps import Steps

_FEW = 3  # tasks that can still be finished in what is left of a window


def stopping_point(home: Home, chosen: Chosen | None) -> str:
    """A sentence that says where to stop, and what to say then."""
    tests = _tests(extracted(chosen, chosen.open())) if chosen is not None else None
    where = ", ".join(filter(None, [_task(facts.gather(home).steps), tests]))
    return (
        f"a natural stopping point is near: {where or 'the end of this step'}. "
        'Then say "save progress", or "done for today".'
    )


def _task(tasks: Steps) -> str | None:
    task = tasks.next
    if task is None:
        return "every task is done" if tasks.total else None
    section = tasks.section(task.section)
    left = len(section.counted) - section.done if section is not None else 0
    if section is not None and 0 < left <= _FEW:
        return f"the end of Section {section.number} ({left} task{'s' * (left != 1)} left)"
    if section is not None and section.done == 0:
        return f"now, before Section {section.number} begins"
    return f"the end of Task {task.number}"


def _tests(state: State) -> str | None:
    if standing_failures(state):
        return "with the failing checks green again"
    return (
        "the checks are green"
        if any(is_check(each) and each.failed is False for each in state.commands.values())
        else None
    )
