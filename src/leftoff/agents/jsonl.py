"""Reads a file of JSON lines as it really is on disk: byte-safe, in constant memory, losing nothing.

Every byte of the file belongs to exactly one piece: a value, a blank line, or bytes that are no JSON, with what is wrong
with them. Two objects glued onto one line are two pieces, and so are the NULs of a crash and what was appended behind
them. A file may grow while it is read; a last line that is still being written comes out as a broken piece that ends
where the file ends, so a reader that means to go on later starts again before it.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import orjson

from leftoff.errors import TranscriptError
from leftoff.model.records import Place
from leftoff.model.wire import JsonObject, JsonValue

# A longer line is no record of any agent; it is read in pieces so that a binary file cannot fill the memory.
LONGEST_LINE_BYTES = 64 * 1024 * 1024

_BLANK = b" \t\r\n"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"[ \t\r\n]*")
_NULS = re.compile(r"\0[\0 \t\r\n]*")


class Piece(NamedTuple):
    """Some bytes of the file. ``value`` is None for a blank line and for a broken piece; only the latter has a ``note``."""

    place: Place
    raw: bytes
    value: JsonObject | None
    note: str | None


def pieces(path: Path, after: Place | None = None) -> Iterator[Piece]:
    """The pieces of the file, or those that follow ``after``."""
    name = str(path)
    with opened(path) as file:
        line_idx, start = _begin(file, after)
        while line := file.readline(LONGEST_LINE_BYTES):
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError:
                yield from mended(name, line_idx, start, line)
            else:
                place = Place(name, line_idx, start, start + len(line))
                yield (
                    Piece(place, line, value, None)
                    if isinstance(value, dict)
                    else Piece(place, line, None, _not_an_object(value))
                )
            start += len(line)
            line_idx += line.endswith(b"\n")  # a line too long to hold goes on in the next chunk


def opened(path: Path) -> IO[bytes]:
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
        return path.open("rb")
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


def mended(name: str, line_idx: int, start: int, line: bytes) -> Iterator[Piece]:
    """What can be saved of a line that is not one JSON value. Whoever goes on after a piece finds the same rest."""
    for begin, end, value, note in _parts(line):
        yield Piece(Place(name, line_idx, start + begin, start + end), line[begin:end], value, note)


def _parts(line: bytes) -> Iterator[tuple[int, int, JsonObject | None, str | None]]:
    """Objects and runs of NULs from the beginning of the line, each with the white space behind it, then the rest.

    Bytes that are no UTF-8 are carried through the decoder as lone surrogates, so that positions can be turned back into
    bytes.
    """
    if not line.strip(_BLANK):
        yield 0, len(line), None, None
        return
    if len(line) == LONGEST_LINE_BYTES and not line.endswith(b"\n"):
        yield 0, len(line), None, f"a line of more than {LONGEST_LINE_BYTES // 1024 // 1024} MB"
        return
    text = line.decode("utf-8", "surrogateescape")
    begin = position = 0
    while position < len(text):
        next_position, is_object, note = _next_part(text, position)
        end = begin + len(text[position:next_position].encode("utf-8", "surrogateescape"))
        value = _object(line[begin:end]) if is_object else None
        yield begin, end, value, note if value is None else None
        begin, position = end, next_position


def _next_part(text: str, position: int) -> tuple[int, bool, str]:
    """Where the part that begins at ``position`` ends, whether it is an object, and what else to say of it."""
    if nuls := _NULS.match(text, position):
        return nuls.end(), False, f"{nuls[0].count(chr(0)):,} NUL bytes, as a crash leaves them"
    try:
        value, end = _DECODER.raw_decode(text, _end_of_space(text, position))
    except (ValueError, RecursionError):
        return len(text), False, _trouble(text)
    end = _end_of_space(text, end)
    if isinstance(value, dict):
        return end, True, "nested too deeply"
    return len(text), False, _not_an_object(value) if end == len(text) else _trouble(text)


def _end_of_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _object(raw: bytes) -> JsonObject | None:
    """The object that ``raw`` is; what is no UTF-8 in it and half a surrogate pair are shown as U+FFFD."""
    readable = raw.decode("utf-8", "replace")
    try:
        value: JsonObject = orjson.loads(readable)
    except orjson.JSONDecodeError:
        try:
            half_pairs = json.dumps(json.loads(readable), ensure_ascii=False)
            value = orjson.loads(_LONE_SURROGATE.sub("\ufffd", half_pairs))
        except (ValueError, RecursionError):
            return None
    return value


def _not_an_object(value: JsonValue) -> str:
    return f"JSON, but no object: {type(value).__name__}"


def _trouble(text: str) -> str:
    return "not JSON" if text.endswith("\n") else "torn: the line has no end"


def _refuse(constant: str) -> JsonValue:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
