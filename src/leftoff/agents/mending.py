"""Saves what can be saved of a line that is not one JSON value: objects glued together, NULs of a crash, bytes that are no text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import orjson

from leftoff.agents import jsonl
from leftoff.agents.jsonl import Piece
from leftoff.model.records import Place
from leftoff.model.wire import JsonObject, JsonValue

_BLANK = b" \t\r\n"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"[ \t\r\n]*")
_NULS = re.compile(r"\0[\0 \t\r\n]*")


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
    if len(line) == jsonl.LONGEST_LINE_BYTES and not line.endswith(b"\n"):
        yield 0, len(line), None, f"a line of more than {jsonl.LONGEST_LINE_BYTES // 1024 // 1024} MB"
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
    return len(text), False, jsonl.not_an_object(value) if end == len(text) else _trouble(text)


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


def _trouble(text: str) -> str:
    return "not JSON" if text.endswith("\n") else "torn: the line has no end"


def _refuse(constant: str) -> JsonValue:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
