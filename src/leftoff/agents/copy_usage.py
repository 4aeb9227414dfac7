"""Scales down the usage of replies in a copy, and notes the sums of the old and new numbers in its metadata.

Costs can then still be read from the copy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import orjson

from leftoff.agents.jsonl import count
from leftoff.core.wire import JsonObject

_RESERVED_BYTES = 448  # more than ``UsageTally.to_dict`` ever takes
_NUMBER = re.compile(rb'(_tokens": ?)(\d+)')


def scale_usage(usage: bytes, limit: int, used: int) -> bytes:
    """Scale all numbers of a usage by ``limit / used``; nothing else of it changes."""
    parts = _NUMBER.split(usage)  # every third one is a number
    parts[2::3] = [b"%d" % (int(number) * limit // used) for number in parts[2::3]]
    return b"".join(parts)


def lowered_usage(used: int, limit: int, removed: int) -> int:
    """Return what a usage above the limit becomes in a copy: less by what was removed, and never above the limit.

    So the copy grows from reply to reply as the session did, and no two replies get the same usage. Where that would leave
    little or nothing, usage is scaled down instead.
    """
    shifted = used - removed
    return min(limit, shifted if shifted > limit // 2 else used * limit // (limit + removed))


class UsageTally:
    """The sums of what replies used and what the copy says. A reply that comes several times in a row counts once."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._replies = 0
        self._last: bytes | None = None
        self._original = dict.fromkeys(keys, 0)
        self._written = dict.fromkeys(keys, 0)

    def add(self, reply_id: bytes | None, usage: JsonObject, limit: int, used: int) -> None:
        """Add one usage that is scaled from ``used`` to ``limit``; ``reply_id`` is ``None`` for a reply without id."""
        if reply_id is not None and reply_id == self._last:
            return
        self._last = reply_id
        self._replies += 1
        for key in self._original:
            if tokens := count(usage, key):
                self._original[key] += tokens
                self._written[key] += tokens * limit // used

    def to_dict(self) -> JsonObject:
        """Return how many replies were rewritten, and the sums."""
        return {"replies": self._replies, "original": {**self._original}, "written": {**self._written}}


class ReservedUsage:
    """Space in the line of the metadata for a tally, which is known only when all lines are written."""

    def __init__(self, tally: UsageTally | None) -> None:
        self._tally = tally
        self._at: int | None = None
        self._marker = f"room for usage {os.urandom(8).hex()}"

    def with_marker(self, metadata: JsonObject) -> JsonObject:
        """Return the metadata with a marker where space is to be reserved; unchanged if there is no tally."""
        if self._tally is None:
            return metadata
        return {
            key: {**value, "usage": self._marker} if isinstance(value, dict) else value
            for key, value in metadata.items()
        }

    def reserve(self, line: bytes, begins_at: int = 0) -> bytes:
        """Replace the marker in a line, which begins at that byte of the file, by blank space."""
        if self._tally is None or self._at is not None:
            return line
        marker = f'"{self._marker}"'.encode()
        at = line.find(marker)
        if at < 0:
            return line
        self._at = begins_at + at
        return line[:at] + b"{}".ljust(_RESERVED_BYTES) + line[at + len(marker) :]

    def content(self) -> tuple[int, bytes] | None:
        """Return where the space is and what goes there; None if no space was reserved."""
        if self._tally is None or self._at is None:
            return None
        return self._at, orjson.dumps(self._tally.to_dict()).ljust(_RESERVED_BYTES)
