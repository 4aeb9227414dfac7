"""``leftoff export``."""

from __future__ import annotations

from pathlib import Path

import click

from leftoff.cli import display
from leftoff.flows import export as flow
from leftoff.flows.choose import LATEST
from leftoff.system import paths


@click.command(epilog="Example: leftoff export latest --chain --out session.md")
@click.argument("session", default=LATEST)
@click.option("--chain", is_flag=True, help="Its ancestors too, the oldest first.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Into this new file.")
@display.with_json
def export(*, session: str, chain: bool, out: Path | None, as_json: bool) -> int:
    """Write SESSION as Markdown, without credentials: prompts, replies, tool calls and what they answered."""
    pieces = flow.export(session, paths.working_folder(), chain=chain)
    if out is not None:
        size = flow.written(pieces, out)
        display.as_json({"file": str(out), "size_bytes": size}) if as_json else display.say(
            f"Wrote {display.visible(str(out))} ({size:,} bytes)."
        )
    elif as_json:
        display.as_json({"markdown": "".join(pieces)})
    else:
        for piece in pieces:
            click.echo(display.visible(piece), nl=False)
    return 0
