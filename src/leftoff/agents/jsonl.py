"""Reads files of JSON lines as they really are on disk, whole or from either end, and takes fields out of a line.

Every byte of a file belongs to exactly one piece: a value, a blank line, or bytes that are not JSON, with a note saying what is
wrong. Objects glued onto one line by a crash are separate pieces. Memory use does not depend on the size of the file. A file
may grow while it is read: a last line that is still being written comes out as a broken piece that ends where the file ends.
"""

from __future__ import annotations

import io
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from orjson import loads

from leftoff.core.records import Place
from leftoff.core.wire import JsonObject, JsonValue, replace_surrogates
from leftoff.errors import TranscriptError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import IO, Self

# More than any API takes: beside a message a line may have what was never sent, such as the whole file before an edit. A longer line
# is read in pieces, so that a binary file cannot fill the memory.
LONGEST_LINE_BYTES = 64 * 1024 * 1024
HEAD_BYTES = 1024 * 1024
_BUFFER_BYTES = 256 * 1024  # many lines are longer than the usual 8 KB; this takes a third of the time
_ENDS_BUFFER_BYTES = 32 * 1024
_STEP_BYTES = 16 * 1024
_WIDEST_STEP_BYTES = 16 * _STEP_BYTES  # reading more at once would mostly be thrown away
_SEARCH_BYTES = 1024 * 1024
_LONGEST_FIRST_LINE_BYTES = 256 * 1024  # of a session that leftoff began
BLANK = b" \t\r\n"
SPACE = re.compile(r"[ \t\r\n]*")
_NULS = re.compile(r"\0[\0 \t\r\n]*")
_EMPTY: JsonObject = {}
_LARGEST_COUNT = 10**12
_Line = tuple[int, int, bytes]  # number, first byte, bytes


class Piece(NamedTuple):
    """Some bytes of a file.

    ``value`` is ``None`` for a blank line, a line that was not to be parsed, and a broken piece; only the latter has a ``note``.
    """

    place: Place
    raw: bytes
    value: JsonObject | None
    note: str | None


def pieces(
    path: Path, after: Place | None = None, *, unparsed: Callable[[bytes], bool] | None = None
) -> Iterator[Piece]:
    """Read the pieces of a file, or those that follow ``after``. Lines for which ``unparsed`` is true are not parsed."""
    name = str(path)
    with open_transcript(path, buffer_bytes=_BUFFER_BYTES) as file:
        yield from _parse(name, _lines(file, *_seek_after(file, after)), unparsed)


def oldest_first(path: Path) -> Iterator[Piece]:
    """Read the pieces of the head of a file; see ``JsonLines.oldest_first``."""
    with JsonLines(path) as lines:
        yield from lines.oldest_first()


def newest_first(path: Path, end_bytes: int | None = None) -> Iterator[Piece]:
    """Read the pieces of a file from the end; see ``JsonLines.newest_first``."""
    with JsonLines(path) as lines:
        yield from lines.newest_first(end_bytes)


class JsonLines:
    """A file of JSON lines that is opened once and read from both ends, no further than the caller iterates.

    Finish iterating over one end before you begin with the other: they share the position in the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.end_bytes: int | None = (
            None  # where reading from the end begins, instead of at the end of the file
        )
        self.file = open_transcript(path, buffer_bytes=_ENDS_BUFFER_BYTES)
        self.stat = os.fstat(self.file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()

    def oldest_first(self, limit_bytes: int = HEAD_BYTES) -> Iterator[Piece]:
        """Read the pieces that begin within the first ``limit_bytes``."""
        self.file.seek(0)
        found = _parse(str(self.path), _lines(self.file, 0, 0))
        return takewhile(lambda piece: piece.place.start < limit_bytes, found)

    def first_object(self, mark: bytes) -> JsonObject:
        """Return the JSON object on the first line if the line holds ``mark``; empty otherwise, and for a very long line."""
        self.file.seek(0)
        line = self.file.readline(_LONGEST_FIRST_LINE_BYTES)
        if mark not in line:
            return {}
        return next((piece.value for piece in parse_line("", 0, 0, line) if piece.value), {})

    def newest_first(self, end_bytes: int | None = None) -> Iterator[Piece]:
        """Read the pieces from the last to the first: of the whole file, or of what precedes the line at ``end_bytes``.

        They are the pieces that a full read gives, but lines are numbered from the end, as Python does: -1 is the last.
        Reading goes back in steps that grow from 16 KB to 256 KB. What is appended meanwhile is ignored.
        """
        name, file = str(self.path), self.file
        end = file.seek(0, os.SEEK_END)
        end_bytes = self.end_bytes if end_bytes is None else end_bytes
        if end_bytes is not None:
            end = _chunk_start(file, min(end, max(0, end_bytes)))
        step_bytes, lines_behind = _STEP_BYTES, 0
        while end > 0:
            start = _chunk_start(file, max(0, end - step_bytes))
            first_idx, _ = _seek_after(file, Place(name, 0, 0, start))
            block = [*_lines(io.BytesIO(file.read(end - start)), first_idx, start)]
            last_idx = block[-1][0] if block else 0
            for line_idx, first_byte, line in reversed(block):
                yield from reversed(
                    [*parse_line(name, line_idx - last_idx - 1 - lines_behind, first_byte, line)]
                )
            lines_behind += last_idx
            end, step_bytes = start, min(4 * step_bytes, _WIDEST_STEP_BYTES)


def open_transcript(path: Path, *, buffer_bytes: int = -1) -> IO[bytes]:
    """Open a file for reading bytes. TranscriptError says in one sentence why that is not possible."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise TranscriptError(
                f"{path}: this is a folder, not a transcript. Name a file in it.", path=path
            )
        if not stat.S_ISREG(mode):  # a pipe or device could keep us waiting for ever
            raise TranscriptError(f"{path}: not a regular file, but a pipe, socket or device.", path=path)
        return path.open("rb", buffering=buffer_bytes)
    except FileNotFoundError as error:
        raise TranscriptError(
            f"{path}: no such file. To list the sessions: leftoff sessions", path=path
        ) from error
    except PermissionError as error:
        raise TranscriptError(f"{path}: no permission to read it.", path=path) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise TranscriptError(f"{str(path)[:300]}: cannot be read: {reason}.", path=path) from error


