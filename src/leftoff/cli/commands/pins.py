"""``leftoff pin``, ``leftoff pins`` and ``leftoff unpin``."""

from __future__ import annotations

import dataclasses

import click

from leftoff.cli import display
from leftoff.flows import pins as flow
from leftoff.resume_logs.pins import MOST_TOKENS
from leftoff.system import clock, paths


@click.command(epilog='Example: leftoff pin "never push to main"')
@click.argument("text", nargs=-1, required=True)
@display.with_json
def pin(*, text: tuple[str, ...], as_json: bool) -> int:
    """Fix TEXT, a rule or a fact: every resume log of this project carries it word for word."""
    kept = flow.pin(" ".join(text), paths.working_folder())
    if as_json:
        display.as_json(dataclasses.asdict(kept) | {"most_tokens": MOST_TOKENS})
        return 0
    display.say(f"Pinned as number {kept.number}: {display.visible(kept.text)}")
    if kept.redacted:
        display.say(
            f"Taken out before it was written: {', '.join(kept.redacted)}. A pin that names no secret says as much."
        )
    display.say(f"The pins of this project take {kept.used_tokens:,} of {MOST_TOKENS:,} tokens.")
    return 0


@click.command(epilog="Example: leftoff pins")
@display.with_json
def pins(*, as_json: bool) -> int:
    """List the pins of this project, with the numbers that unpin takes."""
    listed = flow.pins_of(paths.working_folder())
    if as_json:
        display.as_json(
            [
                {"number": number, "text": each.text, "at": each.at and clock.rfc3339(each.at)}
                for number, each in enumerate(listed, start=1)
            ]
        )
        return 0
    for number, each in enumerate(listed, start=1):
        display.say(f"{number:>3}  {display.visible(each.text)}")
    if not listed:
        display.say('Nothing is pinned in this project. Try: leftoff pin "never push to main"')
    return 0


@click.command(epilog="Example: leftoff unpin 2")
@click.argument("number", type=click.IntRange(min=1))
@display.with_json
def unpin(*, number: int, as_json: bool) -> int:
    """Take pin NUMBER out; leftoff pins lists the numbers."""
    gone = flow.unpin(number, paths.working_folder())
    if as_json:
        display.as_json(dataclasses.asdict(gone))
    else:
        display.say(f"No longer pinned: {display.visible(gone.text)}")
    return 0
