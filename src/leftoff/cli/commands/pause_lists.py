"""``leftoff pause list``, ``stats`` and ``compress``: what became of earlier pauses."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import click

from leftoff.cli import display
from leftoff.cli.ages import ago
from leftoff.errors import NothingToDoError
from leftoff.flows import pause_compress, pause_list, pause_stats
from leftoff.flows.pause_list import Listed
from leftoff.system import clock, paths

_MOST_TOOLS = 10


@click.command("list", epilog="Example: leftoff pause list")
@display.with_json
def list_(*, as_json: bool) -> int:
    """List the pauses of this project, running and finished, newest first; the numbers can be used as PAUSE."""
    listed = pause_list.list_pauses(paths.working_folder())
    pause_list.remember(listed)
    if as_json:
        display.as_json([each.to_dict() for each in listed])
    elif listed:
        draw_list(listed)
    else:
        display.say(
            "No pause in this project yet. One begins at 90 % of the window, or with: leftoff pause start"
        )
    return 0


def draw_list(listed: Sequence[Listed]) -> None:
    """The list as a table."""
    now = clock.now()
    rows = [_row(number, each, now) for number, each in enumerate(listed, start=1)]
    headings = ["", "age", "state", "actions", "context", "id", "note"]
    display.table(headings, rows, spare=["context", "actions", "note"])


def _row(number: int, each: Listed, now: datetime) -> tuple[str, ...]:
    span = each.context_range
    return (
        str(number),
        ago(now, each.at),
        each.standing,
        "?" if each.action_count is None else str(each.action_count),
        "?" if span is None else f"{span[0]:.0%} → {span[1]:.0%}",
        each.session_id,
        display.one_line((each.note or "").replace(f"{each.path.parent}{os.sep}", ""), 60),
    )


@click.command(epilog="Example: leftoff pause stats --json")
@display.with_json
def stats(*, as_json: bool) -> int:
    """Show what this project's pauses hold: actions by kind and tool, minutes from 90 % to the end, how often discarded."""
    found = pause_stats.pause_stats(paths.working_folder())
    if as_json:
        display.as_json(found.to_dict())
        return 0
    sums = found.statistics
    share = f" ({sums.discarded_fraction:.0%} of all)" if sums.discarded_fraction else ""
    display.say(f"Pauses finished: {sums.finished}; discarded: {sums.discarded}{share}.")
    if sums.median_minutes is not None:
        display.say(
            f"From 90 % to the end: {sums.median_minutes:g} min (median), {sums.longest_minutes:g} min at most."
        )
    if found.without_lines:
        display.say(
            f"Without actions that can be read: {found.without_lines}; leftoff pause list names them."
        )
    _counts("action", sums.kinds)
    _counts("tool", sums.tools)
    return 0


def _counts(what: str, counts: Mapping[str, int]) -> None:
    if counts:
        rows = [(display.one_line(name, 40), str(count)) for name, count in [*counts.items()][:_MOST_TOOLS]]
        display.table([what, "times"], rows)


@click.command(epilog="Example: leftoff pause compress --older-than 30")
@click.option(
    "--older-than",
    "days",
    type=click.IntRange(min=0),
    default=30,
    show_default=True,
    help="Days since the pause ended.",
)
@display.with_json
def compress(*, days: int, as_json: bool) -> int:
    """Pack the archives of old pauses of this project; they stay readable for every command."""
    done = pause_compress.compress_archives(paths.working_folder(), timedelta(days=days))
    if not done.archives and not done.troubles:
        raise NothingToDoError(f"No archive of this project is older than {days} days and not packed yet.")
    if as_json:
        display.as_json(dataclasses.asdict(done))
    else:
        display.say(f"Archives packed: {done.archives}; saved: {done.saved_bytes:,} bytes.")
        for trouble in done.troubles:
            display.error(trouble, as_json=False)
    return 1 if done.troubles else 0