def _seek_after(file: IO[bytes], after: Place | None) -> tuple[int, int]:
    """Move to the end of ``after`` and return the line and byte there: the same line if ``after`` ended in the middle of it."""
    if after is None or after.end == 0:
        file.seek(0)
        return 0, 0
    file.seek(after.end - 1)
    at_line_end = file.read(1) == b"\n"
    return after.line_idx + at_line_end, after.end


def _lines(file: IO[bytes], line_idx: int, start: int) -> Iterator[_Line]:
    """Read lines from the current position, which is ``start``; a line that is too long comes in several chunks."""
    while line := file.readline(LONGEST_LINE_BYTES):
        yield line_idx, start, line
        start += len(line)
        line_idx += line.endswith(b"\n")


def _parse(
    name: str, lines: Iterable[_Line], unparsed: Callable[[bytes], bool] | None = None
) -> Iterator[Piece]:
    for line_idx, start, line in lines:
        if unparsed is not None and unparsed(line):
            yield Piece(Place(name, line_idx, start, start + len(line)), line, None, None)
            continue
        try:
            value = loads(line)
        except ValueError:
            value = None
        if type(value) is dict:
            # Here and not in ``parse_line``: nearly every line of a transcript is an object.
            yield Piece(Place(name, line_idx, start, start + len(line)), line, value, None)
        else:
            yield from parse_line(name, line_idx, start, line)


def parse_line(name: str, line_idx: int, start: int, line: bytes) -> Iterable[Piece]:
    """Return the pieces of one line: a single one, unless the line is damaged."""
    try:
        value = loads(line)
    except ValueError:
        return parse_damaged_line(name, line_idx, start, line)
    place = Place(name, line_idx, start, start + len(line))
    is_object = isinstance(value, dict)
    return (Piece(place, line, value if is_object else None, None if is_object else _not_an_object(value)),)


def _chunk_start(file: IO[bytes], position: int) -> int:
    """Return where a full read that passes ``position`` begins a line, or a chunk of a line that is too long."""
    start = line_start(file, position)
    return start + (position - start) // LONGEST_LINE_BYTES * LONGEST_LINE_BYTES


def last_line(path: Path, mark: bytes, accepts: Callable[[bytes], bool]) -> int | None:
    """Return where the last line begins that holds ``mark`` and is accepted, searching from the end, or None."""
    with open_transcript(path) as file:
        return find_last_line(file, mark, accepts)


def find_last_line(
    file: IO[bytes], mark: bytes, accepts: Callable[[bytes], bool], *, reach_bytes: int | None = None
) -> int | None:
    """Do the same in an open file; ``reach_bytes`` ends the search that far from the end."""
    end = file.seek(0, os.SEEK_END)
    first = 0 if reach_bytes is None else max(0, end - reach_bytes)
    while end > first:
        begin = max(first, end - _SEARCH_BYTES)
        file.seek(begin)
        block = file.read(end - begin)
        at = block.rfind(mark)
        if at < 0:
            end = begin + len(mark) - 1 if begin > first else first  # the mark may lie across the border
            continue
        begin_of_line = line_start(file, begin + at)
        file.seek(begin_of_line)
        if accepts(file.readline(LONGEST_LINE_BYTES)):
            return begin_of_line
        end = begin_of_line
    return None


