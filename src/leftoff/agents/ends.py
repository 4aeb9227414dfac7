"""Reads a file of JSON lines from either end, no further than the caller goes: the same work for a file of any size.

``oldest_first`` ends at a limit; ``newest_first`` reads backwards in steps that widen (16 KB, then four times as much, to
4 MB), and comes to the beginning of the file only if nobody stops it. Both give the pieces that a full read gives. How
many lines stand before the end is not known there, so ``newest_first`` numbers lines as Python does: -1 is the last.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from leftoff.agents.jsonl import LONGEST_LINE_BYTES, Piece, lines, opened, pieces, pieces_of
from leftoff.model.records import Place

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from typing import IO

HEAD_BYTES = 1024 * 1024
_STEP_BYTES = 16 * 1024
_WIDEST_STEP_BYTES = 16 * _STEP_BYTES  # what is read too much is read for nothing


def oldest_first(path: Path, limit_bytes: int = HEAD_BYTES) -> Iterator[Piece]:
    """The pieces that begin within the first ``limit_bytes``, read one by one."""
    return takewhile(lambda piece: piece.place.start < limit_bytes, pieces(path))


def newest_first(path: Path, end_bytes: int | None = None) -> Iterator[Piece]:
    """The pieces from the last to the first: of the whole file, or of what stands before the line at ``end_bytes``.

    What is appended meanwhile is left out.
    """
    name = str(path)
    with opened(path) as file:
        end = file.seek(0, os.SEEK_END)
        if end_bytes is not None:
            end = _chunk_start(file, min(end, max(0, end_bytes)))
        step, lines_behind = _STEP_BYTES, 0
        while end > 0:
            start = _chunk_start(file, max(0, end - step))
            block = _block(path, start, end)
            last = block[-1][0] if block else 0
            for line_idx, first_byte, line in reversed(block):
                yield from reversed([*pieces_of(name, line_idx - last - 1 - lines_behind, first_byte, line)])
            lines_behind += last
            end, step = start, min(4 * step, _WIDEST_STEP_BYTES)


def _block(path: Path, start: int, end: int) -> list[tuple[int, int, bytes]]:
    """The lines between two places where pieces begin. They count from 1; one that began before is line 0."""
    following = lines(path, after=Place(str(path), 0, 0, start))
    return list(takewhile(lambda line: line[1] < end, following))


def _chunk_start(file: IO[bytes], position: int) -> int:
    """Where a full read that passes ``position`` begins a piece: the line's start, or a cut in a line too long to hold."""
    start = _line_start(file, position)
    return start + (position - start) // LONGEST_LINE_BYTES * LONGEST_LINE_BYTES


def _line_start(file: IO[bytes], position: int) -> int:
    """The start of the line that holds the byte at ``position``."""
    while position > 0:
        begin = max(0, position - _STEP_BYTES)
        file.seek(begin)
        newline = file.read(position - begin).rfind(b"\n")
        if newline >= 0:
            return begin + newline + 1
        position = begin
    return 0
