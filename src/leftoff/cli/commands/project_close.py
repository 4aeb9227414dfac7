"""``leftoff project close``."""

from __future__ import annotations

import dataclasses
import sys

import click

from leftoff.cli import display
from leftoff.cli.commands.project_save import given, with_facts
from leftoff.flows import project_close as flow
from leftoff.flows.project_close import Closed
from leftoff.projects.derive import Given
from leftoff.system import paths


@click.command(epilog='Example: leftoff project close --note "the parser is half done"')
@click.option("--project", metavar="ID", help="Which project: a number, a name or part of one.")
@click.option("--session", help="The session that worked on it; the latest when left out.")
@click.option("--complete", is_flag=True, help="The whole project is complete.")
@with_facts
@display.with_json
def close(*, project: str | None, session: str | None, complete: bool, as_json: bool) -> int:
    """Close the session: save the resume state and check that nothing is forgotten.

    Are the decisions captured? Is the list of files current? On a terminal you are asked for what is missing.
    """
    folder, said = paths.working_folder(), given()
    if complete:
        said = dataclasses.replace(said, status="COMPLETE")
    closed = flow.close(project, folder, given=said, session=session)
    if not as_json and sys.stdin.isatty() and not closed.checks[0].is_good:
        words = click.prompt(
            "A decision of this session and why (Enter: none)", default="", show_default=False, err=True
        )
        if words.strip():
            closed = flow.close(project, folder, given=Given(decisions=(words.strip(),)), session=session)
    if as_json:
        display.as_json(closed.to_dict())
        return 0
    _draw(closed)
    return 0


def _draw(closed: Closed) -> None:
    task = closed.kept.document.state.execution
    display.say(f"Closed: {display.visible(str(closed.kept.home.state))}")
    display.say(
        f"{task.progress_tasks_completed or 0}/{task.progress_tasks_total or 0} tasks; next: {display.visible(closed.kept.document.state.next_action or '?')}"
    )
    for check in closed.checks:
        display.say(f"{check.question} {'Yes.' if check.is_good else 'Not yet.'}")
        for each in check.missing:
            display.say(f"  - {display.one_line(each, 100)}")
        if check.what_to_do is not None:
            display.say(f"  {check.what_to_do}")
