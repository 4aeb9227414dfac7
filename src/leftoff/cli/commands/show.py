"""``leftoff show``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import click

from leftoff.cli import display
from leftoff.flows import show as flow
from leftoff.flows.choose import LATEST
from leftoff.system import paths


@click.command(epilog="Example: leftoff show latest --at 120")
@click.argument("session", default=LATEST)
@click.option(
    "--at", "at_line", type=click.IntRange(min=1), help="This line of the transcript and those around it."
)
@click.option("--full", is_flag=True, help="Shorten nothing.")
@display.with_json
def show(*, session: str, at_line: int | None, full: bool, as_json: bool) -> int:
    """Read SESSION: prompts, replies, tool calls and answers, line by line; paged on a terminal.

    A session that goes on from another begins with that one's part.
    """
    shown: Iterable[flow.Shown]
    if at_line is None:
        shown = flow.show(session, paths.working_folder(), full=full)
    else:
        shown = flow.show_around(session, paths.working_folder(), at_line, full=full)
    if as_json:
        display.as_json_list(map(dataclasses.asdict, shown))
    else:
        click.echo_via_pager(_written(shown))
    return 0


def _written(shown: Iterable[flow.Shown]) -> Iterator[str]:
    transcript = None
    for each in shown:
        if each.transcript != transcript:
            transcript = each.transcript
            yield f"{display.visible(transcript)}\n\n"
        who = f" ({display.visible(each.actor)})" if each.actor else ""
        yield f"{each.line:>6}  {each.kind}{who}  {each.at or ''}\n"
        for line in display.visible(each.text).splitlines():
            yield f"        {line}\n"
        yield "\n"
