"""Where a chat is read and shown: the protocol that the loop needs, and the plain form for pipes and simple terminals.

Symbols and rendered Markdown appear only on a terminal. Control characters in an agent's answer are made visible.
``#compact`` is always a command. ``compact`` is one only alone on its line or followed by the number or id of a chat, so that
"show me the code" and "resume the work on auth" go to the agent.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO

from leftoff.chat import page
from leftoff.core import markdown
from leftoff.core.metrics import ContextMetrics, Thresholds
from leftoff.errors import StorageError
from leftoff.platform import files, paths

PROMPT = "You: "
_CONTINUATION = "\\"
COMMAND_SIGN = "#"
_HISTORY_FILE = "chat-history"
# By name: the argument and what the command does, as ``help`` shows them.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "compact": ("", "save with a summary and continue in a new session, with the agent's history cleared"),
    "resume": ("N|ID", "continue from the summary of a saved session"),
    "sessions": ("", "list the saved sessions of this folder"),
    "show": ("N|ID", "read one"),
    "export": ("N|ID", "write a session and those it continues as one document"),
    "delete": ("N|ID", "delete one for good"),
    "save": ("", "save now, with a summary"),
    "help": ("", "this list"),
    "exit": ("", "save with a summary and leave (also: quit, Ctrl-D)"),
}
_ALIASES = {"quit": "exit", "bye": "exit"}


def _token_count(metrics: ContextMetrics, thresholds: Thresholds) -> str:  # noqa: ARG001 - the signature of a gauge
    """Return the number of tokens used, for a console without a gauge."""
    used = "?" if metrics.used_tokens is None else f"{metrics.used_tokens:,}"
    return f"{'~' if metrics.basis == 'estimated' else ''}{used} tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """How text from outside is made safe to show, and how the gauge is drawn."""

    visible: Callable[[str], str] = markdown.clean_text
    gauge: Callable[[ContextMetrics, Thresholds], str] = _token_count


def choose_console(clean: Callable[[str], str], *, looks: Looks, agree: bool) -> Console:
    """Return the line editor on a terminal with prompt_toolkit installed, else a plain console."""
    environment = paths.environment()
    if (
        sys.stdin is None
        or not (sys.stdin.isatty() and sys.stdout.isatty())
        or environment.get("TERM") == "dumb"
    ):
        return PlainConsole(looks=looks, agree=agree)
    try:
        from leftoff.chat.terminal import LineEditor  # noqa: PLC0415 - needs an optional dependency
    except ImportError:
        plain = PlainConsole(looks=looks, agree=agree)
        plain.say(
            f"For history, completion and drawn Markdown: {sys.executable} -m pip install prompt_toolkit"
        )
        return plain
    history_file = paths.state_folder() / _HISTORY_FILE
    history: Path | None = history_file
    try:
        files.create_file(history_file, b"")  # readable by this user only, from its first line on
    except StorageError:
        history = None
    return LineEditor(history, clean, looks=looks, agree=agree, colour="NO_COLOR" not in environment)


class Console(Protocol):
    """What the loop needs from a user interface."""

    def read(self, gauge: Callable[[], str]) -> str | None:
        """Return what the user types next; None at the end of input. Raise KeyboardInterrupt for Ctrl-C on an empty line."""
        ...

    def confirm(self, question: str) -> bool:
        """Return whether the user agrees; False if the console cannot ask."""
        ...

    def say(self, text: str, symbol: str = "") -> None:
        """Show one or more lines of leftoff's own text; ``symbol`` precedes them on terminals."""
        ...

    def begin_line(self, text: str, symbol: str = "") -> None:
        """Show the beginning of a line about something that is in progress."""
        ...

    def end_line(self, symbol: str = "") -> None:
        """End that line."""
        ...

    def begin_answer(self, name: str) -> None:
        """Announce an answer of the agent."""
        ...

    def show_piece(self, piece: str) -> None:
        """Show a piece of the answer."""
        ...

    def end_answer(self, text: str) -> None:
        """End the answer; ``text`` is all of it, whether or not pieces were shown."""
        ...


