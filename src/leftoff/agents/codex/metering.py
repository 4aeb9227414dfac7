"""What stood in the window after every reply of a rollout, fast: lines that can say it are found by their bytes.

A reading is what Codex says stands in the window after a reply, or its own estimate after a compaction. The bytes looked
for cannot stand inside a text, where quotes are escaped; what is found is looked at again when it is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from leftoff.agents.fields import count, table
from leftoff.agents.jsonl import LONGEST_LINE_BYTES, opened
from leftoff.model.quick_json import loads
from leftoff.model.tuples import NamedTuple
from leftoff.model.wire import JsonObject

_BLOCK_BYTES = 1024 * 1024
_MARK = b'"type":"token_'
_SPACED_MARK = b'"type": "token_'  # as other tools write JSON


class Reading(NamedTuple):
    """Tokens in the window. None: a compaction came, and nothing has been said since. An estimate is Codex's own."""

    used_tokens: int | None
    is_estimate: bool = False


def usages(transcript: Path) -> Iterator[int]:
    """What stood in the window after each reply, in order; two lines may say it of the same reply, one after the other."""
    said = (
        reading(line) for start, raw in _marked_lines(transcript) for line in _objects(transcript, start, raw)
    )
    real = (each.used_tokens for each in said if each and each.used_tokens and not each.is_estimate)
    return (tokens for tokens, _ in groupby(real))


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


def _reading(said: JsonObject) -> Reading | None:
    total = count(said, "total_tokens")
    if not total:
        return None
    return Reading(total, is_estimate=not count(said, "input_tokens"))


def _marked_lines(transcript: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that hold the mark, and where they begin."""
    start = 0
    mark = b""
    with opened(transcript) as file:
        while block := file.read(_BLOCK_BYTES):
            block += file.readline(LONGEST_LINE_BYTES)
            mark = mark or (_SPACED_MARK if b'"type": "' in block else _MARK)
            end = 0
            while (found := block.find(mark, end)) >= 0:
                begin = block.rfind(b"\n", end, found) + 1 or end
                end = block.find(b"\n", found) + 1 or len(block)
                yield start + begin, block[begin:end]
            start += len(block)


def _objects(transcript: Path, start: int, raw: bytes) -> Iterable[JsonObject]:
    try:
        value = loads(raw)
    except ValueError:  # glued, torn or no UTF-8
        from leftoff.agents.mending import mended  # noqa: PLC0415 - few files need it

        return [piece.value for piece in mended(str(transcript), 0, start, raw) if piece.value]
    return (value,) if isinstance(value, dict) else ()
