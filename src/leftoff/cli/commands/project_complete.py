"""``leftoff project complete``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.errors import UsageError
from leftoff.flows import project_complete as flow
from leftoff.system import paths


@click.command(epilog="Example: leftoff project complete 1-5,8")
@click.argument("tasks", required=False)
@click.option("--section", type=click.IntRange(min=0), help="Every task of this section instead.")
@click.option("--project", metavar="ID", help="Which project: a number, a name or part of one.")
@display.with_json
def complete(*, tasks: str | None, section: int | None, project: str | None, as_json: bool) -> int:
    """Tick TASKS (3, 1-5 or 1-5,8; numbered through the whole of the steps) and update the resume state in one step.

    A task takes its sub-tasks along; those that were given up ([-]) stay so.
    """
    if (tasks is None) == (section is None):
        raise UsageError("Say which tasks, or --section NUMBER. For example: leftoff project complete 1-5")
    folder = paths.working_folder()
    if section is not None:
        done = flow.complete_section(project, section, folder)
    else:
        done = flow.complete(project, tasks or "", folder)
    if as_json:
        display.as_json(done.to_dict())
        return 0
    task = done.state.execution
    many = f"tasks {', '.join(map(str, done.tasks))}" if len(done.tasks) > 1 else f"task {done.tasks[0]}"
    display.say(
        f"Done: {many}. {task.progress_tasks_completed}/{task.progress_tasks_total} ({task.progress_percentage}%)"
    )
    for name in done.sections:
        display.say(f"Completed {display.visible(name)}. A good place to stop, or to commit.")
    display.say(f"Next: {display.visible(done.state.next_action or '?')}")
    return 0
