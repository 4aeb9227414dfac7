"""Every reply's occupancy in a transcript, fast: lines that can hold one are found by their bytes, and only those decoded.

The bytes looked for cannot stand inside a text, where quotes are escaped; but other objects may have such a key, so what
is found is looked at again when it is decoded. Sidechains, words of the client's own and API errors are left out; a
reply that stands on several lines comes once, with the greatest number (L2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import orjson

from leftoff.agents.claude.reading import model, usage
from leftoff.agents.fields import table, text
from leftoff.agents.jsonl import LONGEST_LINE_BYTES, opened, pieces
from leftoff.model.records import Place, Usage
from leftoff.model.wire import JsonObject

_BLOCK_BYTES = 1024 * 1024
_MARK = b'"usage":'


class Metered(NamedTuple):
    """A reply, what it took, and where in the file its last line begins."""

    start: int
    reply_id: str | None
    usage: Usage
    model: str | None


def usages(transcript: Path) -> Iterator[Metered]:
    """All replies of the main conversation that say what they took, in order."""
    held: Metered | None = None
    repeated: tuple[bytes, bytes] | None = None
    for start, raw in _marked_lines(transcript):
        if held and repeated and _says_again(raw, *repeated):
            held = held._replace(start=start)  # the next line of the same reply, with the same numbers
            continue
        for where, line in _lines(transcript, start, raw):
            found = _metered(where, line)
            if found is None:
                continue
            if held and held.reply_id == found.reply_id is not None:
                greatest = max(held, found, key=lambda each: each.usage.occupancy_tokens)
                found = greatest._replace(start=found.start)
            elif held:
                yield held
            held, repeated = found, _repeated(line, found.reply_id)
    if held:
        yield held


def _says_again(raw: bytes, reply_id: bytes, said: bytes) -> bool:
    """Whether a line says of the same reply what was said of it before, and nothing of another that is glued to it."""
    at = raw.rfind(said)  # near the end of a line, as a rule
    return at >= 0 and reply_id in raw and raw.find(_MARK, at + len(said)) < 0


def _marked_lines(transcript: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that hold the mark, and where they begin."""
    start = 0
    with opened(transcript) as file:
        while block := file.read(_BLOCK_BYTES):
            block += file.readline(LONGEST_LINE_BYTES)
            end = 0
            while (found := block.find(_MARK, end)) >= 0:
                begin = block.rfind(b"\n", end, found) + 1 or end
                end = block.find(b"\n", found) + 1 or len(block)
                yield start + begin, block[begin:end]
            start += len(block)


def _lines(transcript: Path, start: int, raw: bytes) -> Iterable[tuple[int, JsonObject]]:
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:  # glued, torn or no UTF-8
        before = Place(str(transcript), 0, 0, start)
        on_line = takewhile(lambda piece: piece.place.start < start + len(raw), pieces(transcript, before))
        return [(piece.place.start, piece.value) for piece in on_line if piece.value]
    return [(start, value)] if isinstance(value, dict) else []


def _metered(start: int, line: JsonObject) -> Metered | None:
    if line.get("type") != "assistant" or line.get("isSidechain") is True:
        return None
    said = usage(line)
    return Metered(start, text(table(line, "message"), "id"), said, model(line)) if said else None


def _repeated(line: JsonObject, reply_id: str | None) -> tuple[bytes, bytes] | None:
    """The bytes by which a line that says the same again is known, without decoding it."""
    if reply_id is None:
        return None
    return b'"id":' + orjson.dumps(reply_id), orjson.dumps(table(table(line, "message"), "usage"))
