"""``leftoff trust``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from leftoff.cli import display
from leftoff.flows import trust as flow
from leftoff.system import paths

_WAITING = "These wait for your word. Read them, then: leftoff trust DOCUMENT"


@click.command(epilog="Example: leftoff trust .leftoff/resume-logs")
@click.argument("documents", nargs=-1, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask; needed where nobody can be asked.")
@display.with_json
def trust(*, documents: tuple[Path, ...], yes: bool, as_json: bool) -> int:
    """Let DOCUMENTS be used that this machine did not write, such as those of a cloned repository.

    Shows each with its first lines and asks; its very content is remembered, so any change needs a new word from you.
    Without DOCUMENTS: lists all that the files of this project would make leftoff do: which documents wait and what each is
    for, and which settings its own file makes.
    """
    if documents:
        return _trust(flow.documents(documents, paths.working_folder()), yes=yes, as_json=as_json)
    waiting = flow.waiting(paths.working_folder())
    if as_json:
        display.as_json(_wire_of_all(waiting))
    else:
        _draw_settings(waiting)
        _draw([*waiting.documents])
        display.say(_WAITING if waiting.documents else "No document of this project waits for your word.")
    return 0


def _trust(shown: list[flow.Document], *, yes: bool, as_json: bool) -> int:
    foreign = [each for each in shown if each.standing == "foreign"]
    if not as_json:
        _draw(shown)
    agreed = bool(foreign) and (yes or (not as_json and _asked(len(foreign))))
    trusted = flow.trust(foreign) if agreed else []
    if as_json:
        display.as_json(
            {"documents": [_wire(each) for each in shown], "trusted": [str(each.path) for each in trusted]}
        )
    else:
        _say_what_happened(foreign, trusted)
    return 0 if trusted or not foreign else 1


def _asked(count: int) -> bool:
    if not sys.stdin.isatty():
        return False
    what = "this document" if count == 1 else f"these {count} documents"
    return click.confirm(f"Use {what} from now on?", default=False, err=True)


def _draw(shown: list[flow.Document]) -> None:
    for each in shown:
        display.say(f"{display.visible(str(each.path))}  {each.size_bytes:,} bytes  {each.standing}")
        display.say(f"    {display.visible(each.what)}")
        for line in each.first_lines:
            display.say(f"    | {display.one_line(line, 100)}")


def _draw_settings(waiting: flow.Waiting) -> None:
    if waiting.settings:
        display.say(
            "Settings of this project, in force without your word: they run nothing and send nothing."
        )
    for each in waiting.settings:
        place = f"{waiting.settings_file}:{each.line}" if each.line else str(waiting.settings_file)
        display.say(f"    {each.key}: {display.one_line(str(each.value), 60)}  {display.visible(place)}")
    if waiting.passed_over:
        display.say("Passed over:")
    for words in waiting.passed_over:
        display.say(display.wrapped(display.visible(words), indent="    "))


def _say_what_happened(foreign: list[flow.Document], trusted: list[flow.Document]) -> None:
    if trusted:
        display.say(f"Trusted: {len(trusted)}. They are used as long as nobody changes them.")
    elif not foreign:
        display.say("Nothing to trust: this machine wrote these, or you have trusted them already.")
    else:
        display.say("Nothing was trusted. Where nobody can be asked: leftoff trust --yes DOCUMENT")


def _wire_of_all(waiting: flow.Waiting) -> dict[str, object]:
    return {
        "documents": [_wire(each) for each in waiting.documents],
        "trusted": [],
        "settings": [{"key": each.key, "value": each.value, "line": each.line} for each in waiting.settings],
        "passed_over": [*waiting.passed_over],
    }


def _wire(each: flow.Document) -> dict[str, object]:
    return {
        "path": str(each.path),
        "size_bytes": each.size_bytes,
        "sha256": each.sha256,
        "standing": each.standing,
        "what": each.what,
        "first_lines": [*each.first_lines],
    }
