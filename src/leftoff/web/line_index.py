"""Finds any line of a large transcript without reading the file again: one number per 256 KB says how many lines end before.

The index is built from the beginning as far as it is needed, and follows a file that grows. Compressed files are indexed by their
text.
"""

from __future__ import annotations

import os
import threading
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import IO, NamedTuple

from leftoff.agents.jsonl import open_transcript
from leftoff.platform.zstd import open_plain

_BLOCK_BYTES = 256 * 1024


class Line(NamedTuple):
    """A line of a file: its number (1-based) and its bytes [start, end), with the line end."""

    number: int
    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        """How long the line is."""
        return self.end - self.start


class LineIndex:
    """Where the lines of one file are. Several threads may ask."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._identity: tuple[int, int] | None = None
        self._size = 0
        self._forget()

    def lines(self, first: int, count: int) -> list[Line]:
        """Return up to ``count`` lines from line ``first`` on; none past the end of the file."""
        with self._lock, self._open() as file:
            self._scan(file, until_line=first + count)
            return self._collect(file, max(1, first), count)

    def count(self, seconds: float | None = None) -> tuple[int, bool]:
        """Return how many lines were found, and whether that is all; ``seconds`` is how long the search may take."""
        with self._lock, self._open() as file:
            self._scan(file, seconds=seconds)
            return self._ended + self._has_open_line, self._is_whole

    def beginning(self, line: Line, most_bytes: int) -> bytes:
        """Return the first bytes of a line."""
        with self._lock, self._open() as file:
            file.seek(line.start)
            return file.read(min(most_bytes, line.size_bytes))

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        """Open the file, and begin again if it is another one, or shorter than before."""
        with open_transcript(self.path, buffer_bytes=_BLOCK_BYTES) as raw:
            stat = os.fstat(raw.fileno())
            identity = (stat.st_dev, stat.st_ino)
            if identity != self._identity or stat.st_size < self._size:
                self._forget()
            if stat.st_size != self._size:
                self._is_whole = False
            self._identity, self._size = identity, stat.st_size
            with open_plain(raw) as file:  # type: ignore[arg-type]
                yield file

    def _forget(self) -> None:
        self._before = array("Q", [0])  # how many lines end before each block
        self._ended = 0  # in the bytes read so far
        self._read = 0
        self._has_open_line = self._is_whole = False

    def _scan(self, file: IO[bytes], *, until_line: int | None = None, seconds: float | None = None) -> None:
        """Read on until that line has ended, the time is up, or the file is at its end."""
        deadline = None if seconds is None else monotonic() + seconds
        if self._is_whole or (until_line is not None and self._ended >= until_line):
            return
        file.seek(self._read)
        while until_line is None or self._ended < until_line:
            room = len(self._before) * _BLOCK_BYTES - self._read
            block = file.read(room)
            if not block:
                self._is_whole = True
                return
            self._ended += block.count(b"\n")
            self._read += len(block)
            self._has_open_line = not block.endswith(b"\n")
            if len(block) == room:
                self._before.append(self._ended)
            if deadline is not None and monotonic() > deadline:
                return

    def _collect(self, file: IO[bytes], first: int, count: int) -> list[Line]:
        """Return the lines; the block in which the line before them ends is found by the numbers."""
        block = 0 if first == 1 else bisect_left(self._before, first - 1) - 1
        ended, at = self._before[block], block * _BLOCK_BYTES
        found: list[Line] = []
        start = 0 if first == 1 else -1  # not known yet
        file.seek(at)
        while len(found) < count and (data := file.read(_BLOCK_BYTES)):
            place = data.find(b"\n")
            while place >= 0 and len(found) < count:
                ended += 1
                if ended >= first:
                    found.append(Line(ended, start, at + place + 1))
                if ended >= first - 1:
                    start = at + place + 1
                place = data.find(b"\n", place + 1)
            at += len(data)
        if len(found) < count and 0 <= start < at:
            found.append(Line(ended + 1, start, at))
        return found
