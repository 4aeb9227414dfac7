"""``leftoff hook``, ``in-place`` and ``statusline`` for people; agents run `agent_hook` and `agent_statusline` directly."""

from __future__ import annotations

import sys

import click

from leftoff.cli import arguments, output
from leftoff.cli.agent_hook import run_hook, run_in_place
from leftoff.cli.agent_statusline import run_statusline
from leftoff.live import status_line


@click.command(epilog="Example: leftoff hook --help")
@click.argument("agent", type=arguments.AGENT)
@click.argument("task", nargs=-1, metavar="")
@arguments.with_json
def hook(*, agent: str, task: tuple[str, ...], as_json: bool) -> int:  # noqa: ARG001 - the answer is JSON anyway
    """Answer an event of AGENT. Agents call this after leftoff install.

    The event comes as JSON on standard input, the answer is what the agent expects. The exit code is always 0: whatever
    goes wrong is one line in leftoff.log in your state folder.
    """
    return run_hook([agent, *task])


@click.command("in-place", epilog="Example: leftoff in-place --help")
@click.argument("agent", type=arguments.AGENT)
@arguments.with_json
def in_place(*, agent: str, as_json: bool) -> int:  # noqa: ARG001 - the answer is JSON anyway
    """Rebuild the messages of a running session of AGENT. leftoff's mod inside the agent calls this at a compaction.

    The messages come as JSON on standard input. The answer has the messages that replace them and one line for the user, or the reason
    why the agent should compact by itself. The exit code is always 0.
    """
    return run_in_place(agent)


@click.command(epilog="Example: leftoff statusline --json < what-the-agent-says.json")
@arguments.with_json
def statusline(*, as_json: bool) -> int:
    """Print one line for an agent's status line: gauge, level, turns left, last save.

    Reads what the agent says about its session, as JSON on standard input.
    """
    if not as_json:
        return run_statusline()
    try:
        found = status_line.status_line(sys.stdin.buffer.read())
    except Exception as trouble:  # as without --json: an agent may be reading
        output.as_json({"error": f"{type(trouble).__name__}: {trouble}"})
        return 0
    output.as_json(found.to_dict() if found else {})
    return 0
