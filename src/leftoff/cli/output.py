"""Show results: JSON or text, tables, progress, and styles on terminals that have them.

Text from elsewhere goes through ``visible`` or ``one_line``: control characters, and those that reverse or hide text, are made visible
and never sent to the terminal. rich draws progress bars and is imported only for that.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from leftoff.cli.columns import columns_of as columns_of
from leftoff.cli.columns import cut as cut
from leftoff.cli.columns import fold
from leftoff.cli.columns import pad as pad
from leftoff.cli.gauge import Style
from leftoff.core.visible import HIDDEN
from leftoff.core.visible import visible as visible
from leftoff.errors import Choice
from leftoff.platform import paths

if TYPE_CHECKING:
    import re

Item = TypeVar("Item")
Line = tuple[str, Style | None]  # a line of a screen and how it looks
NOTHING_TO_DO = 3  # exit code, also where a list is empty
_LONGEST_OPENING = 40  # of words such as "The user first asked"
RULE_WIDTH = 51  # columns of a line between parts, at most
_NARROWEST_SCREEN, _LOWEST_SCREEN = 40, 16  # of a terminal that the picker is drawn on
_NARROWEST = 30  # columns that text is wrapped to at least; a narrower terminal has to scroll
_READABLE_COLUMNS = 20  # longer cells are folded on a narrow terminal
_FOLDED_COLUMNS = 8  # the least that a table column gets where there is room for it
_NARROW_COLUMNS = 60  # a table that needs more is written as blocks
_LAST_PLAIN = 0xFFFF
_MARKS = ("- ", "> ", "| ", "+ ", "→ ", *(f"{number}. " for number in range(1, 10)))  # of an item in a list


def prepare_output() -> None:
    """Make standard output accept any text: it shows ? for what its encoding lacks, and ASCII streams are sent UTF-8."""
    out: Any = sys.stdout
    if hasattr(out, "reconfigure"):
        only_ascii = out.encoding.lower() in {"ascii", "us-ascii", "ansi_x3.4-1968", "646"}
        out.reconfigure(encoding="utf-8" if only_ascii else None, errors="replace")


def say(text: str, style: Style | None = None) -> None:
    """Write text to standard output; on a terminal its lines are wrapped, and styled unless NO_COLOR is set."""
    fitted = fit(text) if sys.stdout.isatty() else text
    write(f"{apply_style(fitted, style) if style else fitted}\n")


def write(text: str) -> None:
    """Write text as it is, without a line end, and flush it, so that a full disk is noticed here."""
    sys.stdout.write(text)
    sys.stdout.flush()


def page(text: str) -> None:
    """Show a long text in the user's pager, with lines that fit; elsewhere write it as it is."""
    click.echo_via_pager(fit(text) if sys.stdout.isatty() else text)


def apply_style(text: str, style: Style) -> str:
    """Return the text with the escape codes of that style if the output shows styles."""
    return click.style(text, **style) if _shows_styles() else text


def _shows_styles() -> bool:
    if not sys.stdout.isatty():
        return False
    environment = paths.environment()
    return "NO_COLOR" not in environment and environment.get("TERM") != "dumb"


def is_interactive() -> bool:
    """Return whether a person at a terminal that can be drawn on reads the output and types."""
    is_terminal = (
        sys.stdin.isatty() and sys.stdout.isatty() and paths.environment().get("TERM", "dumb") != "dumb"
    )
    return is_terminal and width() >= _NARROWEST_SCREEN and height() >= _LOWEST_SCREEN


def wrap(text: str, *, indent: str) -> str:
    """Break text into lines that fit the terminal, each indented; a long path stays whole, so that it can be copied."""
    room = max(_NARROWEST, width() - 1) - len(indent)
    return "\n".join(
        (indent + part).rstrip() for line in text.splitlines() for part in fold(line, room, cuts_words=False)
    )


def fit(text: str) -> str:
    """Break the lines that are wider than the terminal; the rest of an item is indented like its beginning."""
    return "\n".join(part for line in text.split("\n") for part in _fit_line(line))


def _fit_line(line: str) -> list[str]:
    if columns_of(line) <= width() or "\x1b" in line:
        return [line]
    rest = line.lstrip()
    mark = next((mark for mark in _MARKS if rest.startswith(mark)), "")
    head = line[: len(line) - len(rest)] + mark
    parts = fold(rest.removeprefix(mark), max(10, width() - columns_of(head)), cuts_words=False)
    return [head + parts[0], *(" " * columns_of(head) + part for part in parts[1:])]


def hanging(head: str, text: str) -> str:
    """Return text after a head, in lines that fit the terminal; the lines below the first are indented by the head's width."""
    room = max(10, width() - 1 - columns_of(head))
    first, *rest = fold(text, room, cuts_words=False) or [""]
    return "\n".join([head + first, *(" " * columns_of(head) + line for line in rest)])


def short_path(path: object) -> str:
    """Return a path, or a text with paths in it, as a person writes it: with ~ for the home folder."""
    text = str(path)
    return "~" if text == str(paths.home()) else visible(text.replace(f"{paths.home()}/", "~/"))


def full_path(path: object) -> str:
    """Return a path with ~ on a terminal, and whole for a file or another program."""
    return short_path(path) if sys.stdout.isatty() else visible(str(path))


