"""``leftoff bench``."""

from __future__ import annotations

import dataclasses

import click

from leftoff.cli import display
from leftoff.cli.commands.bench_retention import retention
from leftoff.flows import bench_speed
from leftoff.flows.bench_row import Row

_VERDICTS = {True: "reached", False: "MISSED", None: "too small to tell"}


@click.group(epilog="Example: leftoff bench speed --quick")
def bench() -> None:
    """Measure leftoff on this machine."""


bench.add_command(retention)


@bench.command(epilog="Example: leftoff bench speed --quick")
@click.option("--quick", is_flag=True, help="Small files and few rounds: seconds instead of minutes.")
@click.option("--strict", is_flag=True, help="Exit with 1 when a goal is missed.")
@display.with_json
def speed(*, quick: bool, strict: bool, as_json: bool) -> int:
    """Show each measure of speed as a ratio in one run, beside its goal."""
    rows = [*bench_speed.measures(quick=quick)]
    if as_json:
        display.as_json([dataclasses.asdict(row) | {"reached": row.reached} for row in rows])
    else:
        display.table(["measure", "against", "ratio", "goal", ""], [_row(row) for row in rows])
    return 1 if strict and any(row.reached is False for row in rows) else 0


def _row(row: Row) -> tuple[str, str, str, str, str]:
    sign = "≤" if row.at_most else "≥"
    verdict = _VERDICTS[row.reached]
    return (
        row.what,
        row.against,
        f"{row.ratio:.2f}",
        f"{sign} {row.limit:g}",
        f"{verdict} {row.note}".strip(),
    )
