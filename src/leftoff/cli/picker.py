"""``leftoff`` on a terminal: this project at a glance, and below it the latest sessions to pick from with the keyboard.

Drawn with plain escape sequences on the terminal's second screen, so that what was there before is there again afterwards. Sessions
are read in batches as the cursor moves down.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from types import FrameType

import click

from leftoff.cli import gauge, output
from leftoff.cli.overview import find_overview, overview_lines
from leftoff.cli.session_commands import group_sessions, headings, session_rows
from leftoff.errors import LeftoffError
from leftoff.platform import clock
from leftoff.sessions.listing import list_transcripts, remember_numbers
from leftoff.sessions.price import first_prompt_line
from leftoff.sessions.status import ListedSession, list_sessions
from leftoff.workspace import Workspace

_BATCH = 100  # sessions read at a time, after those of the first screen
_LOOKED_AT = 200  # newest transcripts among which the project's latest is looked for, so that the screen is there at once
_LEAST_ROWS = 6  # of the list; the part above it gives way
_ESCAPE_SECONDS = 0.05  # the rest of an arrow key arrives at once; Escape is alone
_KEYS = "↑↓ or number  Enter resume  s show  t trim  / search  ? help  q quit"
_FEW_KEYS = "↑↓  Enter resume  ? help  q quit"  # on a narrow terminal
_HELP = (
    "arrows, j, k, PgUp, PgDn   move",
    "Home, End, a number        go to the first, the last, that session",
    "Enter                      show where it left off, and continue it",
    "s                          read it",
    "t                          show what a trim would free, and write the copy",
    "/                          search all sessions; Escape shows all again",
    "q, Escape                  quit",
)
# What terminals send for the keys that are not characters.
_SEQUENCES = {
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\x1b[H": "home",
    "\x1b[1~": "home",
    "\x1bOH": "home",
    "\x1b[F": "end",
    "\x1b[4~": "end",
    "\x1bOF": "end",
    "\x1b": "escape",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x04": "q",
}
_LETTERS = {"k": "up", "j": "down"}
_STEPS: Mapping[str, Callable[[int], int]] = {
    "up": lambda page: -1,  # noqa: ARG005 - of any page
    "down": lambda page: 1,  # noqa: ARG005
    "page up": lambda page: -page,
    "page down": lambda page: page,
    "home": lambda page: -_BATCH * 1000,  # noqa: ARG005
}


def pick() -> int:
    """Show the screen until the user quits or continues a session; return the exit code."""
    picker = Picker(Workspace.open())
    if not picker.has_sessions:
        for line, style in picker.overview():
            output.say(line, style)
        return 0
    with _screen() as terminal, _redrawn_on_resize(picker, terminal):
        picker.draw()
        for key in terminal.typed_keys():
            action = picker.press(key)
            if action == "quit":
                return 0
            if action is not None:
                with terminal.given_back():
                    code = _ACTIONS[action](picker.selected)
                if code is not None:
                    return code
                picker.reload()
            picker.draw()
    return 0


class Picker:
    """The state of the screen: the sessions read so far, the cursor, a number or a search that is being typed."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._overview: list[output.Line] | None = None
        self._query: str | None = None  # what is being typed after /
        self._typed_number = ""
        self._shows_help = False
        self._is_filtered = False
        self._note = ""
        self.reload()

    def reload(self, only: list[str] | None = None) -> None:
        """Read the first sessions again, or only those with these transcripts."""
        self._transcripts = list_transcripts()
        wanted = [each for each in self._transcripts if only is None or str(each.transcript) in only]
        self._source = list_sessions(self._workspace, transcripts=wanted)
        self._listed: list[tuple[ListedSession, bool]] = []
        self._at = self._top = 0
        self._read_more(output.height())

    def overview(self) -> list[output.Line]:
        """Return the lines above the list."""
        if self._overview is None:
            self._overview = overview_lines(
                find_overview(self._workspace, self._transcripts, _LOOKED_AT), self._workspace
            )
        return self._overview

    @property
    def has_sessions(self) -> bool:
        """Whether there is anything to pick from."""
        return bool(self._listed)

    @property
    def selected(self) -> str:
        """The number of the session under the cursor, as every command takes it."""
        return str(self._at + 1)

    def press(self, key: str) -> str | None:
        """Do what a key asks for; return the name of an action that needs the whole terminal, or None."""
        self._note = ""
        if self._query is not None:
            self._type_query(key)
            return None
        if self._shows_help:
            self._shows_help = False
            return None
        if key.isdigit():
            self._typed_number += key
            self._go_to(int(self._typed_number) - 1)
            return None
        self._typed_number = ""
        key = _LETTERS.get(key, key)
        if key in _STEPS or key == "end":
            page = max(1, self._rows_shown() - 1)
            self._go_to(_BATCH * 1000 if key == "end" else self._at + _STEPS[key](page))
        return self._command(key)

    def _command(self, key: str) -> str | None:
        match key:
            case "/":
                self._query = ""
            case "?":
                self._shows_help = True
            case "escape" if self._is_filtered:
                self._is_filtered = False
                self.reload()
            case "q" | "escape":
                return "quit"
            case "enter" | "s" | "t":
                return {"enter": "resume", "s": "show", "t": "trim"}[key]
            case _:
                pass
        return None

    def _type_query(self, key: str) -> None:
        assert self._query is not None
        if key == "escape":
            self._query = None
        elif key == "backspace":
            self._query = self._query[:-1]
        elif key == "enter":
            query, self._query = self._query, None
            self._search(query)
        elif len(key) == 1 and key.isprintable():
            self._query += key

    def _search(self, query: str) -> None:
        """Show only the sessions that have these words."""
        from leftoff.search.search import SearchRequest, search

        if not query.strip():
            return
        try:
            found = search(self._workspace, SearchRequest(query=query, limit=_BATCH, hits=1), clock.now())
        except LeftoffError as error:
            self._note = error.message
            return
        paths = [each.source.path for each in found.sessions if each.number is not None]
        if not paths:
            self._note = f"Nothing was found for: {query}"
            return
        self._is_filtered = True
        self.reload(paths)
        self._note = f"Sessions with: {query}   (Escape shows all)"

    def _go_to(self, row: int) -> None:
        while row >= len(self._listed) and self._read_more():
            pass
        self._at = max(0, min(row, len(self._listed) - 1))

    def _read_more(self, size: int = _BATCH) -> bool:
        """Read the next batch; return whether there was one."""
        batch = [*islice(self._source, size)]
        self._listed += group_sessions(batch)
        if batch:
            remember_numbers([each.entry.transcript for each, _ in self._listed])
        return bool(batch)

    def _rows_shown(self) -> int:
        """Return how many sessions fit: what the part above, the heading and the two lines below leave."""
        return max(1, output.height() - len(self._above()) - 4)

    def _above(self) -> list[output.Line]:
        return self.overview()[: max(1, output.height() - _LEAST_ROWS - 4)]

    def draw(self) -> None:
        """Draw the whole screen again."""
        width = output.width()
        lines = [*self._above(), ("", None)]
        lines += [(line, None) for line in _HELP] if self._shows_help else self._list_lines(width)
        space = output.height() - 2 - len(lines)
        lines += [("", None)] * max(0, space)
        keys = _KEYS if len(_KEYS) < output.width() else _FEW_KEYS
        lines = [*lines[: output.height() - 2], (self._foot(), None), (keys, {"dim": True})]
        shown = (
            output.apply_style(fitted, style) if style else fitted for fitted, style in _fit(lines, width)
        )
        output.write("\x1b[H" + "\x1b[K\r\n".join(shown) + "\x1b[K\x1b[J")

    def _foot(self) -> str:
        if self._query is not None:
            return f"Search: {self._query}▏"
        if self._note or self._at >= len(self._listed):
            return self._note
        return first_prompt_line(self._listed[self._at][0].status, self._workspace.settings.prices)

    def _list_lines(self, width: int) -> list[output.Line]:
        """Return the heading and the visible part of the list; the cursor is marked with > and in reverse."""
        rows = self._rows_shown()
        self._top = max(min(self._top, self._at), self._at - rows + 1)
        visible, now = self._listed[self._top : self._top + rows], clock.now()
        drawn = session_rows(visible, now, width - 2, first=self._top + 1)
        lines: list[output.Line] = [
            (f"  {headings(visible, now, width - 2, first=self._top + 1)}", {"bold": True})
        ]
        for number, row in enumerate(drawn, start=self._top):
            if number == self._at:
                lines.append((f"> {row.text}  {row.gauge}", {"reverse": True}))
            else:
                lines.append((f"  {row.text}  {output.apply_style(row.gauge, gauge.style(row.level))}", None))
        return lines


