"""Reads a file of JSON lines as it really is on disk: byte-safe, in constant memory, losing nothing.

Every byte of the file belongs to exactly one piece: a value, a blank line, or bytes that are no JSON, with what is wrong
with them. Two objects glued onto one line are two pieces, and so are the NULs of a crash and what was appended behind
them. A file may grow while it is read; a last line that is still being written comes out as a broken piece that ends
where the file ends, so a reader that means to go on later starts again before it.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from leftoff.errors import TranscriptError
from leftoff.model.quick_json import loads
from leftoff.model.records import Place
from leftoff.model.tuples import NamedTuple

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from typing import IO

    from leftoff.model.wire import JsonObject, JsonValue

# A longer line is no record of any agent; it is read in pieces so that a binary file cannot fill the memory.
LONGEST_LINE_BYTES = 64 * 1024 * 1024
_BUFFER_BYTES = 256 * 1024  # many lines are longer than the usual 8 KB; so they take a third of the time


class Piece(NamedTuple):
    """Some bytes of the file. ``value`` is None for a blank line and for a broken piece; only the latter has a ``note``."""

    place: Place
    raw: bytes
    value: JsonObject | None
    note: str | None


def pieces(path: Path, after: Place | None = None) -> Iterator[Piece]:
    """The pieces of the file, or those that follow ``after``."""
    name = str(path)
    for line_idx, start, line in lines(path, after):
        try:
            value = loads(line)
        except ValueError:
            value = None
        if type(value) is dict:  # here and not in ``pieces_of``: nearly every line of a transcript is one
            yield Piece(Place(name, line_idx, start, start + len(line)), line, value, None)
        else:
            yield from pieces_of(name, line_idx, start, line)


def lines(path: Path, after: Place | None = None) -> Iterator[tuple[int, int, bytes]]:
    """The lines before anything of them is understood: number, first byte, bytes."""
    with opened(path, buffer_bytes=_BUFFER_BYTES) as file:
        line_idx, start = _begin(file, after)
        while line := file.readline(LONGEST_LINE_BYTES):
            yield line_idx, start, line
            start += len(line)
            line_idx += line.endswith(b"\n")  # a line too long to hold goes on in the next chunk


def pieces_of(name: str, line_idx: int, start: int, line: bytes) -> Iterable[Piece]:
    """What a line is: one piece as a rule."""
    try:
        value = loads(line)
    except ValueError:
        from leftoff.agents.mending import mended  # noqa: PLC0415 - few files need it

        return mended(name, line_idx, start, line)
    place = Place(name, line_idx, start, start + len(line))
    is_object = isinstance(value, dict)
    return (Piece(place, line, value if is_object else None, None if is_object else not_an_object(value)),)


def opened(path: Path, *, buffer_bytes: int = -1) -> IO[bytes]:
    """The file, open for reading; what stands in the way is said in one sentence."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise TranscriptError(
                f"{path}: this is a folder, not a transcript. Name a file in it.", path=path
            )
        if not stat.S_ISREG(mode):  # a pipe or device could keep us waiting for ever
            raise TranscriptError(
                f"{path}: this is no file of bytes, but a pipe, socket or device.", path=path
            )
        return path.open("rb", buffering=buffer_bytes)
    except FileNotFoundError as error:
        raise TranscriptError(
            f"{path}: no such file. leftoff sessions lists what there is.", path=path
        ) from error
    except PermissionError as error:
        raise TranscriptError(f"{path}: no permission to read it.", path=path) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise TranscriptError(f"{str(path)[:300]}: cannot be read: {reason}.", path=path) from error


def _begin(file: IO[bytes], after: Place | None) -> tuple[int, int]:
    """Line and byte to go on from: the line of ``after`` itself where that ended in the middle of one."""
    if after is None or after.end == 0:
        return 0, 0
    file.seek(after.end - 1)
    at_line_end = file.read(1) == b"\n"
    return after.line_idx + at_line_end, after.end


def not_an_object(value: JsonValue) -> str:
    """What is wrong with such a line."""
    return f"JSON, but no object: {type(value).__name__}"