def end_of_path(path: object) -> str:
    """Return a path on one line of the terminal: of a long one the end, which has the name of the file."""
    shown, room = short_path(path), max(_NARROWEST, width() - 4)
    return f"…{shown[-room:]}" if sys.stdout.isatty() and columns_of(shown) > room else shown


def near_path(path: Path) -> str:
    """Return a path as seen from the working folder if it is in there, else with ~ for the home folder."""
    folder = paths.working_folder()
    return visible(str(path.relative_to(folder))) if path.is_relative_to(folder) else short_path(path)


def height() -> int:
    """Return the lines of the terminal."""
    return _terminal_size().lines


def width() -> int:
    """Return the columns of the terminal."""
    return _terminal_size().columns


def _terminal_size() -> os.terminal_size:
    """Return the size that the terminal has now; elsewhere, what COLUMNS and LINES say."""
    with suppress(OSError, ValueError, AttributeError):  # not a terminal, or closed
        size = os.get_terminal_size(sys.stdout.fileno())
        if size.columns and size.lines:
            return size
    return shutil.get_terminal_size()


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
        words = f"leftoff: {visible(message)}"
        click.echo(fit(words) if sys.stderr.isatty() else words, err=True)


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
    widths = _widths([max(map(columns_of, column)) for column in columns], width())
    heading, *fitting = zip(*columns, strict=True)
    head = [apply_style(line, {"italic": True}) for line in fold(visible(title), width())] if title else []
    if width() < _NARROW_COLUMNS and any(map(_cuts_words, columns, widths)):
        body = [line for row in fitting for line in _block(heading, row)]
    else:
        numeric = [all(map(_is_number, column[1:])) for column in columns]
        body = [
            "",
            *(apply_style(line, {"bold": True}) for line in _row(heading, widths, numeric)),
            " " + "─" * (sum(widths) + 3 * (len(widths) - 1)),
            *(line for row in fitting for line in _row(row, widths, numeric)),
        ]
    write("".join(f"{line}\n" for line in [*head, *body, ""]))


def _cuts_words(column: Iterable[str], width: int) -> bool:
    return any(columns_of(word) > width for cell in column for word in cell.split())


def _block(headings: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    """Yield the cells of a row below each other, for a terminal on which a table would cut words; a number needs no name."""
    first, *rest = (
        f"{heading}: {cell}" if heading and heading != "no." else cell.strip()
        for heading, cell in zip(headings, row, strict=True)
    )
    yield from ("", *(apply_style(line, {"bold": True}) for line in fold(first, width())))
    yield from (f"  {line}" for cell in rest for line in fold(cell, width() - 2))


def _columns_that_fit(
    columns: list[tuple[str, ...]], spare: Sequence[str], room: int
) -> list[tuple[str, ...]]:
    """Return the columns, heading first, without as many of the spare ones as necessary."""
    for heading in spare:
        needed = sum(3 + min(_READABLE_COLUMNS, max(map(columns_of, column))) for column in columns)
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
        is_single = (
            widths.count(widths[widest]) == 1
        )  # of several equally wide ones, each becomes narrower in turn
        less = max(1, min(over, widths[widest] - next_widest)) if is_single else 1
        widths[widest] -= less
        over -= less
    return widths


def _is_number(cell: str) -> bool:
    return cell in {"?", "-"} or cell.lstrip("~$").replace(",", "").replace(".", "").isdecimal()


def _row(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> Iterator[str]:
    """Return the lines of one row: a cell that is too long continues below; numbers are aligned to the right."""
    folded = [fold(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for parts in zip_longest(*folded, fillvalue=""):
        padded = (
            part.rjust(width) if right else pad(part, width)
            for part, width, right in zip(parts, widths, numeric, strict=True)
        )
        yield (" " + "   ".join(padded)).rstrip()


def choose(question: str, choices: Sequence[Choice]) -> Choice:
    """Show numbered choices on standard error, and return the one whose number the user types."""
    click.echo(visible(question), err=True)
    for number, each in enumerate(choices, start=1):
        click.echo(visible(f"{number:>3}  {each.description}\n     {each.selector}"), err=True)
    from leftoff.cli.arguments import WholeNumber

    chosen: int = click.prompt("Which one", type=WholeNumber(1, len(choices)), err=True)
    return choices[chosen - 1]


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


def escape_json(json_text: str) -> str:
    """Return equal JSON that cannot affect a terminal."""
    import re

    return re.sub(HIDDEN, _escape, json_text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code <= _LAST_PLAIN:
        return f"\\u{code:04x}"
    return f"\\u{0xD7C0 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"  # as a surrogate pair: JSON escapes have four digits


def one_line(text: str, width: int) -> str:
    """Return text on one line of at most ``width`` columns, with single spaces."""
    return cut(visible(" ".join(text[: width * 40].split())), width)


def without_opening(text: str) -> str:
    """Return the words that a mission or a step of a log quotes or tells, without our own words at its beginning, for narrow columns."""
    first = text.partition("\n\n")[0]
    opening, mark, words = first.partition(": ")
    if mark and len(opening) <= _LONGEST_OPENING and words.strip():
        return words.strip().removeprefix("“").removesuffix("”")
    return first