def _fit(lines: list[output.Line], width: int) -> Iterator[output.Line]:
    """Cut plain lines to the width; those with escape sequences have it already."""
    for line, style in lines:
        yield (line if "\x1b" in line else output.cut(line, width - 1)), style


def _resume(session: str) -> int | None:
    """Show where the session left off, and start its agent if the user agrees; None returns to the list."""
    from leftoff.cli.main import run

    if run(["resume", session]) != 0:
        _wait()
        return None
    return run(["resume", session, "--run"]) if _confirm("\nStart the agent on it now?") else None


def _trim(session: str) -> None:
    """Show what a trim would free, and write the copy if the user agrees."""
    from leftoff.cli.main import run

    if run(["trim", session, "--dry-run"]) == 0 and _confirm("\nWrite this copy?"):
        run(["trim", session])
    _wait()


def _show(session: str) -> None:
    from leftoff.cli.main import run

    if run(["show", session]) != 0:
        _wait()


def _confirm(question: str) -> bool:
    try:
        return click.confirm(question, default=False)
    except click.Abort:
        return False


def _wait() -> None:
    """Let the user read before the list is back."""
    try:
        click.prompt("\nEnter returns to the list", default="", show_default=False, prompt_suffix=" ")
    except click.Abort:
        return


_ACTIONS: Mapping[str, Callable[[str], int | None]] = {"resume": _resume, "trim": _trim, "show": _show}


