"""``leftoff expand``."""

from __future__ import annotations

import click

from leftoff.cli import display
from leftoff.flows import expand as flow


@click.command(epilog="Example: leftoff expand 0b54f7aa-41-9f3a51c8 | head -50")
@click.argument("key")
@display.with_json
def expand(*, key: str, as_json: bool) -> int:
    """Print the original behind a placeholder; KEY stands at its end. The original is checked against its digest."""
    found = flow.expand(key)
    if as_json:
        display.as_json(
            {
                "key": found.key,
                "session_file": found.transcript,
                "line": found.line,
                "part": found.part,
                "value": found.value,
            }
        )
    else:
        click.echo(display.visible(found.text))
    return 0
