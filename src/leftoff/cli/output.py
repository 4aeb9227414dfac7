"""Show results: JSON or text, tables, progress, and styles on terminals that have them.

Text from elsewhere goes through ``visible`` or ``one_line``: control characters, and those that reverse or hide text, are made visible
and never sent to the terminal. rich draws progress bars and is imported only for that.
"""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeVar

import click

from leftoff.cli.gauge import Style
from leftoff.errors import Choice
from leftoff.platform import paths

if TYPE_CHECKING:
    import re

Command = TypeVar("Command", bound=Callable[..., Any])
Item = TypeVar("Item")
NOTHING_TO_DO = 3  # exit code, also where a list is empty
RULE_WIDTH = 51  # columns of a line between parts, at most
_NARROWEST = 30  # columns that text is wrapped to at least; a narrower terminal has to scroll
_READABLE_COLUMNS = 20  # longer cells are folded on a narrow terminal
_FOLDED_COLUMNS = 8  # the least that a table column gets where there is room for it
# Control characters except tab and line end, and those that reverse, join or hide text. All of them are unprintable, so most texts
# need no check; the pattern is compiled when the first one does.
_HIDDEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_LAST_PLAIN = 0xFFFF


def prepare_output() -> None:
    """Make standard output accept any text: it shows ? for what its encoding lacks, and ASCII streams are sent UTF-8."""
    out: Any = sys.stdout
    if hasattr(out, "reconfigure"):
        only_ascii = out.encoding.lower() in {"ascii", "us-ascii", "ansi_x3.4-1968", "646"}
        out.reconfigure(encoding="utf-8" if only_ascii else None, errors="replace")


def say(text: str, style: Style | None = None) -> None:
    """Write text to standard output; it is styled on a terminal that can, unless NO_COLOR is set."""
    write(f"{apply_style(text, style) if style else text}\n")


def write(text: str) -> None:
    """Write text as it is, without a line end, and flush it, so that a full disk is noticed here."""
    sys.stdout.write(text)
    sys.stdout.flush()


def apply_style(text: str, style: Style) -> str:
    """Return the text with the escape codes of that style if the output shows styles."""
    return click.style(text, **style) if _shows_styles() else text


def _shows_styles() -> bool:
    if not sys.stdout.isatty():
        return False
    environment = paths.environment()
    return "NO_COLOR" not in environment and environment.get("TERM") != "dumb"


def wrap(text: str, *, indent: str) -> str:
    """Break text into lines that fit the terminal, each indented."""
    wrapper = textwrap.TextWrapper(
        max(_NARROWEST, width() - 1), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return "\n".join(part for line in text.splitlines() for part in wrapper.wrap(line) or [""])


def width() -> int:
    """Return the columns of the terminal."""
    return shutil.get_terminal_size().columns


class OrderedGroup(click.Group):
    """A group that lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in that order."""
        return [*self.commands]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse a call without a command in one line, like every other mistake; click would print the whole help."""
        if not args:
            ctx.fail(f"{ctx.command_path} needs a command: {', '.join(self.list_commands(ctx))}.")
        return super().parse_args(ctx, args)


class WholeNumber(click.IntRange):
    """A whole number within limits; what is wrong with another value is said in plain words."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not a whole number{self._describe_limits()}.", param, ctx)

    def _describe_limits(self) -> str:
        if self.min is None or self.max is None:
            return "" if self.min is None else f", {self.min:,} or more"
        return f" from {self.min:,} to {self.max:,}"


class Fraction(click.FloatRange):
    """A share of the window."""

    name = "fraction"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not a fraction, 0.9 for 90 %.", param, ctx)


def with_json(command: Command) -> Command:
    """Give a command the option ``--json``; it arrives as ``as_json``."""
    option = click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="JSON only, on standard output.",
        callback=_json_here_or_on_root,
    )
    return option(command)


def _json_here_or_on_root(context: click.Context, parameter: click.Parameter, value: bool) -> bool:  # noqa: ARG001, FBT001 - click's
    """``leftoff --json status`` means the same as ``leftoff status --json``."""
    return value or bool(context.find_root().params.get("as_json"))


def as_json(value: Any) -> None:
    """Write the value as JSON to standard output."""
    click.echo(_json(value))