def line_start(file: IO[bytes], position: int) -> int:
    """Return the start of the line that holds the byte at ``position``."""
    while position > 0:
        begin = max(0, position - _STEP_BYTES)
        file.seek(begin)
        newline = file.read(position - begin).rfind(b"\n")
        if newline >= 0:
            return begin + newline + 1
        position = begin
    return 0


def parse_damaged_line(name: str, line_idx: int, start: int, line: bytes) -> Iterator[Piece]:
    """Return what can be saved of a line that is not one JSON value.

    These are the objects and runs of NULs at its beginning, each with the white space after it, and then the rest. Parsing
    again from the end of any piece gives the same remaining pieces.
    """
    if not line.strip(BLANK):
        found: Iterable[tuple[int, int, JsonObject | None, str | None]] = ((0, len(line), None, None),)
    elif len(line) == LONGEST_LINE_BYTES and not line.endswith(b"\n"):
        note = f"a line of more than {LONGEST_LINE_BYTES // 1024 // 1024} MB"
        found = ((0, len(line), None, note),)
    else:
        found = _parts(line)
    for begin, end, value, note_of_part in found:
        yield Piece(Place(name, line_idx, start + begin, start + end), line[begin:end], value, note_of_part)


def _parts(line: bytes) -> Iterator[tuple[int, int, JsonObject | None, str | None]]:
    # Bytes that are not UTF-8 pass the decoder as lone surrogates, so that positions can be turned back into bytes.
    text = line.decode("utf-8", "surrogateescape")
    begin = position = 0
    while position < len(text):
        next_position, is_object, note = _next_part(text, position)
        end = begin + len(text[position:next_position].encode("utf-8", "surrogateescape"))
        value = _parse_object(line[begin:end]) if is_object else None
        yield begin, end, value, note if value is None else None
        begin, position = end, next_position


def _next_part(text: str, position: int) -> tuple[int, bool, str]:
    """Return the end of the part at ``position``, whether it is an object, and the note to use if it is not."""
    if nuls := _NULS.match(text, position):
        return nuls.end(), False, f"{nuls[0].count(chr(0)):,} NUL bytes, as a crash leaves them"
    try:
        value, end = _DECODER.raw_decode(text, _skip_space(text, position))
    except (ValueError, RecursionError):
        return len(text), False, _describe_damage(text)
    end = _skip_space(text, end)
    if isinstance(value, dict):
        return end, True, "nested too deeply"
    return len(text), False, _not_an_object(value) if end == len(text) else _describe_damage(text)


def _skip_space(text: str, position: int) -> int:
    space = SPACE.match(text, position)
    return space.end() if space else position


def _parse_object(raw: bytes) -> JsonObject | None:
    """Parse an object; bytes that are not UTF-8 and halves of surrogate pairs become U+FFFD."""
    readable = raw.decode("utf-8", "replace")
    try:
        value: JsonObject = loads(readable)
    except ValueError:
        try:
            half_pairs = json.dumps(json.loads(readable), ensure_ascii=False)
            value = loads(replace_surrogates(half_pairs))
        except (ValueError, RecursionError):
            return None
    return value


def _not_an_object(value: JsonValue) -> str:
    return f"JSON, but not an object: {type(value).__name__}"


def _describe_damage(text: str) -> str:
    return "not JSON" if text.endswith("\n") else "torn: the line has no end"


def _refuse_constant(constant: str) -> JsonValue:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


# Fields of a line. One that has another type than expected counts as missing.


def text(line: JsonObject, key: str) -> str | None:
    """Return the text at ``key``; None when it is missing or empty."""
    value = line.get(key)
    return value if isinstance(value, str) and value else None


def count(line: JsonObject, key: str) -> int | None:
    """Return the whole number at ``key``; None when it is missing, negative or absurdly large."""
    value = line.get(key)
    # Not by isinstance: a bool is no count.
    return value if type(value) is int and 0 <= value <= _LARGEST_COUNT else None


def table(line: JsonObject, key: str) -> JsonObject:
    """Return the object at ``key``; an empty one when it is missing."""
    value = line.get(key)
    return value if isinstance(value, dict) else _EMPTY


def rows(line: JsonObject, key: str) -> list[JsonValue]:
    """Return the list at ``key``; an empty one when it is missing."""
    value = line.get(key)
    return value if isinstance(value, list) else []


def all_texts(value: JsonValue) -> Iterator[str]:
    """Yield all text in a value, in order, at any depth."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case dict(table):
                waiting += reversed(table.values())
            case list(rows):
                waiting += reversed(rows)
            case _:
                pass


def moment(line: JsonObject, key: str) -> datetime | None:
    """Return the time at ``key``, aware and in UTC; a time without a zone is taken as UTC."""
    value = line.get(key)
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
        if at.tzinfo is UTC:
            return at
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def size(value: JsonValue) -> int:
    """Return how many characters a value takes; 0 for one that is nested deeper than Python can follow."""
    try:
        return len(value if isinstance(value, str) else str(value))
    except RecursionError:
        return 0
