"""``leftoff untrim``."""

from __future__ import annotations

import click

from leftoff.cli import display, made
from leftoff.flows import untrim as flow
from leftoff.flows.choose import LATEST
from leftoff.system import paths


@click.command(epilog="Example: leftoff untrim latest")
@click.argument("session", default=LATEST)
@click.option("--dry-run", is_flag=True, help="Tell what would be given back; write nothing.")
@click.option("--force", is_flag=True, help="Also for a client that is newer than leftoff knows.")
@display.with_json
def untrim(*, session: str, dry_run: bool, force: bool, as_json: bool) -> int:
    """Write a copy of SESSION in which every placeholder is its original again, with the work done since the trim.

    Thoughts that were cut come back too. Each original is checked against its digest; one whose session is gone stays a
    placeholder, and is named.
    """
    with display.byte_progress("Writing") as progress:
        found = flow.untrim(session, paths.working_folder(), dry_run=dry_run, force=force, progress=progress)
    if as_json:
        display.as_json(found.to_dict())
        return 0
    for reason in found.left:
        display.say(display.wrapped(f"left: {display.visible(reason)}", indent="  "))
    verb = "would be" if dry_run else "are"
    thoughts = f" and {found.thoughts_given_back} thoughts" if found.thoughts_given_back else ""
    display.say(
        f"{found.given_back} originals{thoughts} {verb} back, about {found.tokens_given_back:,} tokens."
        + (" Nothing was written." if dry_run else f" Wrote session {found.session_id}.")
    )
    made.say_left_behind(found.left_behind)
    made.say_command(found.resume_command, found.folder, found.session_id)
    return 0
