"""What stood in the window after every reply of a transcript, fast: lines that can say it are found by their bytes.

The bytes looked for cannot stand inside a text, where quotes are escaped; but other objects may have such a key, so a line
that holds them is decoded and looked at again. Sidechains, words of the client's own and API errors are left out; a reply
that stands on several lines comes once, with the greatest number (L2), and lines that only repeat it are not decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from leftoff.agents.claude.reading import usage
from leftoff.agents.fields import table, text
from leftoff.agents.jsonl import LONGEST_LINE_BYTES, opened
from leftoff.agents.mending import mended
from leftoff.model.wire import JsonObject

_BLOCK_BYTES = 1024 * 1024
_MARK = b'put_tokens"'  # how all four numbers of a usage end, whatever white space follows
_ID = b'"id":'


class _Said(NamedTuple):
    """What a line that says the same again is known by: its reply, its usage, and how far into that the mark stands."""

    reply_id: bytes
    usage: bytes
    mark: int


def usages(transcript: Path) -> Iterator[int]:
    """The occupancy after each reply of the main conversation that says what it took, in order."""
    reply_id, most, said = None, 0, None
    for start, block, begin, mark, end in _marked_lines(transcript):
        if said and _says_again(block, begin, mark, end, said):
            continue
        for line in _objects(transcript, start + begin, block[begin:end]):
            occupancy = _occupancy(line)
            if occupancy is None:
                continue
            message = table(line, "message")
            id_here = text(message, "id")
            if id_here is None or id_here != reply_id:
                if most:
                    yield most
                reply_id, most = id_here, 0
            most = max(most, occupancy)
            said = _said(message, reply_id)
    if most:
        yield most


def _marked_lines(transcript: Path) -> Iterator[tuple[int, bytes, int, int, int]]:
    """The lines that hold the mark: where the block that they are in begins, the block, and in it line, mark and line's end."""
    start = 0
    with opened(transcript) as file:
        while block := file.read(_BLOCK_BYTES):
            block += file.readline(LONGEST_LINE_BYTES)
            end = 0
            while (mark := block.find(_MARK, end)) >= 0:
                begin = block.rfind(b"\n", end, mark) + 1 or end
                end = block.find(b"\n", mark) + 1 or len(block)
                yield start, block, begin, mark, end
            start += len(block)


def _says_again(block: bytes, begin: int, mark: int, end: int, said: _Said) -> bool:
    """Whether a line says of the same reply what was said of it before, and nothing of another that is glued to it.

    The reply's id is taken to be the first ``id`` of the line, as every client has written it so far.
    """
    at = mark - said.mark
    return (
        block.startswith(said.usage, at)
        and block.find(_MARK, at + len(said.usage), end) < 0
        and block.startswith(said.reply_id, block.find(_ID, begin, mark))
    )


def _said(message: JsonObject, reply_id: str | None) -> _Said | None:
    if reply_id is None:
        return None
    usage_bytes = orjson.dumps(message["usage"])
    return _Said(_ID + orjson.dumps(reply_id), usage_bytes, usage_bytes.find(_MARK))


def _objects(transcript: Path, start: int, raw: bytes) -> Iterable[JsonObject]:
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:  # glued, torn or no UTF-8
        return [piece.value for piece in mended(str(transcript), 0, start, raw) if piece.value]
    return (value,) if isinstance(value, dict) else ()


def _occupancy(line: JsonObject) -> int | None:
    if line.get("type") != "assistant" or line.get("isSidechain") is True:
        return None
    said = usage(line)
    return said.occupancy_tokens if said else None
