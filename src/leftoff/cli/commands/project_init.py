"""``leftoff project init``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.flows import project_init as flow
from leftoff.flows.project_update import words_for
from leftoff.system import paths


@click.command(epilog='Example: leftoff project init "Skills research"')
@click.argument("name", nargs=-1, required=True)
@click.option(
    "--plain", is_flag=True, help="One state for this repository, in .leftoff/project, without any tree."
)
@display.with_json
def init(*, name: tuple[str, ...], plain: bool, as_json: bool) -> int:
    """Begin the project NAME: its folders, the documents to be written, and its resume state."""
    begin = flow.init_plain if plain else flow.init
    home = begin(" ".join(name), paths.working_folder())
    if as_json:
        display.as_json({"id": home.id, "folder": str(home.folder), "state_file": str(home.state)})
        return 0
    display.say(f"Begun: {display.visible(home.id)}. Its resume state: {display.visible(str(home.state))}")
    if not plain:
        display.say(f"Next: write {home.part('research')}, then overview, plan and steps beside the state.")
    display.say(f"To go on with it in any session: continue project {words_for(home)}")
    return 0
