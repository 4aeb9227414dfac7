"""``leftoff trust``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from leftoff.cli import display
from leftoff.flows import trust as flow
from leftoff.system import paths


@click.command(epilog="Example: leftoff trust .leftoff/resume-logs")
@click.argument("documents", nargs=-1, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask; needed where nobody can be asked.")
@display.with_json
def trust(*, documents: tuple[Path, ...], yes: bool, as_json: bool) -> int:
    """Let DOCUMENTS be used that this machine did not write, such as those of a cloned repository.

    Shows each with its first lines and asks; its very content is remembered, so any change needs a new word from you.
    Without DOCUMENTS: lists those of this project that wait.
    """
    shown = flow.documents(documents, paths.working_folder())
    foreign = [each for each in shown if each.standing == "foreign"]
    if not as_json:
        _draw(shown)
    agreed = bool(documents) and bool(foreign) and (yes or (not as_json and _asked(len(foreign))))
    trusted = flow.trust(foreign) if agreed else []
    if as_json:
        display.as_json(
            {"documents": [_wire(each) for each in shown], "trusted": [str(each.path) for each in trusted]}
        )
    else:
        _say_what_happened(shown, foreign, trusted, named=bool(documents))
    return 0 if trusted or not foreign or not documents else 1


def _asked(count: int) -> bool:
    if not sys.stdin.isatty():
        return False
    what = "this document" if count == 1 else f"these {count} documents"
    return click.confirm(f"Use {what} from now on?", default=False, err=True)


def _draw(shown: list[flow.Document]) -> None:
    for each in shown:
        display.say(f"{display.visible(str(each.path))}  {each.size_bytes:,} bytes  {each.standing}")
        for line in each.first_lines:
            display.say(f"    {display.one_line(line, 100)}")


def _say_what_happened(
    shown: list[flow.Document], foreign: list[flow.Document], trusted: list[flow.Document], *, named: bool
) -> None:
    if trusted:
        display.say(f"Trusted: {len(trusted)}. They are used as long as nobody changes them.")
    elif not shown:
        display.say("No document of this project waits for your word.")
    elif not foreign:
        display.say("Nothing to trust: this machine wrote these, or you have trusted them already.")
    elif named:
        display.say("Nothing was trusted. Where nobody can be asked: leftoff trust --yes DOCUMENT")
    else:
        display.say("These wait for your word. Read them, then: leftoff trust DOCUMENT")


def _wire(each: flow.Document) -> dict[str, object]:
    return {
        "path": str(each.path),
        "size_bytes": each.size_bytes,
        "sha256": each.sha256,
        "standing": each.standing,
        "first_lines": [*each.first_lines],
    }
