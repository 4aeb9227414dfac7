"""Every reading of the gauge in a rollout, fast: lines that can hold one are found by their bytes, and only those decoded.

A reading is what Codex says stands in the window after a reply, or its own estimate after a compaction. The bytes looked
for cannot stand inside a text, where quotes are escaped; what is found is looked at again when it is decoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import orjson

from leftoff.agents.fields import count, table
from leftoff.agents.jsonl import LONGEST_LINE_BYTES, opened, pieces
from leftoff.model.records import Place
from leftoff.model.wire import JsonObject

_BLOCK_BYTES = 1024 * 1024
_MARKS = (b'"type":"token_', b'"type":"compacted"')
_SPACED_MARKS = (b'"type": "token_', b'"type": "compacted"')  # as other tools write JSON


class Reading(NamedTuple):
    """Tokens in the window. None: a compaction came, and nothing has been said since. An estimate is Codex's own."""

    used_tokens: int | None
    is_estimate: bool = False


class Metered(NamedTuple):
    """A reading and the bytes of the file it stands in; the line is not counted, for that would cost a quarter more."""

    start: int
    end: int
    reading: Reading


def reading(line: JsonObject) -> Reading | None:
    """What a line says of the window; None when it says nothing."""
    payload = table(line, "payload")
    match line.get("type"):
        case "token_usage_record":
            return _reading(table(payload, "usage"))
        case "event_msg" if payload.get("type") == "token_count":
            return _reading(table(table(payload, "info"), "last_token_usage"))
        case "compacted":
            return Reading(None)
        case _:
            return None


def readings(transcript: Path) -> Iterator[Metered]:
    """All readings of the file in order, repeats included."""
    for start, raw in _marked_lines(transcript):
        try:
            line = orjson.loads(raw)
        except orjson.JSONDecodeError:  # glued, torn or no UTF-8
            yield from _mended(transcript, start, start + len(raw))
            continue
        found = reading(line) if isinstance(line, dict) else None
        if found:
            yield Metered(start, start + len(raw), found)


def _reading(said: JsonObject) -> Reading | None:
    total = count(said, "total_tokens")
    if not total:
        return None
    return Reading(total, is_estimate=not count(said, "input_tokens"))


def _marked_lines(transcript: Path) -> Iterator[tuple[int, bytes]]:
    start = 0
    marks: tuple[bytes, ...] = ()
    with opened(transcript) as file:
        while block := file.read(_BLOCK_BYTES):
            block += file.readline(LONGEST_LINE_BYTES)
            marks = marks or (_SPACED_MARKS if b'"type": "' in block else _MARKS)
            for begin, end in _marked_spans(block, marks):
                yield start + begin, block[begin:end]
            start += len(block)


def _marked_spans(block: bytes, marks: tuple[bytes, ...]) -> list[tuple[int, int]]:
    """Where the lines stand in the block that hold one of the marks."""
    spans: set[tuple[int, int]] = set()
    for mark in marks:
        found = block.find(mark)
        while found >= 0:
            end = block.find(b"\n", found) + 1 or len(block)
            spans.add((block.rfind(b"\n", 0, found) + 1, end))
            found = block.find(mark, end)
    return sorted(spans)


def _mended(transcript: Path, start: int, end: int) -> Iterator[Metered]:
    following = pieces(transcript, after=Place(str(transcript), 0, 0, start))
    for place, _, value, _ in takewhile(lambda piece: piece.place.start < end, following):
        found = reading(value) if value else None
        if found:
            yield Metered(place.start, place.end, found)
