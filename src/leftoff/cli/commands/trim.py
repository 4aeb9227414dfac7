"""``leftoff trim`` and ``leftoff smart-trim``."""

from __future__ import annotations

import click

from leftoff.cli import display, made
from leftoff.flows import shrink_session as flow
from leftoff.flows.choose import LATEST
from leftoff.system import paths


def _tools(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:  # noqa: ARG001 - click's
    if value is None:
        return None
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise click.BadParameter("names no tool; leave the option out for all of them.")
    return names


_DRY_RUN = click.option("--dry-run", is_flag=True, help="Show what would be cut and why; write nothing.")
_FORCE = click.option("--force", is_flag=True, help="Also for a client that is newer than leftoff knows.")


@click.command(epilog="Example: leftoff trim latest --threshold 500 --tools Read,Bash --dry-run")
@click.argument("session", default=LATEST)
@click.option("--threshold", type=click.IntRange(min=1), help="Cut what has more characters.  [1000]")
@click.option(
    "--tools", callback=_tools, metavar="NAME,NAME", help="Only what these tools were given and answered."
)
@click.option(
    "--trim-assistant",
    type=int,
    metavar="±N",
    help="Long replies too: N the first N, -N all but the last N.",
)
@_DRY_RUN
@_FORCE
@display.with_json
def trim(
    *,
    session: str,
    threshold: int | None,
    tools: tuple[str, ...] | None,
    trim_assistant: int | None,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Write a smaller copy of SESSION in which long tool results and inputs have given way to their two ends.

    The session itself is not touched. leftoff expand prints an original, leftoff untrim gives all of them back.
    """
    wanted = flow.Wanted(
        strategy="trim", threshold=threshold, tools=tools, trim_assistant=trim_assistant, force=force
    )
    return _shrink(session, wanted, dry_run=dry_run, as_json=as_json)


@click.command("smart-trim", epilog="Example: leftoff smart-trim --dry-run")
@click.argument("session", default=LATEST)
@click.option(
    "--by",
    metavar="NAME",
    help="Let an agent (by its id) or a command propose the cuts; by rules when left out.",
)
@_DRY_RUN
@_FORCE
@display.with_json
def smart_trim(*, session: str, by: str | None, dry_run: bool, force: bool, as_json: bool) -> int:
    """Write a smaller copy of SESSION without what later work has overtaken: stale reads, repeated runs, dead ends.

    A line in the place of each cut says what was there and why it went. The session itself is not touched.
    """
    wanted = flow.Wanted(strategy="smart-trim", by=by, force=force)
    return _shrink(session, wanted, dry_run=dry_run, as_json=as_json)


def _shrink(session: str, wanted: flow.Wanted, *, dry_run: bool, as_json: bool) -> int:
    planned = flow.planned(session, paths.working_folder(), wanted)
    if dry_run:
        with display.byte_progress("Looking") as progress:
            seen = flow.looked_at(planned, progress)
        display.as_json(seen.to_dict()) if as_json else made.draw_plan(seen)
        return made.NOTHING_TO_DO if seen.plan.nothing_to_trim else 0
    with display.byte_progress("Writing") as progress:
        written = flow.carried_out(planned, progress)
    if as_json:
        display.as_json(written.to_dict())
    elif written.nothing_to_trim:
        display.say(made.nothing(planned))
    else:
        made.say_made(written)
    return made.NOTHING_TO_DO if written.nothing_to_trim else 0
