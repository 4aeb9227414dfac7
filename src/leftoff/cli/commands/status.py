"""``leftoff status``."""

from __future__ import annotations

import time

import click

from leftoff.cli import display, gauge
from leftoff.flows import status as flow
from leftoff.flows.choose import LATEST
from leftoff.flows.status import Status
from leftoff.model.context_metrics import Level
from leftoff.system import paths

_WATCH_SECONDS = 2.0


@click.command(epilog="Example: leftoff status --watch")
@click.argument("session", default=LATEST)
@click.option("--watch", is_flag=True, help="Draw it again every two seconds, until Ctrl-C.")
@display.with_json
def status(*, session: str, watch: bool, as_json: bool) -> int:
    """Show how full the window of SESSION is and how many turns are left; SESSION is the latest of this project."""
    found = flow.status(session, paths.working_folder())
    if as_json:
        display.as_json(found.to_dict())
        return 0
    if not watch:
        draw(found)
        return 0
    while True:
        click.clear()
        draw(found)
        time.sleep(_WATCH_SECONDS)
        found = flow.status(session, paths.working_folder())


def draw(found: Status) -> None:
    """The gauge and what it means."""
    width = max(20, min(60, display.width() - 4))
    marks = ", ".join(_mark(found, threshold.level) for threshold in found.thresholds.in_order)
    title = f"{found.agent} {found.session_id}  {display.visible(found.model or 'model unknown')}"
    display.say(display.wrapped(title, indent=""))
    display.say(f"  {gauge.bar(found.metrics, found.thresholds, width)}", gauge.style(found.level))
    for line in (
        f"{gauge.words(found.metrics)} ({_basis(found)})",
        f"level {found.level or 'unknown'}; {marks}",
        found.advice,
    ):
        display.say(display.wrapped(line, indent="  "))


def _mark(found: Status, level: Level) -> str:
    turns = found.turns_left[level]
    left = "?" if turns is None else "crossed" if turns == 0 else f"~{turns} turns"
    return f"{level.value} {left}"


def _basis(found: Status) -> str:
    metrics = found.metrics
    window = "?" if metrics.window_tokens is None else f"{metrics.window_tokens:,}"
    return f"{metrics.basis}; window {window}, {metrics.window_basis}"
