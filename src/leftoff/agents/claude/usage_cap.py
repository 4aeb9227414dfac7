"""Rewrites what replies say they took, so that none says more than the copy holds: the client compacts by the last number (L28).

The numbers are found by their bytes, and nothing but them changes: all of one reply come down in the same proportion.
"""

from __future__ import annotations

import re

import orjson

from leftoff.agents.copying import changed
from leftoff.agents.fields import table, text
from leftoff.agents.usage_tally import Tally, scaled
from leftoff.model.wire import JsonObject

_KEYS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_USAGE, _MESSAGE, _ROLE, _NESTED = b'"usage":', b'"message":{', b'"role":"', b'"data":{'
_HEAD_BYTES = 1500  # of a line, in which its message begins
_INNER = rb"\{[^{}]*\}"
_MIDDLE = rb"\{[^{}]*(?:" + _INNER + rb"[^{}]*)*\}"
_OBJECT = re.compile(rb"\{[^{}]*(?:" + _MIDDLE + rb"[^{}]*)*\}")  # the numbers' own objects nest no deeper
# As clients since 1.0 lay it out: enough to see that a reply says no more than it may.
_FOUR = re.compile(
    rb'\{"input_tokens":(\d+),"cache_creation_input_tokens":(\d+),"cache_read_input_tokens":(\d+),'
    rb'(?:"cache_creation":\{[^{}]*\},)?"output_tokens":(\d+)'
)
_REPLY_ID = re.compile(rb'"id":"([^"]*)"')


class UsageCap:
    """Looks at some lines after the other."""

    def __init__(self, limit_tokens: int) -> None:
        self.tally = Tally(_KEYS)
        self._limit = limit_tokens
        self._old = self._new = (
            b"-"  # the last usage, and what took its place: several lines of one reply repeat it
        )

    def run(self, raw: bytes) -> bytes:
        """The lines with numbers that hold; one that says nothing, or no more than it may, as it is."""
        made: list[bytes] = []
        done, at = 0, raw.find(_USAGE)
        while at >= 0:
            begin = raw.rfind(b"\n", done, at) + 1 or done
            end = raw.find(b"\n", at) + 1 or len(raw)
            at = raw.rfind(_USAGE, at, end) + len(_USAGE)  # of a reply the last one is its own
            four = _FOUR.match(raw, at)
            if four is None or sum(map(int, four.groups())) > self._limit:
                start, stop, new = self._found(raw, begin, at, end)
                if new is not None:
                    made += (raw[done:start], new)
                    done = stop
            at = raw.find(_USAGE, end)
        return b"".join((*made, raw[done:])) if made else raw

    def value(self, line: JsonObject) -> JsonObject:
        """The same for a line that is decoded already; it is changed."""
        said = table(table(line, "message"), "usage")
        return self.exact(line) if _taken(said) > self._limit else line

    def exact(self, line: JsonObject) -> JsonObject:
        """The line with numbers that say just the limit, also where they said less; it is changed."""
        message = table(line, "message")
        said = table(message, "usage")
        taken = _taken(said)
        if line.get("type") == "assistant" and taken:
            reply_id = text(message, "id")
            self.tally.add(reply_id.encode() if reply_id else None, said, self._limit, taken)
            message["usage"] = orjson.loads(scaled(orjson.dumps(said), self._limit, taken))
        return line

    def _found(self, raw: bytes, begin: int, at: int, end: int) -> tuple[int, int, bytes | None]:
        """What to put between which two bytes; None: nothing."""
        message = raw.find(_MESSAGE, begin, begin + _HEAD_BYTES)
        role = raw.find(_ROLE, message, begin + _HEAD_BYTES) + len(_ROLE)
        if message < 0 or role <= message or raw.find(_NESTED, begin, message) >= 0:
            return begin, end, self._decoded(raw[begin:end])
        if not raw.startswith(b"assistant", role):
            return at, at, None
        if not raw.startswith(self._old, at):
            said = self._said(raw, at, end)
            if said is None:
                return begin, end, self._decoded(raw[begin:end])
            taken = _taken(said)
            if taken <= self._limit:
                return at, at, None
            found = _OBJECT.match(raw, at, end)
            if found is None:
                return begin, end, self._decoded(raw[begin:end])
            named = _REPLY_ID.search(raw, message, at)
            self.tally.add(named[1] if named else None, said, self._limit, taken)
            self._old, self._new = found[0], scaled(found[0], self._limit, taken)
        return at, at + len(self._old), self._new

    def _said(self, raw: bytes, at: int, end: int) -> JsonObject | None:
        """The numbers that stand there; None where they are laid out in a way that only decoding the line can tell."""
        four = _FOUR.match(raw, at, end)
        if four:
            return dict(zip(_KEYS, map(int, four.groups()), strict=True))
        found = _OBJECT.match(raw, at, end)
        try:
            said = orjson.loads(found[0]) if found else None
        except orjson.JSONDecodeError:
            return None
        return said if isinstance(said, dict) else None

    def _decoded(self, raw: bytes) -> bytes | None:
        """For a line of another layout; one that is torn or glued no client could read as a reply."""
        try:
            value = orjson.loads(raw)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(value, dict) or value.get("type") != "assistant":
            return None
        said = table(table(value, "message"), "usage")
        return changed(raw, self.value) if _taken(said) > self._limit else None


def _taken(said: JsonObject) -> int:
    return sum([tokens for key in _KEYS if type(tokens := said.get(key)) is int])  # noqa: C419 - twice as fast
