"""The commands ``leftoff why``, ``leftoff history`` and ``leftoff mcp``."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import islice
from pathlib import Path

import click

from leftoff.cli import arguments, output
from leftoff.core.quantities import ago, count
from leftoff.core.session_ids import short_id
from leftoff.errors import LeftoffError, NothingToDoError, StorageError, UsageError, describe_os_error
from leftoff.extraction.wording import relative_path
from leftoff.mcp.history import CHANGES, Happening, Target, change_of_line, what_happened
from leftoff.platform import clock, paths
from leftoff.platform.files import open_regular_file
from leftoff.workspace import Workspace

_LINE = re.compile(r"(?P<file>.+):(?P<line>[1-9]\d{0,8})")
_MAX_CHANGES = 3  # shown by why


@click.command(epilog="Example: leftoff why src/shop/cart.py:120")
@click.argument("place", metavar="FILE[:LINE]")
@arguments.with_json
def why(*, place: str, as_json: bool) -> int:
    """Show which sessions changed FILE last, after which prompt, and why; with LINE, which one wrote that line."""
    workspace, now = Workspace.open(), clock.now()
    file, number = _parse(place)
    changes = [each for each in _happenings(workspace, file, now) if each.what in CHANGES]
    if number is None:
        shown = changes[:_MAX_CHANGES]
    else:
        found = change_of_line(changes, text := _line_of(paths.working_folder() / file, number))
        if found is None:
            raise NothingToDoError(
                f"No session is known to have written line {number:,} of {file}: {' '.join(text.split())[:80]!r}. "
                f"All changes: leftoff history {file}"
            )
        shown = [found]
    if not shown:
        raise NothingToDoError(_never(file, "changed"))
    _show(shown, now, workspace, as_json=as_json)
    if not as_json and number is None and len(changes) > len(shown):
        output.say(f"{count(len(changes) - len(shown), 'earlier change')}: leftoff history {file}")
    return 0


@click.command(epilog="Example: leftoff history src/shop/cart.py")
@click.argument("file")
@click.option("--reads", is_flag=True, help="Include when the file was only read.")
@click.option(
    "--limit",
    type=arguments.WholeNumber(1, 1000),
    default=20,
    show_default=True,
    help="Show at most this many.",
)
@arguments.with_json
def history(*, file: str, reads: bool, limit: int, as_json: bool) -> int:
    """Show what sessions of all agents did to FILE, newest first: when, after which prompt, and why."""
    workspace, now = Workspace.open(), clock.now()
    wanted = (each for each in _happenings(workspace, file, now) if reads or each.what in CHANGES)
    shown = [*islice(wanted, limit)]
    if not shown:
        raise NothingToDoError(_never(file, "changed or read" if reads else "changed"))
    _show(shown, now, workspace, as_json=as_json)
    return 0


@click.command(epilog="Example: leftoff install claude --mcp")
@arguments.with_json
def mcp(*, as_json: bool) -> int:
    """Serve the tools recall, expand and timeline over MCP, on standard input and output.

    Agents start it by themselves after leftoff install AGENT --mcp. It needs the extra mcp. With --json: print the tools and exit.
    """
    require_sdk()
    from leftoff.mcp.server import serve, tools_to_dict

    if as_json:
        output.as_json(tools_to_dict())
    else:
        serve()
    return 0


def require_sdk() -> bool:
    """Return True; an error with what to type if the MCP SDK is not installed."""
    import importlib.util
    import sys

    try:
        is_here = importlib.util.find_spec("mcp.server.lowlevel") is not None
    except ModuleNotFoundError:
        is_here = False
    if not is_here:
        raise LeftoffError(f"leftoff mcp needs the MCP SDK. Type: {sys.executable} -m pip install 'mcp>=2'")
    return True


def _happenings(workspace: Workspace, file: str, now: datetime) -> list[Happening]:
    path = (paths.working_folder() / file).resolve() if file.strip() else Path()
    return what_happened(workspace, Target(kind="file", words=str(path) if file.strip() else ""), now)


def _parse(place: str) -> tuple[str, int | None]:
    """Return the file and the line; a file whose name ends like a line is taken as it is."""
    parsed = _LINE.fullmatch(place)
    if parsed is None or (paths.working_folder() / place).exists():
        return place, None
    return parsed["file"], int(parsed["line"])


def _line_of(file: Path, number: int) -> str:
    try:
        with open_regular_file(file) as opened:
            text = next(islice(opened, number - 1, None), b"").decode("utf-8", "replace")
    except OSError as error:
        raise StorageError(f"{file}: cannot be read: {describe_os_error(error)}.", path=file) from error
    if not text:
        raise UsageError(f"{file} has no line {number:,}.")
    if not text.strip():
        raise NothingToDoError(f"Line {number:,} of {file} is empty.")
    if not any(map(str.isalnum, text)):
        raise NothingToDoError(
            f"Line {number:,} of {file} has no word: many changes may have written such a line."
        )
    return text


def _never(file: str, what: str) -> str:
    return (
        f"No session is known to have {what} {file}. To look for its name: leftoff search {Path(file).name}"
    )


def _show(shown: list[Happening], now: datetime, workspace: Workspace, *, as_json: bool) -> None:
    if as_json:
        output.as_json([each.to_dict() for each in shown])
        return
    for each in shown:
        when = "" if each.at is None else f"  {ago(now, each.at)}"
        name = short_id(each.session_id)
        path = relative_path(each.about, each.project or str(workspace.project.root))
        output.say(
            output.visible(f"{each.what} {path}{when}  {each.agent} {name} line {each.line}"),
            {"bold": True},
        )
        for head, words in (("  why:    ", each.reason), ("  prompt: ", each.prompt)):
            if words:
                output.say(output.hanging(head, output.visible(words)))
        output.say(f"  read:   leftoff show {name} --at {each.line}")
