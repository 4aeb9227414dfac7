"""``leftoff project list``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.cli.ages import age
from leftoff.flows import project_list as flow
from leftoff.flows.project_list import Listed
from leftoff.system import clock, paths


@click.command("list", epilog="Example: leftoff project list")
@display.with_json
def list_(*, as_json: bool) -> int:
    """List the projects of this repository: status, progress, what comes next."""
    listed = flow.projects(paths.working_folder())
    if as_json:
        display.as_json([each.to_dict() for each in listed])
        return 0
    if not listed:
        display.say('There is no project here yet. To begin one: leftoff project init "NAME"')
        return 0
    rows = [_row(each) for each in listed]
    display.table(["project", "status", "tasks", "updated", "next"], rows, spare=["updated", "status"])
    for each in listed:
        if each.trouble is not None:
            display.say(f"{display.visible(each.home.id)}: {display.visible(each.trouble)}")
        elif each.standing == "foreign":
            path = display.visible(str(each.home.state))
            display.say(
                f"{display.visible(each.home.id)}: handed to no agent before you say: leftoff trust {path}"
            )
    return 0


def _row(each: Listed) -> list[str]:
    if each.state is None:
        return [display.one_line(each.home.id, 40), "?", "?", "?", "no state that can be read"]
    task, at = each.state.execution, each.updated_at
    return [
        display.one_line(each.home.id, 40),
        each.state.project.project_status or "?",
        f"{task.progress_tasks_completed or 0}/{task.progress_tasks_total or 0}",
        age(clock.now(), at) if at is not None else "?",
        display.one_line(each.state.next_action or "?", 60),
    ]
