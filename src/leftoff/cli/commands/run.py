"""``leftoff run``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.flows import run_agent as flow
from leftoff.system import paths


@click.command(
    epilog="Example: leftoff run AGENT --model opus",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@display.with_json
@click.argument("agent")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def run(*, agent: str, flags: tuple[str, ...], as_json: bool) -> int:
    """Start AGENT with FLAGS here; after >trim yes or >handoff and exit it goes on by itself in the new session.

    A prompt among the flags stands last and is said once. --json before AGENT: only the exit code, as JSON.
    """
    code = flow.run_agent(agent, flags, paths.working_folder(), lambda words: click.echo(words, err=True))
    if as_json:
        display.as_json({"agent": agent, "exit_code": code})
    return code
