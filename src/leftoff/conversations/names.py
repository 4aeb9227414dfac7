"""Ids of chats and the short forms of numbers: ``simple_sally_20251230_112153``, ``5 queries, 2.3K tokens``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import count

_LONGEST_SLUG = 60
_NOT_PLAIN = re.compile(r"[^a-z0-9]+")
_ID = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9_-]*_\d{8}_\d{6}(_\d+)?|session_\d+"
)  # the second is 003's short form


def candidates(agent: str, moment: datetime) -> Iterator[str]:
    """The id of a chat that begins now, and what it is called when that is taken: ``…_2``, ``…_3``."""
    first = f"{slug(agent)}_{moment.astimezone():%Y%m%d_%H%M%S}"
    yield first
    for number in count(2):
        yield f"{first}_{number}"


def slug(agent: str) -> str:
    """An agent's name as part of an id."""
    return _NOT_PLAIN.sub("_", agent.lower())[:_LONGEST_SLUG].strip("_") or "agent"


def looks_like_id(word: str) -> bool:
    """Whether a word has the form of a chat's id."""
    return _ID.fullmatch(word) is not None


def cost(queries: int, tokens: int) -> str:
    """``5 queries, 2.3K tokens``."""
    return f"{queries} {'query' if queries == 1 else 'queries'}, {short(tokens)} tokens"


def short(tokens: int) -> str:
    """``156``, ``2.3K``, ``1.4M``; rounded down, so that no number looks larger than it is."""
    for size, letter in ((1_000_000, "M"), (1_000, "K")):
        if tokens >= size:
            return f"{tokens * 10 // size / 10:.1f}{letter}"
    return str(tokens)
