"""``leftoff log show``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.flows import show_log as flow
from leftoff.flows.choose import LATEST
from leftoff.system import paths


@click.command(epilog="Example: leftoff log show latest")
@click.argument("log", default=LATEST)
@display.with_json
def show(*, log: str, as_json: bool) -> int:
    """Print the resume log LOG: a session's id or the beginning of one; the latest when left out.

    With --json everything that is known, with the source of each item.
    """
    found = flow.show_log(log, paths.working_folder())
    if as_json:
        display.as_json(found.log().to_dict() | {"origin": found.origin})
    else:
        click.echo_via_pager(display.visible(found.text()))
    return 0
