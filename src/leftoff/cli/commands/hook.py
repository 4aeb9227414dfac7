"""``leftoff hook``, for those who ask for its help or try it by hand; agents are let in before click is loaded."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.cli.hook import run


@click.command(epilog="Example: leftoff hook --help")
@click.argument("agent")
@click.argument("task", nargs=-1, metavar="")
@display.with_json
def hook(*, agent: str, task: tuple[str, ...], as_json: bool) -> int:  # noqa: ARG001 - the answer is JSON anyway
    """Answer an event of AGENT: what the agents call once leftoff install has wired them.

    The event comes as JSON on standard input, the answer is what the agent expects. The exit code is always 0: whatever
    goes wrong is one line in leftoff.log in your state folder.
    """
    return run([agent, *task])
