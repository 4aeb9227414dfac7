"""``leftoff search``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from leftoff.cli import display
from leftoff.cli import search as face
from leftoff.errors import UsageError
from leftoff.flows.search import Asked


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of the short way, said once more for click."""
    for option in reversed(face.OPTIONS):
        if option.field == "as_json":
            command = display.with_json(command)
        elif option.kind == "switch":
            command = click.option(option.name, option.field, is_flag=True, help=option.words)(command)
        else:
            default = Asked._field_defaults[option.field]
            kind = click.IntRange(1, 1000) if option.kind == "number" else str
            shown = option.kind == "number"
            command = click.option(
                option.name, option.field, type=kind, default=default, show_default=shown, help=option.words
            )(command)
    return command


@click.command(
    # -word is a word that must not be there, -hello too.
    context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
    epilog="Example: leftoff search 'retry \"connection reset\" -test since:7d kind:prompt'",
)
@click.argument("query", nargs=-1)
@_with_options
@click.option("--update", is_flag=True, help="Bring the library up to date, and say what was read.")
@click.option("--rebuild", is_flag=True, help="Make the library anew from your transcripts.")
def search(*, query: tuple[str, ...], update: bool, rebuild: bool, as_json: bool, **fields: Any) -> int:
    """Find anything in any session of any agent: prompts, replies, commands, files, results, logs, pauses, chats.

    All words must be there, in any order; "a phrase" as it stands; begin* for all words that begin so; -not; one OR another.
    Filters: agent: project: tool: file: kind: since: before: errors: (kind:prompt since:7d errors:yes project:shop).
    Put a query with quotes in it into quotes of the other kind.
    """
    if "-h" in query:
        click.echo(click.get_current_context().get_help())
        return 0
    if unknown := next((word for word in query if word.startswith("--")), None):
        raise click.NoSuchOption(unknown)
    if not (update or rebuild):
        return face.show(Asked(query=" ".join(query), **fields), as_json=as_json)
    if query:
        raise UsageError("--update and --rebuild take no query.")
    from leftoff.flows.library_tend import tend
    from leftoff.flows.library_update import rebuild_library
    from leftoff.system import clock

    progress = None if as_json else face.progress()
    done = rebuild_library(progress) if rebuild else tend(clock.now(), progress=progress)
    if as_json:
        display.as_json(done.to_dict())
    else:
        display.say(done.words())
    return 0
