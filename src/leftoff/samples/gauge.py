"""Usage numbers that fit the text: a base, and so many tokens for every character since.

Promises that occupancy never falls from one reply to the next unless ``compact`` was called, and never passes the
ceiling. A session that outgrows the ceiling without a compaction stays there, as with an agent that silently stops
sending its oldest answers.
"""

from __future__ import annotations

from leftoff.model.records import Usage

# What an API counts as fresh input when everything before it is cached: the few tokens of the last turn marker.
_FRESH_TOKENS = 4


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
        """What the next reply will find in the window."""
        return min(self._base_tokens + int(self._tokens_per_char * self._chars), self._ceiling_tokens)

    def add(self, chars: int) -> None:
        """Text now stands in the conversation that no reply has counted yet."""
        self._chars += chars

    def reply(self, chars: int) -> Usage:
        """The model answered with so many characters: what its usage says."""
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
        """The conversation so far was replaced by something that takes ``after_tokens``."""
        self._base_tokens = after_tokens
        self._chars = 0
        self._cached_tokens = 0
