"""``begin*`` as the words of the library that begin so.

SQLite gathers all places of a beginning anew for each question that it is asked, which takes a tenth of a second where there are
many. Of words it is told where they stand, so that asking for the places of one session costs little.
"""

from __future__ import annotations

import re

from leftoff.library.sqlite import sqlite3
from leftoff.model.tuples import NamedTuple

_BEGINNING = r'"([^"]*)"\*'
_LAST = "\U0010ffff"  # stands behind every word that begins so
_MOST_WORDS = 300  # with more, gathering is quicker
_COMMON_WORDS = 4


class Spelled(NamedTuple):
    """An expression with words in place of beginnings: the most common ones, and all; ``most`` pieces hold the commonest."""

    common: str
    every: str
    most: int


def spelled_out(shelf: sqlite3.Connection, expression: str) -> Spelled | None:
    """What the beginnings in an expression stand for; None where that are too many words."""
    common, every, most = expression, expression, 0
    for start in dict.fromkeys(re.findall(_BEGINNING, expression)):
        words = shelf.execute(
            "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?",
            (start, start + _LAST, _MOST_WORDS + 1),
        ).fetchall()
        if len(words) > _MOST_WORDS:
            return None
        if words:  # else it stays a beginning, which nothing has
            first = sorted(words, key=lambda each: -each[1])[:_COMMON_WORDS]
            most = max(most, first[0][1])
            common = common.replace(f'"{start}"*', _any_of(first))
            every = every.replace(f'"{start}"*', _any_of(words))
    return Spelled(common, every, most)


def _any_of(words: list[tuple[str, int]]) -> str:
    return "(" + " OR ".join(f'"{word}"' for word, _ in words) + ")"
