"""A chat on a pseudo-terminal: type keys and wait for output."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import leftoff
from leftoff.platform import paths

SALLY = Path(leftoff.__file__).parents[2] / "examples" / "simple_sally" / "agent.py"
ROWS, COLUMNS = 50, 160
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.")


class TerminalSession:
    """Use it with ``with``; leaving it kills the chat."""

    def __init__(self, *arguments: object, environment: dict[str, str] | None = None) -> None:
        self._own, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "leftoff", "chat", *map(str, arguments)],
            env=paths.environment()
            | {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LANG": "C.UTF-8"}
            | (environment or {}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C is a signal
        )
        os.close(theirs)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._raw = ""
        self._at = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._own)

    @property
    def text(self) -> str:
        return _CONTROL.sub("", self._raw).replace("\r", "")

    def expect(self, words: str, seconds: float = 60) -> str:
        """Wait for ``words`` after what was found before; return the text in between."""
        deadline = time.monotonic() + seconds
        while (found := self.text.find(words, self._at)) < 0:
            if time.monotonic() > deadline or not self._read():
                raise AssertionError(f"in vain for {words!r}; all that came:\n{self.text[self._at :]}")
        between, self._at = self.text[self._at : found], found + len(words)
        return between

    def type_line(self, line: str) -> None:
        """Type a line at the next prompt and send it."""
        self.expect("You:")
        os.write(self._own, line.encode() + b"\r")

    def press(self, keys: str) -> None:
        os.write(self._own, keys.encode())

    def wait_for_exit(self) -> int:
        """Read everything up to the end; return the exit code."""
        while self._read():
            pass
        return self.process.wait(60)

    def _read(self) -> bool:
        """Return whether more may come."""
        ready, _, _ = select.select([self._own], [], [], 1)
        if not ready:
            return True
        try:
            data = os.read(self._own, 65536)
        except OSError:  # the chat has ended
            return False
        self._raw += self._decoder.decode(data)
        for _ in range(data.count(b"\x1b[6n")):  # asks where the cursor is, as terminals are asked
            os.write(self._own, b"\x1b[1;1R")
        return bool(data)
