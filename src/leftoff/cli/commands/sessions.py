"""``leftoff sessions``."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from pathlib import Path

import click

from leftoff.cli import display, gauge
from leftoff.cli.ages import age
from leftoff.flows import list_sessions as flow
from leftoff.system import clock

_WIDE_COLUMNS = 80


@click.command(epilog="Example: leftoff sessions --limit 5")
@click.option("--agent", help="Only sessions of this agent.")
@click.option(
    "--project", type=click.Path(path_type=Path), help="Only sessions of the project in this folder."
)
@click.option("--all", "everything", is_flag=True, help="No limit.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many at most.")
@display.with_json
def sessions(*, agent: str | None, project: Path | None, everything: bool, limit: int, as_json: bool) -> int:
    """List the sessions of all agents, newest first; the numbers can be used wherever a SESSION is asked for."""
    listed = [*islice(flow.list_sessions(agent, project), None if everything else limit)]
    flow.remember(listed)
    if as_json:
        display.as_json([each.to_dict() for each in listed])
    elif listed:
        _draw(listed, clock.now())
    else:
        display.say("No sessions found. leftoff doctor tells where it looked.")
    return 0


def _draw(listed: list[flow.Listed], now: datetime) -> None:
    room = display.width()
    rows = [
        (
            str(number),
            each.entry.agent,
            display.one_line(Path(each.entry.project).name if each.entry.project else "?", 20),
            display.one_line(each.entry.first_prompt or "", max(18, min(46, room - 60))),
            _size(each.entry.size_bytes),
            _usage(each, with_bar=room >= _WIDE_COLUMNS),
            age(now, each.entry.modified_at),
        )
        for number, each in enumerate(listed, start=1)
    ]
    headings = ["", "agent", "project", "first prompt", "size", "used", "age"]
    display.table(headings, rows, spare=["size", "agent", "project"])


def _usage(each: flow.Listed, *, with_bar: bool) -> str:
    metrics = each.status.metrics
    if metrics.percentage_used is None:
        return "?"
    share = f"{metrics.percentage_used:3.0f} %"
    return f"{share} {gauge.bar(metrics, each.status.thresholds, 10)}" if with_bar else share


def _size(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
