"""Brings the numbers of a usage down, and adds up what they were: for the metadata, so that costs can still be told from the copy."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import orjson

from leftoff.agents.fields import count
from leftoff.model.wire import JsonObject, JsonValue

_ROOM_BYTES = 448  # what ``said`` takes at the most
_NUMBER = re.compile(rb'(_tokens":)(\d+)')


def scaled(usage: bytes, limit: int, taken: int) -> bytes:
    """A usage with all its numbers in the proportion of ``limit`` to ``taken``; nothing else of it changes."""
    parts = _NUMBER.split(usage)  # every third one is a number
    parts[2::3] = [b"%d" % (int(number) * limit // taken) for number in parts[2::3]]
    return b"".join(parts)


class Tally:
    """The sums of what replies said and say now. A reply that comes several times in a row counts once."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._replies = 0
        self._last: bytes | None = None
        self._original = dict.fromkeys(keys, 0)
        self._written = dict.fromkeys(keys, 0)

    def add(self, reply_id: bytes | None, said: JsonObject, limit: int, taken: int) -> None:
        """One usage that is brought down from ``taken`` to ``limit``; None is a reply that nothing names."""
        if reply_id is not None and reply_id == self._last:
            return
        self._last = reply_id
        self._replies += 1
        for key in self._original:
            if tokens := count(said, key):
                self._original[key] += tokens
                self._written[key] += tokens * limit // taken

    def said(self) -> JsonObject:
        """How many replies were rewritten, and the sums."""
        original: dict[str, JsonValue] = {**self._original}
        written: dict[str, JsonValue] = {**self._written}
        return {"replies": self._replies, "original": original, "written": written}


class Room:
    """The place in the line of the metadata where the tally goes when it is known: blank until then, and never too small."""

    def __init__(self, tally: Tally | None) -> None:
        self._tally = tally
        self._at: int | None = None
        self._mark = f"room for usage {os.urandom(8).hex()}"

    def marked(self, metadata: JsonObject) -> JsonObject:
        """The metadata with a mark where room is to be made; as it is where nothing will be known."""
        if self._tally is None:
            return metadata
        return {
            key: {**said, "usage": self._mark} if isinstance(said, dict) else said
            for key, said in metadata.items()
        }

    def made(self, line: bytes) -> bytes:
        """The line, the first of its file, with room in the place of the mark."""
        mark = f'"{self._mark}"'.encode()
        at = line.find(mark)
        if at < 0:
            return line
        self._at = at
        return line[:at] + b"{}".ljust(_ROOM_BYTES) + line[at + len(mark) :]

    def filling(self) -> tuple[int, bytes] | None:
        """What to put into the room, and where it is; None where none was made."""
        if self._tally is None or self._at is None:
            return None
        return self._at, orjson.dumps(self._tally.said()).ljust(_ROOM_BYTES)
