"""How things are shown: JSON or words, colour only on a terminal, foreign text with its control characters made visible.

Tables and progress are rich's, which is imported only to draw them: it costs more than all the rest of a short command.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from leftoff.cli import long_table
from leftoff.cli.plain import say as say
from leftoff.cli.plain import width as width
from leftoff.cli.plain import wrapped as wrapped
from leftoff.cli.visible import columns_of, escaped
from leftoff.cli.visible import one_line as one_line
from leftoff.cli.visible import visible as visible
from leftoff.system import paths

if TYPE_CHECKING:
    from rich.console import Console

Command = TypeVar("Command", bound=Callable[..., Any])
Item = TypeVar("Item")

_READABLE_COLUMNS = 20  # what is longer is folded on a narrow terminal
_FOLDED_COLUMNS = 8  # what a column is left at least, where that is possible


def with_json(command: Command) -> Command:
    """Give a command the option ``--json``; it arrives as ``as_json``."""
    option = click.option(
        "--json", "as_json", is_flag=True, help="JSON only, on standard output.", callback=_here_or_before
    )
    return option(command)


def _here_or_before(context: click.Context, parameter: click.Parameter, value: bool) -> bool:  # noqa: ARG001, FBT001 - click's
    """``leftoff --json status`` means the same as ``leftoff status --json``."""
    return value or bool(context.find_root().params.get("as_json"))


def as_json(value: Any) -> None:
    """The value as JSON on standard output, however large it is."""
    click.echo(_json(value))


def as_json_list(values: Iterable[Any]) -> None:
    """Many values as one list, each written when it comes: a session may be larger than the memory.

    The list is closed also when something goes wrong on the way, so that what was written can be read.
    """
    begun = False
    try:
        for value in values:
            click.echo(("," if begun else "[") + "\n  " + _json(value).replace("\n", "\n  "), nl=False)
            begun = True
    finally:
        if begun:
            click.echo("\n]")
    if not begun:
        click.echo("[]")


def _json(value: Any) -> str:
    import orjson

    try:
        return escaped(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
    except orjson.JSONEncodeError:  # half a character in somebody's text, which UTF-8 has no way to write
        return json.dumps(value, indent=2)


def error(message: str, *, as_json: bool) -> None:
    """One sentence about what went wrong."""
    if as_json:
        click.echo(json.dumps({"error": message}, ensure_ascii=False))
    else:
        click.echo(f"leftoff: {visible(message)}", err=True)


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    spare: Sequence[str] = (),
) -> None:
    """A table; foreign text in it must have come through ``visible`` or ``one_line``.

    ``spare`` names the columns that a narrow terminal is spared, the least important first.
    """
    columns = _fitting([*zip(headings, *rows, strict=True)], spare, width())
    if columns and len(columns[0]) > long_table.MANY:
        click.echo("\n".join([*([title] if title else []), *long_table.lines(columns, width())]))
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    whole = _unfolded(columns, width())
    for place, (heading, *_) in enumerate(columns):
        drawn.add_column(heading, overflow="fold", no_wrap=place in whole)
    for row in zip(*(cells for _, *cells in columns), strict=True):
        drawn.add_row(*map(Text, row))
    _console().print(drawn)


def _fitting(columns: list[tuple[str, ...]], spare: Sequence[str], room: int) -> list[tuple[str, ...]]:
    """The columns, heading first, without as many of the spare ones as have to go."""
    for heading in spare:
        needed = sum(3 + min(_READABLE_COLUMNS, max(map(columns_of, column))) for column in columns)
        if needed - 1 <= room:
            break
        columns = [column for column in columns if column[0] != heading]
    return columns


def _unfolded(columns: list[tuple[str, ...]], room: int) -> set[int]:
    """The short columns that need not be folded, narrowest first, as long as every other keeps a readable width.

    What may not be folded and does not fit is cut off, and with it whatever stands to its right.
    """
    taken = {place: max(map(columns_of, column)) for place, column in enumerate(columns)}
    room -= sum(3 + min(_FOLDED_COLUMNS, each) for each in taken.values()) - 1
    whole = set()
    for place in sorted(taken, key=lambda place: taken[place]):
        room -= max(0, taken[place] - _FOLDED_COLUMNS)
        if room < 0 or taken[place] > _READABLE_COLUMNS:
            break
        whole.add(place)
    return whole


def _console() -> Console:
    from rich.console import Console

    class Piped(Console):
        """One that leaves a closed pipe to the door, which knows that it is no error."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Piped(
        highlight=False, soft_wrap=False, emoji=False, no_color="NO_COLOR" in paths.environment() or None
    )


def hint(words: str) -> None:
    """What is being waited for, on standard error; nothing when that is no terminal."""
    if sys.stderr.isatty():
        click.echo(words, err=True)


def progress(items: Iterable[Item], *, total: int, words: str) -> Iterator[Item]:
    """The items, with a bar on standard error while they are worked through; no bar when that is no terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, total=total, description=words, console=Console(stderr=True), transient=True)


@contextmanager
def byte_progress(words: str) -> Iterator[Callable[[int, int], None] | None]:
    """Something to tell how many bytes are done, drawn as a bar on standard error; None when that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(words)
        yield lambda done, total: bar.update(task, completed=done, total=total)
