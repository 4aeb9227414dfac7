"""Where no piece holds all words: the sessions that hold the most telling of them, wherever in them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from leftoff.library.answers import FoundSession, Order, Reader, Row, ranked
from leftoff.library.checks import refusals
from leftoff.library.filters import OF_SOURCE, where, without
from leftoff.library.query import Query, expression
from leftoff.library.sqlite import sqlite3
from leftoff.model.tuples import NamedTuple

_MOST_PIECES = 50_000  # what stands in more pieces tells nothing where other words do
_LEAST_SHARE = 0.5  # of what all words tell


class _Group(NamedTuple):
    """Words of which any one will do, in FTS5's language, and how much they tell; nothing where they stand nowhere."""

    words: str
    worth: float
    is_known: bool


def most_words(
    shelf: sqlite3.Connection, reader: Reader, query: Query, order: Order
) -> Iterator[FoundSession]:
    """Sessions with at least half of what all words tell."""
    groups = _telling(shelf, query)
    total = sum(group.worth for group in groups)
    if sum(group.worth for group in groups if group.is_known) < total * _LEAST_SHARE:
        return
    refused = refusals(query)
    for row in ranked(_rows(shelf, query, groups), order):
        if hits := reader.hits(_densest(shelf, row, query, groups), refused, order.hits):
            yield reader.session(row, hits)


def _rows(shelf: sqlite3.Connection, query: Query, groups: Sequence[_Group]) -> Iterator[Row]:
    conditions, values = _conditions(query)
    matching, given = _union("SELECT rowid AS id, ? AS w, ? AS g FROM words WHERE words MATCH ?", groups)
    rows = shelf.execute(
        f"WITH m AS ({matching}), h AS (SELECT id, sum(w) AS w, group_concat(g) AS g FROM m GROUP BY id)"
        " SELECT p.source, max(h.w * p.weight), max(h.w), group_concat(DISTINCT h.g), count(*), s.modified_ns, min(p.id),"
        " max(p.id)"
        f" FROM h JOIN pieces p ON p.id = h.id JOIN sources s ON s.id = p.source WHERE {conditions} GROUP BY p.source",
        [*given, *values],
    ).fetchall()
    total = sum(group.worth for group in groups)
    for source, best, densest, seen, *rest in rows:
        share = sum(groups[int(number)].worth for number in {*seen.split(",")}) / total
        if share >= _LEAST_SHARE:
            yield Row(source, share**2 * (best + densest) / total, *rest)


def _densest(shelf: sqlite3.Connection, row: Row, query: Query, groups: Sequence[_Group]) -> Iterator[int]:
    """The pieces of one source, those with the most telling words first."""
    conditions, values = _conditions(query)
    matching, given = _union(
        "SELECT rowid AS id, ? AS w, ? AS g FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?",
        groups,
        (row.first, row.last),
    )
    rows = shelf.execute(
        f"WITH m AS ({matching}), h AS (SELECT id, sum(w) AS w FROM m GROUP BY id)"
        " SELECT p.id FROM h JOIN pieces p ON p.id = h.id JOIN sources s ON s.id = p.source"
        f" WHERE {conditions} AND {OF_SOURCE} ORDER BY h.w * p.weight DESC",
        [*given, *values, row.source],
    )
    return (piece for (piece,) in rows)


def _union(part: str, groups: Sequence[_Group], last: Sequence[object] = ()) -> tuple[str, list[object]]:
    """The pieces of each group, with what it is worth and its number; and the values of that."""
    values = [value for at, group in enumerate(groups) for value in (group.worth, at, group.words, *last)]
    return " UNION ALL ".join([part] * len(groups)), values


def _conditions(query: Query) -> tuple[str, list[object]]:
    (filters, values), (refused, given) = where(query), without(query)
    return f"{filters} AND {refused}", [*values, *given]


def _telling(shelf: sqlite3.Connection, query: Query) -> list[_Group]:
    """What is asked for; without what is everywhere, unless there is nothing else."""
    total = shelf.execute("SELECT max(id) FROM pieces").fetchone()[0] or 1
    asked = [words for group in query.groups if (words := expression((group,), ()))]
    counted = [(words, _pieces_with(shelf, words)) for words in asked]
    told = [each for each in counted if each[1] <= _MOST_PIECES] or counted
    return [_Group(words, math.log(1 + total / (count + 1)), is_known=count > 0) for words, count in told]


def _pieces_with(shelf: sqlite3.Connection, words: str) -> int:
    count: int = shelf.execute(
        "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", (words, _MOST_PIECES + 1)
    ).fetchone()[0]
    return count
