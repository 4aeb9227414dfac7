"""Rewrites what ``token_count`` and ``token_usage_record`` say stands in the window, so that none says more than the copy holds.

Codex compacts on resume by the last of them (L28). Sums over the whole session stand beside and stay: they are what was paid for.
"""

from __future__ import annotations

import re

import orjson

from leftoff.agents.fields import count, table
from leftoff.agents.usage_tally import Tally, scaled
from leftoff.model.wire import JsonObject

_KEYS = ("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens")
LINE_MARK = b'"token_'
_LINE = b'"type":"token_'
_SPACED_LINE = b'"type": "token_'
_HEAD_BYTES = 200
_SAID = re.compile(rb'"(?:last_token_usage|usage)": ?(\{[^{}]*\})')


class UsageCap:
    """Looks at some lines after the other."""

    def __init__(self, limit_tokens: int) -> None:
        self.tally = Tally(_KEYS)
        self._limit = limit_tokens
        self._old = self._new = b""

    def run(self, raw: bytes) -> bytes:
        """The lines with numbers that hold; what says no more than it may as it is."""
        made: list[bytes] = []
        mark = _SPACED_LINE if b'"type": "' in raw[:_HEAD_BYTES] else _LINE
        done, at = 0, raw.find(mark)
        while at >= 0:
            begin = raw.rfind(b"\n", done, at) + 1 or done
            end = raw.find(b"\n", at) + 1 or len(raw)
            found = _SAID.search(raw, at, end) if at - begin < _HEAD_BYTES else None
            new = self._capped(found[1]) if found else None
            if found and new is not None:
                made += (raw[done : found.start(1)], new)
                done = found.end(1)
            at = raw.find(mark, end)
        return b"".join((*made, raw[done:])) if made else raw

    def exact(self, item: JsonObject) -> None:
        """The numbers of a decoded line, which is changed: just the limit, also where they said less."""
        for holder, key in ((table(item, "info"), "last_token_usage"), (item, "usage")):
            said = table(holder, key)
            taken = count(said, "total_tokens") or 0
            if taken:
                usage = orjson.dumps(said)
                self.tally.add(usage, said, self._limit, taken)
                holder[key] = orjson.loads(scaled(usage, self._limit, taken))

    def _capped(self, usage: bytes) -> bytes | None:
        if usage == self._old:  # two lines say it of the same reply
            return self._new
        said = orjson.loads(usage)
        taken = count(said, "total_tokens") or 0
        if taken <= self._limit:
            return None
        self.tally.add(usage, said, self._limit, taken)  # its numbers name a reply: two never had the same
        self._old, self._new = usage, scaled(usage, self._limit, taken)
        return self._new
