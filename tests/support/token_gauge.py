"""Token usage for invented sessions that fits their text: a base, and a number of tokens for every character.

Occupancy never falls from one reply to the next unless ``compact`` was called, and never exceeds the ceiling. A session
that outgrows the ceiling without a compaction stays there, like an agent that silently stops sending its oldest results.
"""

from __future__ import annotations

from typing import Final

from leftoff.core.records import Usage
from leftoff.core.wire import JsonValue
from leftoff.testing.script import Call

# What an API counts as fresh input when everything before it is cached: the few tokens of the last turn marker.
_FRESH_TOKENS = 4
IMAGE_CHARS: Final = 4_000  # a picture takes about as much of the window as this much text


class Gauge:
    """How full the window of one conversation is."""

    __slots__ = ("_base_tokens", "_cached_tokens", "_ceiling_tokens", "_chars", "_tokens_per_char")

    def __init__(self, *, base_tokens: int, tokens_per_char: float, ceiling_tokens: int) -> None:
        self._base_tokens = base_tokens
        self._tokens_per_char = tokens_per_char
        self._ceiling_tokens = ceiling_tokens
        self._chars = 0
        self._cached_tokens = 0

    @property
    def tokens(self) -> int:
        """How many tokens the next reply will have in its window."""
        return min(self._base_tokens + int(self._tokens_per_char * self._chars), self._ceiling_tokens)

    def add(self, chars: int) -> None:
        """Add text that no reply has counted yet."""
        self._chars += chars

    def reply(self, chars: int) -> Usage:
        """Return the usage of a reply with so many characters."""
        output = int(self._tokens_per_char * chars) + 1
        found = min(self.tokens, self._ceiling_tokens - output)
        cached = min(self._cached_tokens, found - _FRESH_TOKENS)
        self._chars += chars
        self._cached_tokens = found
        return Usage(
            input_tokens=_FRESH_TOKENS,
            output_tokens=output,
            cache_read_tokens=cached,
            cache_creation_tokens=found - _FRESH_TOKENS - cached,
        )

    def compact(self, after_tokens: int) -> None:
        """Replace the conversation so far by a summary of ``after_tokens``."""
        self._base_tokens = after_tokens
        self._chars = 0
        self._cached_tokens = 0


def sent_chars(call: Call) -> int:
    """Return how many characters the model wrote to make this call."""
    total = len(call.tool)
    for key, value in call.input.items():
        total += len(key) + (len(value) if isinstance(value, str) else _chars(value))
    return total


def answered_chars(call: Call) -> int:
    """Return how many characters the answer adds to the conversation."""
    return len(call.answer or "") + (IMAGE_CHARS if call.image else 0)


def _chars(value: JsonValue) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(_chars(item) for item in value)
    if isinstance(value, dict):
        return sum(len(key) + _chars(item) for key, item in value.items())
    return 4
