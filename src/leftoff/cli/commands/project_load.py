"""``leftoff project load``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.flows import project_load as flow
from leftoff.system import paths


@click.command(epilog="Example: leftoff project load 24 --json")
@click.argument("project", metavar="[ID]", required=False)
@display.with_json
def load(*, project: str | None, as_json: bool) -> int:
    """Say what to read and do to go on with project ID: a number, a name or part of one.

    Without ID: the project this folder is in, or the only open one. With --json: state, action, recommended_reads,
    instructions.
    """
    found = flow.load(project, paths.working_folder())
    if as_json:
        display.as_json(found.to_dict())
        return 0
    display.say(f"{display.visible(found.id)}: {found.action.replace('_', ' ')}")
    if found.state is not None:
        display.say(f"Next action: {display.visible(found.state.next_action or 'not known')}")
    display.say("\nRead, in this order:")
    for number, each in enumerate(found.recommended_reads, 1):
        display.say(f"{number:>3}  {display.visible(each)}")
    display.say("")
    for words in found.instructions:
        display.say(f"- {display.visible(words)}")
    return 0
