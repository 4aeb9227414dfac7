"""How things are shown: JSON or words, colour only on a terminal, foreign text with its control characters made visible.

rich is imported only when something is drawn.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from leftoff.system import paths

if TYPE_CHECKING:
    from rich.console import Console

Command = TypeVar("Command", bound=Callable[..., Any])
Item = TypeVar("Item")

# Control characters, and those that turn text round or hide it: shown, never sent to the terminal.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def with_json(command: Command) -> Command:
    """Give a command the option ``--json``; it arrives as ``as_json``."""
    option = click.option(
        "--json", "as_json", is_flag=True, help="JSON only, on standard output.", callback=_here_or_before
    )
    return option(command)


def _here_or_before(context: click.Context, parameter: click.Parameter, value: bool) -> bool:  # noqa: ARG001, FBT001 - click's
    """``leftoff --json status`` means the same as ``leftoff status --json``."""
    return value or bool(context.find_root().params.get("as_json"))


def visible(text: str) -> str:
    """Foreign text that can do nothing to a terminal: ESC becomes ␛, others ``<U+202E>``."""
    return _HIDDEN.sub(_shown, text)


def one_line(text: str, width: int) -> str:
    """Foreign text on one line of at most ``width`` columns; scripts that take two columns a letter are counted so."""
    flat = visible(" ".join(text[: width * 40].split()))
    taken = 0
    for position, letter in enumerate(flat):
        taken += _columns(letter)
        if taken > width:
            return _cut(flat[:position], width - 1) + "…"
    return flat


def wrapped(text: str, *, indent: str) -> str:
    """Foreign text broken into lines that fit the terminal, each indented."""
    width = max(40, console().width) - 1
    lines = [
        textwrap.wrap(line, width, initial_indent=indent, subsequent_indent=indent)
        for line in text.splitlines()
    ]
    return "\n".join(part for line in lines for part in (line or [""]))


def _cut(text: str, width: int) -> str:
    while text and sum(map(_columns, text)) > width:
        text = text[:-1]
    return text


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def as_json(value: Any) -> None:
    """The value as JSON on standard output."""
    import orjson

    try:
        click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
    except orjson.JSONEncodeError:  # half a character in somebody's text, which UTF-8 has no way to write
        click.echo(json.dumps(value, indent=2))


def say(text: str) -> None:
    """Words on standard output."""
    click.echo(text)


def error(message: str, *, as_json: bool) -> None:
    """One sentence about what went wrong."""
    if as_json:
        click.echo(json.dumps({"error": message}, ensure_ascii=False))
    else:
        click.echo(f"leftoff: {visible(message)}", err=True)


def console() -> Console:
    """Where tables and gauges are drawn; plain when it is no terminal or NO_COLOR is set."""
    from rich.console import Console

    class Piped(Console):
        """One that leaves a closed pipe to the door, which knows that it is no error."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Piped(
        highlight=False, soft_wrap=False, emoji=False, no_color="NO_COLOR" in paths.environment() or None
    )


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None) -> None:
    """A table; foreign text in it must have come through ``visible`` or ``one_line``."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for heading in headings:
        drawn.add_column(heading, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    console().print(drawn)


def progress(items: Iterable[Item], *, total: int, words: str) -> Iterator[Item]:
    """The items, with a bar on standard error while they are worked through; no bar when that is no terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, total=total, description=words, console=Console(stderr=True), transient=True)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"
