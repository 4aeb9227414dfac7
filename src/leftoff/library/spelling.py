"""What may have been meant, when nothing was found: a word of the library that is spelled almost the same."""

from __future__ import annotations

import difflib

from leftoff.library.blocks import unpacked
from leftoff.library.patterns import light
from leftoff.library.query import Query
from leftoff.library.sqlite import sqlite3
from leftoff.library.words import fold, stem

_MOST_WORDS = 50_000
_LIKENESS = 0.75


def meant(shelf: sqlite3.Connection, query: Query) -> str | None:
    """The first word of the query that the library does not have, put right; None where there is nothing to put right."""
    for term in query.terms:
        word = fold(term.text)
        if term.is_phrase or not word.isascii() or not word.isalnum():
            continue
        token = stem(word)
        if shelf.execute("SELECT 1 FROM vocabulary WHERE term = ?", (token,)).fetchone():
            continue
        near = _near(shelf, token)
        if near is not None:
            return _as_written(shelf, near)
    return None


def _near(shelf: sqlite3.Connection, token: str) -> str | None:
    """Of the words that begin with the same letter, or with the second one where two were swapped."""
    known: dict[str, int] = {}
    for letter in dict.fromkeys(token[:2]):
        rows = shelf.execute(
            "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ? LIMIT ?",
            (letter, chr(ord(letter) + 1), len(token) - 2, len(token) + 2, _MOST_WORDS),
        )
        known.update(dict(rows.fetchall()))
    close = difflib.get_close_matches(token, known, n=5, cutoff=_LIKENESS)
    return max(
        close,
        key=lambda each: known[each] * difflib.SequenceMatcher(None, token, each).ratio() ** 8,
        default=None,
    )


def _as_written(shelf: sqlite3.Connection, token: str) -> str:
    """A stem as it stands in a text: people do not know stems."""
    row = shelf.execute(
        "SELECT b.data, p.slot FROM words w JOIN pieces p ON p.id = w.rowid JOIN blocks b ON b.id = p.block"
        " WHERE words MATCH ? LIMIT 1",
        (f'"{token}"',),
    ).fetchone()
    seen = light(token).search(unpacked(row[0])[row[1]]) if row else None
    return seen[0].lower() if seen else token
