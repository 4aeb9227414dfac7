"""Words and JSON on standard output, quick to load: what a short command shows itself with.

``leftoff.cli.display`` has the same and all the rest: tables, progress, what click brings.
"""

from __future__ import annotations

import os
import sys

from leftoff.cli.visible import escaped
from leftoff.system import user_folders

TYPE_CHECKING = False  # as typing has it, which takes longer to load than this
if TYPE_CHECKING:
    from typing import Any, TypedDict

    class Style(TypedDict, total=False):
        """How words stand out on a terminal; a colour is a name or a number of the 256."""

        fg: str | int
        bold: bool
        dim: bool


_USUAL_COLUMNS = 80
_NARROWEST = 30  # columns; whoever has fewer scrolls
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def make_ready() -> None:
    """A terminal of another encoding shows ?, and does not end the command; what says it knows ASCII alone is sent UTF-8."""
    out: Any = sys.stdout
    if hasattr(out, "reconfigure"):
        only_ascii = out.encoding.lower() in {"ascii", "us-ascii", "ansi_x3.4-1968", "646"}
        out.reconfigure(encoding="utf-8" if only_ascii else None, errors="replace")


def say(text: str, style: Style | None = None) -> None:
    """Words on standard output; styled on a terminal that can, unless NO_COLOR is set."""
    sys.stdout.write(f"{_styled(text, style) if style and may_style() else text}\n")
    sys.stdout.flush()


def as_json(value: Any) -> None:
    """The value as JSON on standard output."""
    import json

    text = json.dumps(value, indent=2, ensure_ascii=False)
    # What UTF-8 has no way to write, half a character in somebody's text, stands there in ASCII.
    say(escaped(text) if _is_well_formed(text) else json.dumps(value, indent=2))


def wrapped(text: str, *, indent: str) -> str:
    """Foreign text broken into lines that fit the terminal, each indented."""
    room = max(_NARROWEST, width() - 1)
    return "\n".join(part for line in text.splitlines() for part in _folded(line, room, indent))


def width() -> int:
    """The columns of the terminal: what COLUMNS says, what the terminal says, else 80.

    As shutil has it, which brings three ways of compressing with it.
    """
    said = user_folders.environment().get("COLUMNS", "")
    try:
        return max(0, int(said)) or _columns_of_terminal()
    except ValueError:
        return _columns_of_terminal()


def _columns_of_terminal() -> int:
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _USUAL_COLUMNS  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # closed, or no terminal
        return _USUAL_COLUMNS


def _folded(line: str, room: int, indent: str) -> list[str]:
    if line.isprintable() and line == line.strip() and 0 < len(line) <= room - len(indent):
        return [indent + line]  # as most do; textwrap takes longer to load than all else here
    import textwrap

    folded = textwrap.wrap(
        line, room, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return folded or [""]


def _is_well_formed(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def may_style() -> bool:
    """Whether words may stand out: on a terminal that can, unless NO_COLOR is set."""
    if not sys.stdout.isatty():
        return False
    environment = user_folders.environment()
    return "NO_COLOR" not in environment and environment.get("TERM") != "dumb"


def _styled(text: str, style: Style) -> str:
    """With the codes that click would put round it."""
    colour = style.get("fg")
    codes = []
    if colour is not None:
        codes = [str(30 + _COLOURS.index(colour)) if isinstance(colour, str) else f"38;5;{colour}"]
    codes += [code for code, wanted in (("1", style.get("bold")), ("2", style.get("dim"))) if wanted]
    return f"{''.join(f'{chr(27)}[{code}m' for code in codes)}{text}\x1b[0m"
