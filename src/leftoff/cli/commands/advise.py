"""``leftoff advise``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.flows import advise as flow
from leftoff.flows.choose import LATEST
from leftoff.system import paths


@click.command(epilog="Example: leftoff advise latest")
@click.argument("session", default=LATEST)
@display.with_json
def advise(*, session: str, as_json: bool) -> int:
    """Say how to go on with SESSION, and show what each way frees, loses and costs on this very session."""
    found = flow.advise(session, paths.working_folder())
    if as_json:
        display.as_json(found.to_dict())
        return 0
    rows = [
        (
            f"{'> ' if each.how == found.how else '  '}{each.how}",
            f"{each.context_saved_percent:.0f} %",
            f"{each.tokens_saved:,}",
            f"{each.cache_write_tokens:,}",
            each.loses,
        )
        for each in found.options
    ]
    display.table(
        ("", "frees", "tokens", "cache rewritten", "loses"), rows, spare=["cache rewritten", "tokens"]
    )
    display.say(f"Go on {found.how}: {found.why}.")
    command = f"leftoff {found.how} {found.session_id}"
    display.say(f"leftoff resume {found.session_id} --run" if found.how == "as-is" else command)
    return 0
