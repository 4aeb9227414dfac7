"""Where a chat is read and shown: what the loop needs, and the plain form of it, for pipes and bare terminals.

Emoji, colour and drawn Markdown only on a terminal. What an agent says can do nothing to it: control characters are shown.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Protocol, TextIO

from leftoff.model import markdown
from leftoff.model.context_metrics import ContextMetrics, Thresholds
from leftoff.model.values import dataclass

PROMPT = "You: "
_CONTINUED = "\\"


def _words(metrics: ContextMetrics, thresholds: Thresholds) -> str:  # noqa: ARG001 - a bar would show the marks
    used = "?" if metrics.used_tokens is None else f"{metrics.used_tokens:,}"
    return f"{'~' if metrics.basis == 'estimated' else ''}{used} tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """How foreign text is made safe to show, and how the gauge is drawn."""

    visible: Callable[[str], str] = markdown.plain
    gauge: Callable[[ContextMetrics, Thresholds], str] = _words


class Console(Protocol):
    """What the loop needs of a face."""

    def read(self, gauge: Callable[[], str]) -> str | None:
        """What the user types next; None at the end of all input. KeyboardInterrupt: Ctrl-C on an empty line."""
        ...

    def confirm(self, question: str) -> bool:
        """Whether the user agrees; False where nobody can be asked."""
        ...

    def say(self, text: str, sign: str = "") -> None:
        """A line or more of our own words; the sign before them is for terminals."""
        ...

    def begin(self, text: str, sign: str = "") -> None:
        """A line that is not over: something is under way."""
        ...

    def end(self, sign: str = "") -> None:
        """The end of that line."""
        ...

    def begin_answer(self, name: str) -> None:
        """Now the agent speaks."""
        ...

    def heard(self, piece: str) -> None:
        """A piece of its answer."""
        ...

    def end_answer(self, text: str) -> None:
        """All of its answer, of which some, all or nothing was heard."""
        ...


class PlainConsole:
    """Lines in, lines out."""

    def __init__(
        self, source: TextIO | None = None, out: TextIO | None = None, *, looks: Looks, agree: bool = False
    ) -> None:
        self._source = source or _standard_input()
        self._out = out or sys.stdout
        self._looks = looks
        self._agree = agree  # to everything that would be asked
        self._asks = self._source.isatty()
        self._signs = self._out.isatty()
        self._is_answering = False

    def read(self, gauge: Callable[[], str]) -> str | None:  # noqa: ARG002 - there is no place for it
        """A line; one that ends with a backslash goes on in the next."""
        lines: list[str] = []
        while True:
            if self._asks:
                self._write(PROMPT if not lines else "...: ")
            line = self._source.readline()
            if not line:
                return "\n".join(lines) if lines else None
            line = line.rstrip("\r\n")
            if not line.endswith(_CONTINUED):
                return "\n".join([*lines, line])
            lines.append(line.removesuffix(_CONTINUED))

    def confirm(self, question: str) -> bool:
        """Asked on a terminal only."""
        if self._agree or not self._asks:
            self.say(
                question if self._agree else f"{question} Nobody can be asked here: no. --yes agrees.", "⚠️"
            )
            return self._agree
        self._write(f"{self._signed(question, '⚠️')} ")
        return self._source.readline().strip().lower() in {"y", "yes"}

    def say(self, text: str, sign: str = "") -> None:
        """See the protocol."""
        self._write(self._signed(text, sign) + "\n")

    def begin(self, text: str, sign: str = "") -> None:
        """See the protocol."""
        self._write(self._signed(text, sign))

    def end(self, sign: str = "") -> None:
        """See the protocol."""
        self._write((f" {sign}" if sign and self._signs else "") + "\n")

    def begin_answer(self, name: str) -> None:
        """See the protocol."""
        self._is_answering = False
        self._write(f"{self._looks.visible(name)}: ")

    def heard(self, piece: str) -> None:
        """Shown at once."""
        self._is_answering = True
        self._write(self._looks.visible(piece))

    def end_answer(self, text: str) -> None:
        """Shown now, if nothing was heard; of what was heard only the line is ended."""
        self._write("\n" if self._is_answering else f"{self._looks.visible(text)}\n")

    def _signed(self, text: str, sign: str) -> str:
        return f"{sign} {text}" if sign and self._signs else text

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _standard_input() -> TextIO:
    """Text, whatever bytes come: what is not UTF-8 is shown as such. A closed one is an end of input."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    return io.StringIO() if sys.stdin is None else sys.stdin


class SilentConsole(PlainConsole):
    """Shows nothing and keeps what would have been shown: for scripts."""

    def __init__(self, source: TextIO | None = None, *, looks: Looks, agree: bool = False) -> None:
        super().__init__(source, looks=looks, agree=agree)
        self._asks = self._signs = False
        self.answers: list[str] = []
        self.notes: list[str] = []

    def say(self, text: str, sign: str = "") -> None:
        """Kept where it is a warning."""
        if sign == "⚠️":
            self.notes.append(text)

    def end_answer(self, text: str) -> None:
        """Kept whole."""
        self.answers.append(text)

    def _write(self, text: str) -> None:
        """Nowhere."""
