"""``leftoff log save``."""

from __future__ import annotations

from pathlib import Path

import click

from leftoff.cli import display
from leftoff.errors import UsageError
from leftoff.flows import save_log as flow
from leftoff.flows.choose import LATEST
from leftoff.system import paths

_LEAST_CHARS = 500


@click.command(epilog="Example: leftoff log save --stdout --max-chars 9900")
@click.argument("session", default=LATEST)
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the Markdown and write nothing.")
@click.option(
    "--max-chars", type=click.IntRange(min=_LEAST_CHARS), help="With --stdout: at most so many characters."
)
@click.option(
    "--transcript",
    type=click.Path(path_type=Path),
    help="With --stdout: of this file, wherever it is.",
)
@display.with_json
def save(
    *, session: str, to_stdout: bool, max_chars: int | None, transcript: Path | None, as_json: bool
) -> int:
    """Save the resume log of SESSION: a number of the list last shown, an id or prefix, a path; the latest when left out."""
    if not to_stdout and (max_chars is not None or transcript is not None):
        raise UsageError(
            "--max-chars and --transcript go with --stdout, which prints the log and writes nothing."
        )
    folder = paths.working_folder()
    if to_stdout:
        text = flow.log_text_of(str(transcript) if transcript else session, folder, max_chars=max_chars)
        display.as_json({"markdown": text}) if as_json else click.echo(display.visible(text), nl=False)
        return 0
    kept = flow.save_log(session, folder)
    if as_json:
        display.as_json(kept.to_dict() | {"troubles": [str(trouble) for trouble in kept.troubles]})
        return 0
    for trouble in kept.troubles:
        click.echo(f"Passed over: {trouble}", err=True)
    click.echo(
        f"Saved {kept.markdown_file} ({kept.estimated_tokens:,} tokens). To read it: leftoff log show {kept.log.session_id}"
    )
    return 0