class PlainConsole:
    """A console that reads and writes lines."""

    def __init__(
        self, source: TextIO | None = None, out: TextIO | None = None, *, looks: Looks, agree: bool = False
    ) -> None:
        self._source = source or _standard_input()
        self._out = out or sys.stdout
        self._looks = looks
        self._agree = agree  # to everything that would be asked
        self._is_interactive = self._source.isatty()
        self._shows_symbols = self._out.isatty()
        self._has_shown_piece = False

    def read(self, gauge: Callable[[], str]) -> str | None:  # noqa: ARG002 - a plain console has no status bar
        """Return a line; a backslash at its end continues it on the next."""
        lines: list[str] = []
        while True:
            if self._is_interactive:
                self._write(PROMPT if not lines else "...: ")
            line = self._source.readline()
            if not line:
                return "\n".join(lines) if lines else None
            line = line.rstrip("\r\n")
            if not line.endswith(_CONTINUATION):
                return "\n".join([*lines, line])
            lines.append(line.removesuffix(_CONTINUATION))

    def confirm(self, question: str) -> bool:
        """Ask on a terminal; elsewhere return whether the user agreed beforehand."""
        if self._agree or not self._is_interactive:
            self.say(
                question
                if self._agree
                else f"{question} There is no terminal to ask on, so: no. To agree: --yes",
                "⚠️",
            )
            return self._agree
        self._write(f"{self._with_symbol(question, '⚠️')} ")
        return self._source.readline().strip().lower() in {"y", "yes"}

    def say(self, text: str, symbol: str = "") -> None:
        """Show lines of text."""
        self._write(self._with_symbol(text, symbol) + "\n")

    def begin_line(self, text: str, symbol: str = "") -> None:
        """Show the beginning of a line."""
        self._write(self._with_symbol(text, symbol))

    def end_line(self, symbol: str = "") -> None:
        """End the line."""
        self._write((f" {symbol}" if symbol and self._shows_symbols else "") + "\n")

    def begin_answer(self, name: str) -> None:
        """Show the agent's name."""
        self._has_shown_piece = False
        self._write(f"{self._looks.visible(name)}: ")

    def show_piece(self, piece: str) -> None:
        """Show the piece at once."""
        self._has_shown_piece = True
        self._write(self._looks.visible(piece))

    def end_answer(self, text: str) -> None:
        """Show the answer if no piece of it was shown, and end the line."""
        self._write("\n" if self._has_shown_piece else f"{self._looks.visible(text)}\n")

    def _with_symbol(self, text: str, symbol: str) -> str:
        return f"{symbol} {text}" if symbol and self._shows_symbols else text

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _standard_input() -> TextIO:
    """Return standard input with undecodable bytes replaced; if it is closed, an empty one."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    return io.StringIO() if sys.stdin is None else sys.stdin


class SilentConsole(PlainConsole):
    """A console for scripts: shows nothing and collects answers and warnings."""

    def __init__(self, source: TextIO | None = None, *, looks: Looks, agree: bool = False) -> None:
        super().__init__(source, looks=looks, agree=agree)
        self._is_interactive = self._shows_symbols = False
        self.answers: list[str] = []
        self.notes: list[str] = []

    def say(self, text: str, symbol: str = "") -> None:
        """Collect the text if it is a warning."""
        if symbol == "⚠️":
            self.notes.append(text)

    def end_answer(self, text: str) -> None:
        """Collect the answer."""
        self.answers.append(text)

    def _write(self, text: str) -> None:
        """Discard the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command typed by the user."""

    name: str
    argument: str | None = None


def parse_command(line: str) -> Command | None:
    """Return the command in a line; None if the line is meant for the agent."""
    words = line.strip().removeprefix(COMMAND_SIGN).split()
    has_sign = line.strip().startswith(COMMAND_SIGN)
    if not words or len(words) > 2 or "\n" in line.strip():
        return None
    name = _ALIASES.get(words[0].lower(), words[0].lower())
    if name not in COMMANDS:
        return None
    argument = words[1] if len(words) > 1 else None
    takes_one = bool(COMMANDS[name][0])
    if argument is None:
        return Command(name=name) if has_sign or not takes_one else None
    if not takes_one or not (has_sign or argument.isdecimal() or page.looks_like_id(argument)):
        return None
    return Command(name=name, argument=argument)
