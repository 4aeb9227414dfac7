"""``leftoff log list``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.cli.ages import age
from leftoff.flows import list_logs as flow
from leftoff.system import clock, paths


@click.command("list", epilog="Example: leftoff log list")
@click.option("--remote", is_flag=True, help="Those that the storage backend holds, of all machines.")
@display.with_json
def list_(*, remote: bool, as_json: bool) -> int:
    """List the resume logs of this project, newest first, each with where it came from."""
    if remote:
        return _remote(as_json=as_json)
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


def _remote(*, as_json: bool) -> int:
    from leftoff.flows.remote_list import list_remote

    display.hint("Asking the remote …")
    found = list_remote(paths.working_folder())
    if as_json:
        display.as_json([log.to_dict() for log in found.logs])
        return 0
    if found.logs:
        rows = [
            (
                display.one_line(log.session_id, 36),
                display.one_line(log.written_at or "", 16),
                display.one_line(log.trouble or log.mission or "(no mission)", 46),
                display.one_line("here too" if log.is_local else log.root or "", 30),
            )
            for log in found.logs
        ]
        display.table(["session", "written", "mission", "from"], rows, spare=["from", "written"])
        display.say(f"leftoff resume --remote {found.logs[0].session_id} takes up the newest here.")
    else:
        display.say("The remote holds no log of this project yet.")
    if found.more:
        display.say(f"Older ones are not shown; these are the newest {len(found.logs)}.")
    if found.sent.waiting:
        display.say(f"{found.sent.waiting} logs of this machine still wait to be sent: {found.sent.trouble}")
    return 0


def _notes(log: flow.ListedLog) -> str:
    notes = (
        log.origin if log.origin != flow.OWN else "",
        "edited" if log.edited else "",
        "compressed" if log.files.is_compressed else "",
        "cannot be read" if log.trouble else "",
    )
    return ", ".join(filter(None, notes))
