"""``leftoff rollover``."""

from __future__ import annotations

import click

from leftoff.cli import display, made
from leftoff.flows import rollover as flow
from leftoff.flows.choose import LATEST
from leftoff.system import paths


@click.command(epilog="Example: leftoff rollover latest --with-summary")
@click.argument("session", default=LATEST)
@click.option("--with-summary", is_flag=True, help="Add a summary by the summariser of your settings.")
@click.option("--to", metavar="AGENT", help="Go on with this agent; the same one when left out.")
@click.option("--dry-run", is_flag=True, help="Show what the fresh session would begin with; write nothing.")
@click.option(
    "--force", is_flag=True, help="Also where there is nothing to gain, or the client is newer than known."
)
@display.with_json
def rollover(
    *, session: str, with_summary: bool, to: str | None, dry_run: bool, force: bool, as_json: bool
) -> int:
    """Write a fresh session that goes on from SESSION: its first message is what the resume log holds.

    The resume log is saved first; the session itself is not touched.
    """
    wanted = flow.Wanted(to=to, with_summary=with_summary, force=force)
    folder = paths.working_folder()
    if dry_run:
        planned = flow.looked_at(session, folder, wanted)
        display.as_json(planned.to_dict()) if as_json else _draw(planned)
        return made.NOTHING_TO_DO if planned.nothing_to_gain and wanted.is_for_room(planned.chosen) else 0
    written = flow.rolled_over(session, folder, wanted)
    display.as_json(written.to_dict()) if as_json else made.say_made(written)
    return 0


def _draw(planned: flow.Planned) -> None:
    display.say(display.visible(planned.message))
    display.say("")
    if planned.nothing_to_gain:
        display.say(
            f"A fresh session of {planned.to.name} would begin with these {len(planned.message):,} characters: nothing to gain, "
            f"the conversation has {planned.live.live_chars:,}. Nothing was written."
        )
        return
    display.say(
        f"A fresh session of {planned.to.name} with these {len(planned.message):,} characters would free "
        f"{planned.context_saved_percent:.0f} % of the conversation, about {planned.tokens_saved:,} of {planned.live.live_tokens:,} "
        "tokens. Nothing was written."
    )