class Terminal:
    """The terminal while the picker has it: it reads single keys, and can be given back for a while."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()
        self._pending = ""
        self.is_taken = False

    def take(self) -> None:
        """Read keys without waiting for a line, on the second screen and without a cursor."""
        import termios
        import tty

        self._before = termios.tcgetattr(self._fd)
        tty.setcbreak(self._fd)
        output.write("\x1b[?1049h\x1b[?25l")
        self.is_taken = True

    def give_back(self) -> None:
        """Leave the terminal as it was."""
        import termios

        self.is_taken = False
        output.write("\x1b[?25h\x1b[?1049l")
        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    @contextmanager
    def given_back(self) -> Iterator[None]:
        """Give the terminal back for as long as a command runs on it."""
        self.give_back()
        try:
            yield
        finally:
            self.take()

    def typed_keys(self) -> Iterator[str]:
        """Yield the name of each key that is pressed; Ctrl-C and the end of the input end it."""
        try:
            while True:
                if not self._pending and not self._read():
                    return
                yield self._next_key()
        except KeyboardInterrupt:
            return

    def _read(self) -> bool:
        data = os.read(self._fd, 1024)
        self._pending += data.decode("utf-8", "ignore")
        return bool(data)

    def _next_key(self) -> str:
        if self._pending == "\x1b" and select.select([self._fd], [], [], _ESCAPE_SECONDS)[0]:
            self._read()
        for length in range(min(4, len(self._pending)), 0, -1):
            start = self._pending[:length]
            if start in _SEQUENCES:
                self._pending = self._pending[length:]
                return _SEQUENCES[start]
        key, self._pending = self._pending[:1], self._pending[1:]
        return key


@contextmanager
def _screen() -> Iterator[Terminal]:
    terminal = Terminal()
    terminal.take()
    try:
        yield terminal
    finally:
        terminal.give_back()


@contextmanager
def _redrawn_on_resize(picker: Picker, terminal: Terminal) -> Iterator[None]:
    def redraw(_signal: int, _frame: FrameType | None) -> None:
        if terminal.is_taken:
            picker.draw()

    before = signal.signal(signal.SIGWINCH, redraw)
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
