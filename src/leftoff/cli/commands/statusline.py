"""``leftoff statusline``: its help, and the same numbers as JSON. What agents call is ``leftoff.cli.statusline``."""

from __future__ import annotations

import sys

import click

from leftoff.cli import display
from leftoff.cli import statusline as face
from leftoff.flows import statusline as flow


@click.command(epilog="Example: leftoff statusline --json < what-the-agent-says.json")
@display.with_json
def statusline(*, as_json: bool) -> int:
    """Print one line for an agent's status line: gauge, level, turns left, last save.

    The agent hands over what it knows of its session, as JSON on standard input.
    """
    if not as_json:
        return face.run()
    try:
        found = flow.status_line(sys.stdin.buffer.read())
    except Exception as trouble:  # as without --json: an agent may be reading
        display.as_json({"error": f"{type(trouble).__name__}: {trouble}"})
        return 0
    display.as_json(found.to_dict() if found else {})
    return 0
