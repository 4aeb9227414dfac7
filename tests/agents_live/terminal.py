"""Run a client on a pseudo-terminal: read what is on its screen now, and press keys.

The screen handles what the clients use: text, line ends, cursor movement and erasing. Colours are ignored.
"""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

ROWS, COLUMNS = 50, 160
_TOKEN = re.compile(
    r"\x1b\[(?P<numbers>[0-?]*)[ -/]*(?P<final>[@-~])|\x1b\][^\x07\x1b]*(\x07|\x1b\\)|\x1b[()#][A-Z0-9]|\x1b."
    r"|(?P<character>.)",
    re.DOTALL,
)
_MOVES = {"A": (-1, 0), "B": (1, 0), "C": (0, 1), "D": (0, -1)}
_INCOMPLETE_SEQUENCE = re.compile(r"\x1b(\[[0-?]*[ -/]*|\][^\x07\x1b]*|[()#])?\Z")


class Screen:
    """The characters on a terminal and the position of the cursor."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.rows = [[" "] * columns for _ in range(ROWS)]
        self.row = self.column = 0
        self._incomplete = ""

    @property
    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.rows)

    def write(self, text: str) -> None:
        text, self._incomplete = self._incomplete + text, ""
        if match := _INCOMPLETE_SEQUENCE.search(text):
            text, self._incomplete = text[: match.start()], text[match.start() :]
        for token in _TOKEN.finditer(text):
            if token["character"] is not None:
                self._put_character(token["character"])
            elif token["final"] is not None:
                self._control(token["final"], token["numbers"])

    def _put_character(self, character: str) -> None:
        match character:
            case "\r":
                self.column = 0
            case "\n":
                self._down()
            case "\b":
                self.column = max(0, self.column - 1)
            case _ if character >= " ":
                if self.column >= self.columns:
                    self.column = 0
                    self._down()
                self.rows[self.row][self.column] = character
                self.column += 1

    def _down(self) -> None:
        if self.row == ROWS - 1:
            self.rows = [*self.rows[1:], [" "] * self.columns]
        else:
            self.row += 1

    def _control(self, final: str, numbers: str) -> None:
        parameters = [int(part) if part.isdecimal() else 0 for part in numbers.split(";")]
        first = parameters[0] or 1
        if final in _MOVES:
            down, right = _MOVES[final]
            self.row = min(max(self.row + down * first, 0), ROWS - 1)
            self.column = min(max(self.column + right * first, 0), self.columns - 1)
        match final:
            case "G":
                self.column = first - 1
            case "d":
                self.row = first - 1
            case "H" | "f":
                self.row, self.column = first - 1, ((parameters[1] if len(parameters) > 1 else 0) or 1) - 1
            case "K":
                self._erase_line(parameters[0])
            case "J":
                self._erase_screen(parameters[0])

    def _erase_line(self, which: int) -> None:
        begin, end = {0: (self.column, self.columns), 1: (0, self.column + 1)}.get(which, (0, self.columns))
        self.rows[self.row][begin:end] = [" "] * (end - begin)

    def _erase_screen(self, which: int) -> None:
        if which in {0, 1}:
            self._erase_line(which)
        begin, end = {0: (self.row + 1, ROWS), 1: (0, self.row)}.get(which, (0, ROWS))
        self.rows[begin:end] = [[" "] * self.columns for _ in range(end - begin)]


class Terminal:
    """A client on a terminal, used with `with`; leaving the block ends the client."""

    def __init__(
        self, command: Sequence[str], environment: dict[str, str], *, columns: int = COLUMNS
    ) -> None:
        self._controller, client_end = pty.openpty()
        fcntl.ioctl(client_end, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        self._process = subprocess.Popen(
            command,
            env={**environment, "TERM": "xterm-256color"},
            stdin=client_end,
            stdout=client_end,
            stderr=client_end,
            start_new_session=True,
        )
        os.close(client_end)
        self._screen = Screen(columns)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._controller)

    def wait_for(self, *texts: str, seconds: float = 30) -> str:
        """Wait until any of the texts is on the screen; return all that is on it then."""
        deadline = time.monotonic() + seconds
        while not any(each in self._screen.text for each in texts):
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"waited {seconds:.0f} s without result for {texts}:\n{self._screen.text.strip()}"
                )
            self._read()
        return self._screen.text

    def type(self, text: str) -> None:
        """Paste a text of any number of lines and submit it."""
        os.write(self._controller, b"\x1b[200~" + text.encode() + b"\x1b[201~")
        time.sleep(0.5)  # a return that arrives with the paste would be part of it
        os.write(self._controller, b"\r")

    def press(self, keys: str) -> None:
        """Press keys that are not text."""
        os.write(self._controller, keys.encode())
        time.sleep(0.2)

    def _read(self) -> None:
        ready, _, _ = select.select([self._controller], [], [], 0.1)
        if not ready:
            return
        with suppress(OSError):  # the client has ended
            self._screen.write(self._decoder.decode(os.read(self._controller, 65536)))
