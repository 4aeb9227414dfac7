"""``leftoff status``."""

from __future__ import annotations

import time

import click

from leftoff.cli import display
from leftoff.cli.status import draw, show
from leftoff.flows import status as flow
from leftoff.flows.choose import LATEST
from leftoff.system import paths

_WATCH_SECONDS = 2.0


@click.command(epilog="Example: leftoff status --watch")
@click.argument("session", default=LATEST)
@click.option("--watch", is_flag=True, help="Draw it again every two seconds, until Ctrl-C.")
@display.with_json
def status(*, session: str, watch: bool, as_json: bool) -> int:
    """Show how full the window of SESSION is and how many turns are left; SESSION is the latest of this project."""
    if as_json or not watch:
        return show(session, as_json=as_json)
    found = flow.status(session, paths.working_folder())
    while True:
        click.clear()
        draw(found)
        time.sleep(_WATCH_SECONDS)
        found = flow.status(session, paths.working_folder())