def as_json_list(values: Iterable[Any]) -> None:
    """Write many values as one list, each as it comes: a session may be larger than the memory.

    The list is closed even if an error ends it, so that what was written can be parsed.
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
        return escape_json(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
    except orjson.JSONEncodeError:  # half a surrogate pair, which UTF-8 cannot encode
        return json.dumps(value, indent=2)


def error(message: str, *, as_json: bool) -> None:
    """Write one sentence about what went wrong."""
    if as_json:
        click.echo(escape_json(json.dumps({"error": message}, ensure_ascii=False)))
    else:
        click.echo(f"leftoff: {visible(message)}", err=True)


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    title: str | None = None,
    spare: Sequence[str] = (),
) -> None:
    """Write a table; its cells and title are made visible here.

    ``spare`` names the columns to leave out on a narrow terminal, the least important first. rich is not used: it needs about a
    millisecond for each row, which is too long for a list of all sessions.
    """
    cells = [[visible(cell) for cell in row] for row in rows]
    columns = _columns_that_fit([*zip(headings, *cells, strict=True)], spare, width())
    widths = _widths([max(map(_length, column)) for column in columns], width())
    heading, *fitting = zip(*columns, strict=True)
    lines = [
        *([apply_style(line, {"italic": True}) for line in _fold(visible(title), width())] if title else []),
        "",
        *(apply_style(line, {"bold": True}) for line in _row(heading, widths)),
        " " + "─" * (sum(widths) + 3 * (len(widths) - 1)),
        *(line for row in fitting for line in _row(row, widths)),
        "",
    ]
    write("".join(f"{line}\n" for line in lines))


def _columns_that_fit(
    columns: list[tuple[str, ...]], spare: Sequence[str], room: int
) -> list[tuple[str, ...]]:
    """Return the columns, heading first, without as many of the spare ones as necessary."""
    for heading in spare:
        needed = sum(3 + min(_READABLE_COLUMNS, max(map(_length, column))) for column in columns)
        if needed - 1 <= room:
            break
        columns = [column for column in columns if column[0] != heading]
    return columns


def _widths(wanted: list[int], room: int) -> list[int]:
    """Return the width of each column: the widest is made narrower until all fit."""
    widths = [*wanted]
    over = sum(widths) + 3 * len(widths) - 2 - room
    while over > 0 and max(widths) > 1:
        least = _FOLDED_COLUMNS if max(widths) > _FOLDED_COLUMNS else 1
        widest = widths.index(max(widths))
        next_widest = max([least, *(each for each in widths if each < widths[widest])])
        less = max(1, min(over, widths[widest] - next_widest))
        widths[widest] -= less
        over -= less
    return widths


def _row(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Return the lines of one row: a cell that is too long continues below."""
    folded = [_fold(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for parts in zip_longest(*folded, fillvalue=""):
        padded = (part + " " * (width - _length(part)) for part, width in zip(parts, widths, strict=True))
        yield (" " + "   ".join(padded)).rstrip()


def _fold(cell: str, width: int) -> list[str]:
    """Break a cell into lines of at most ``width`` columns, between words if possible."""
    if _length(cell) <= width and "\n" not in cell:
        return [cell]
    lines = []
    for line in cell.splitlines():
        taken = ""
        for word in line.split(" "):
            longer = f"{taken} {word}" if taken else word
            if _length(longer) > width:
                lines += [taken] if taken else []
                *full, longer = _cut(word, width)
                lines += full
            taken = longer
        lines.append(taken)
    return lines


def _cut(word: str, width: int) -> list[str]:
    """Cut a word into pieces of at most ``width`` columns."""
    pieces = [""]
    for letter in word:
        if pieces[-1] and _length(pieces[-1] + letter) > width:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def _length(text: str) -> int:
    return len(text) if text.isascii() else columns_of(text)


def choose(question: str, choices: Sequence[Choice]) -> Choice:
    """Show numbered choices on standard error, and return the one whose number the user types."""
    click.echo(visible(question), err=True)
    for number, each in enumerate(choices, start=1):
        click.echo(visible(f"{number:>3}  {each.description}\n     {each.selector}"), err=True)
    number = click.prompt("Which one", type=WholeNumber(1, len(choices)), err=True)
    return choices[number - 1]


def hint(words: str) -> None:
    """Say on standard error what takes a while; nothing if that is not a terminal."""
    if sys.stderr.isatty():
        click.echo(words, err=True)


def progress(items: Iterable[Item], *, total: int, words: str) -> Iterator[Item]:
    """Pass the items on, with a progress bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, total=total, description=words, console=Console(stderr=True), transient=True)


@contextmanager
def byte_progress(words: str) -> Iterator[Callable[[int, int], None] | None]:
    """Give a function that draws a progress bar for bytes on standard error; None if that is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(words)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def visible(text: str) -> str:
    """Return text that cannot affect a terminal: ESC becomes ␛, others ``<U+202E>``."""
    if text.isprintable():
        return text
    import re

    return re.sub(_HIDDEN, _visible_character, text)


def escape_json(json_text: str) -> str:
    """Return equal JSON that cannot affect a terminal."""
    import re

    return re.sub(_HIDDEN, _escape, json_text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code <= _LAST_PLAIN:
        return f"\\u{code:04x}"
    return f"\\u{0xD7C0 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"  # as a surrogate pair: JSON escapes have four digits


def one_line(text: str, width: int) -> str:
    """Return text on one line of at most ``width`` columns; some scripts take two columns per letter."""
    flat = visible(" ".join(text[: width * 40].split()))
    if flat.isascii():
        return flat if len(flat) <= width else flat[: max(0, width - 1)] + "…"
    taken = 0
    for position, letter in enumerate(flat):
        taken += _columns(letter)
        if taken > width:
            return _shorten(flat[:position], width - 1) + "…"
    return flat


def columns_of(text: str) -> int:
    """Return the columns that text takes on a terminal."""
    return sum(map(_columns, text))


def _shorten(text: str, width: int) -> str:
    while text and columns_of(text) > width:
        text = text[:-1]
    return text


def _columns(letter: str) -> int:
    if letter.isascii():
        return 1
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _visible_character(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"
