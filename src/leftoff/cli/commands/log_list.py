"""``leftoff log list``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.cli.ages import age
from leftoff.flows import list_logs as flow
from leftoff.system import clock, paths


@click.command("list", epilog="Example: leftoff log list")
@display.with_json
def list_(*, as_json: bool) -> int:
    """List the resume logs of this project, newest first, each with where it came from."""
    logs = flow.list_logs(paths.working_folder())
    if as_json:
        display.as_json([log.to_dict() for log in logs])
        return 0
    if not logs:
        display.say("This project has no resume log yet. leftoff log save makes one.")
        return 0
    now = clock.now()
    rows = [
        (
            display.one_line(log.session_id, 36),
            age(now, log.saved_at),
            display.one_line(log.trouble or log.mission or "(no mission)", 46),
            display.one_line(log.next_step or "", 30),
            _notes(log),
        )
        for log in logs
    ]
    display.table(["session", "age", "mission", "next step", ""], rows, spare=["next step", "", "age"])
    return 0


def _notes(log: flow.ListedLog) -> str:
    notes = (
        log.origin if log.origin != flow.OWN else "",
        "edited" if log.edited else "",
        "compressed" if log.files.is_compressed else "",
        "cannot be read" if log.trouble else "",
    )
    return ", ".join(filter(None, notes))
