"""``leftoff lineage``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from leftoff.cli import display
from leftoff.flows import lineage as flow
from leftoff.flows.choose import LATEST
from leftoff.flows.lineage import CLEARED
from leftoff.system import paths

_LONGEST_PROMPT = 60
_OWN_WORDS = {None, CLEARED}  # the others begin with their parent's


@click.command(epilog="Example: leftoff lineage latest")
@click.argument("session", default=LATEST)
@display.with_json
def lineage(*, session: str, as_json: bool) -> int:
    """Draw the family of SESSION: what it came from, and all that was trimmed, continued or forked from any of them."""
    found = flow.lineage(session, paths.working_folder())
    if as_json:
        display.as_json(found.to_dict())
        return 0
    for line, is_asked_for in _lines(found.root, "", ""):
        display.say(line, {"bold": True} if is_asked_for else None)
    return 0


def _lines(member: flow.Member, first: str, rest: str) -> Iterator[tuple[str, bool]]:
    yield f"{first}{_words(member)}", member.is_asked_for
    for number, child in enumerate(member.children, 1):
        is_last = number == len(member.children)
        yield from _lines(
            child, f"{rest}{'└─ ' if is_last else '├─ '}", f"{rest}{'   ' if is_last else '│  '}"
        )


def _words(member: flow.Member) -> str:
    parts = [
        member.session_id or member.session_file.name,
        member.derivation or "original",
        member.agent,
        (member.modified_at or "")[:16].replace("T", " "),
        f"{member.compactions} compactions" if member.compactions else None,
        "ended by /clear" if member.was_cleared else None,
        "MISSING" if member.missing else None,
        display.one_line(member.first_prompt, _LONGEST_PROMPT)
        if member.first_prompt and member.derivation in _OWN_WORDS
        else None,
        "<- this one" if member.is_asked_for else None,
    ]
    return display.visible("  ".join(filter(None, parts)))
