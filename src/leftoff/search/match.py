"""Find the sessions that match a query, best first.

The full-text index finds candidates; phrases, prefixes and exact names are then checked in the texts, only as far down the
ranking as is shown, and up to a limit that is reported when it was reached. A name is searched as a name first, then as
separate parts. If no piece contains all words, sessions with the most significant words are returned and marked as such.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from leftoff.search.query import (
    OF_SOURCE,
    Query,
    Term,
    exclusion_sql,
    expression,
    filter_conditions,
    filter_sql,
)
from leftoff.search.results import (
    Answers,
    FoundSession,
    Hit,
    Reader,
    Row,
    SearchOptions,
    exclusion_checks,
    rank,
    text_checks,
)

_JOINED_NAME_FACTOR = 1.6
_SAMPLE_RUN = 8  # consecutive pieces; few enough that a sample includes small sessions too
_MAX_PIECES = 50_000  # words in more pieces are ignored if there are others
_MIN_SHARE = 0.5  # of the weight of all words
_PREFIX = r'"([^"]*)"\*'
_AFTER_PREFIX = "\U0010ffff"  # sorts after every word with the prefix
_MAX_WORDS = 300  # with more, a temporary table is quicker
_COMMON_WORDS = 4


def find_sessions(connection: sqlite3.Connection, query: Query, options: SearchOptions) -> Answers:
    """Return the sessions that match the query."""
    needed = query.without_common_words
    finder = _SessionFinder(connection, needed, options, original=query)
    sessions, cut_short = finder.all_words(), finder.reader.is_exhausted
    if not sessions and expression(needed.with_separate_parts.groups, ()) != expression(needed.groups, ()):
        fewer_texts = options._replace(max_texts=options.max_texts_apart)
        finder = _SessionFinder(connection, needed.with_separate_parts, fewer_texts, original=query)
        sessions, cut_short = finder.all_words(), cut_short or finder.reader.is_exhausted
    if len(sessions) >= options.limit:
        return Answers(tuple(sessions), complete=True)
    if len(needed.groups) < 2:
        return Answers(tuple(sessions), complete=True, cut_short=cut_short)
    known = {session.path for session in sessions}
    lowest = sessions[-1].score if sessions else math.inf
    more = (
        each._replace(score=min(each.score, lowest))
        for each in find_by_most_words(connection, Reader(connection, options.max_texts), needed, options)
        if each.path not in known
    )
    answers = (*sessions, *islice(more, options.limit - len(sessions)))
    return Answers(answers, complete=bool(sessions), cut_short=cut_short)


class _PieceQuery(NamedTuple):
    """Matching pieces in SQL: a FROM clause, a condition with its values, and the column with the piece's id."""

    table: str
    condition: str
    values: list[object]
    id_column: str = "words.rowid"

    @classmethod
    def matching(cls, words: str, query: Query) -> _PieceQuery:
        """Select the pieces that match an FTS5 expression."""
        return cls._joined("words", "words MATCH ?", [words], query)

    @classmethod
    def matching_gathered(cls, connection: sqlite3.Connection, words: str, query: Query) -> _PieceQuery:
        """The same through a temporary table: FTS5 would collect the pieces of a common prefix for each query."""
        connection.execute("PRAGMA query_only = OFF")  # the table is temporary
        connection.execute("DROP TABLE IF EXISTS temp.begun")
        connection.execute("CREATE TEMP TABLE begun (id INTEGER PRIMARY KEY)")
        connection.execute("INSERT INTO temp.begun SELECT rowid FROM words WHERE words MATCH ?", (words,))
        connection.execute("PRAGMA query_only = ON")
        return cls._joined("temp.begun AS words", "1", [], query)

    @classmethod
    def _joined(cls, table: str, condition: str, given: list[object], query: Query) -> _PieceQuery:
        filters, values = filter_sql(query)
        # CROSS JOIN keeps this order, whatever SQLite estimates.
        table = f"{table} CROSS JOIN pieces p ON p.id = words.rowid{_join_sources(query)}"
        return cls(table, f"{condition} AND {filters}", [*given, *values])

    @classmethod
    def unrestricted(cls, query: Query) -> _PieceQuery:
        """Select every piece, for queries without a usable word."""
        (filters, values), (refused, given) = filter_sql(query), exclusion_sql(query)
        return cls(f"pieces p{_join_sources(query)}", f"{filters} AND {refused}", [*values, *given], "p.id")


def _join_sources(query: Query) -> str:
    """Return the join with the sources, if a filter needs it."""
    return " JOIN sources s ON s.id = p.source" if query.filters_sessions else ""


class _SessionFinder:
    def __init__(
        self, connection: sqlite3.Connection, query: Query, options: SearchOptions, *, original: Query
    ) -> None:
        self._connection, self._query, self._options, self._original = connection, query, options, original
        self._checks = text_checks(query)
        self._checked: dict[int, tuple[int, list[Hit]]] = {}  # by source, so that none is checked twice
        self.reader = Reader(connection, options.max_texts)

    def all_words(self) -> list[FoundSession]:
        """Return sessions with a piece that contains everything."""
        words = expression(self._query.groups, self._query.without)
        if words is None:
            return self._find(_PieceQuery.unrestricted(self._query), 1)
        if "*" in words:
            return self._find_by_prefix(words)
        return self._find_sampled(_PieceQuery.matching(words, self._query))

    def _find_by_prefix(self, words: str) -> list[FoundSession]:
        """Find a prefix by its most common words if these are in many pieces, else by all words."""
        expanded = expand_prefixes(self._connection, words)
        if expanded is None:
            return self._find_sampled(_PieceQuery.matching_gathered(self._connection, words, self._query))
        by_common_words = _PieceQuery.matching(expanded.common_words, self._query)
        by_all_words = _PieceQuery.matching(expanded.all_words, self._query)
        is_alone = " AND " not in words and " NOT " not in words  # then at least max_count pieces match
        step = self._step_for(expanded.max_count) if is_alone else self._sample_step(by_common_words)
        if step > 1:
            sessions = self._find(by_common_words, step)
            if self._are_enough(sessions):
                has_more = by_common_words != by_all_words
                return [session._replace(has_more=has_more) for session in sessions]
            self._checked.clear()  # other words may occur in other places
        return self._find_sampled(by_all_words)

    def _find_sampled(self, pieces_query: _PieceQuery) -> list[FoundSession]:
        """Rank a sample of the pieces if that gives enough sessions, else all."""
        step = self._sample_step(pieces_query)
        sessions = self._find(pieces_query, step)
        return sessions if step == 1 or self._are_enough(sessions) else self._find(pieces_query, 1)

    def _are_enough(self, sessions: Sequence[FoundSession]) -> bool:
        return len(sessions) >= self._options.limit or self.reader.is_exhausted

    def _sample_step(self, pieces_query: _PieceQuery) -> int:
        """Return n if only every n-th piece is ranked, because more would not change the order much."""
        if self._compares_all():
            return 1
        matching = pieces_query.table.partition(" CROSS JOIN ")[0]
        count = self._connection.execute(
            f"SELECT count(*) FROM {matching} WHERE {pieces_query.condition}", pieces_query.values
        ).fetchone()[0]
        return self._step_for(count)

    def _step_for(self, count: int) -> int:
        return 1 if self._compares_all() else 1 + count // self._options.compared

    def _compares_all(self) -> bool:
        return self._options.newest or bool(filter_conditions(self._query))

    def _find(self, pieces_query: _PieceQuery, step: int) -> list[FoundSession]:
        # Consecutive pieces share a page: a sample of single ones would read nearly every page.
        sample = f" AND {pieces_query.id_column} / {_SAMPLE_RUN} % {step} = 0" if step > 1 else ""
        rows = self._connection.execute(
            "SELECT g.*, s.modified_ns FROM (SELECT p.source, max(p.weight), count(*), min(p.id), max(p.id)"
            f" FROM {pieces_query.table} WHERE {pieces_query.condition}{sample} GROUP BY p.source) g"
            " JOIN sources s ON s.id = g.source",
            pieces_query.values,
        )
        neighbours = self._sources_with_joined_name()
        worth = (
            Row(
                source,
                best * (_JOINED_NAME_FACTOR if source in neighbours else 1),
                count * step,
                at,
                first,
                last,
            )
            for source, best, count, first, last, at in rows
        )
        best_first: Iterable[Row] = rank(worth, self._options)
        if step > 1:
            best_first = (self._widen(row) for row in best_first if not self.reader.is_exhausted)
        return [*islice(self._read_sessions(best_first, pieces_query), self._options.limit)]

    def _widen(self, row: Row) -> Row:
        """Return the row with the range of all pieces of its source, of which only a sample is known."""
        # In one SELECT, SQLite would scan all pieces of the source.
        first, last = self._connection.execute(
            "SELECT (SELECT min(id) FROM pieces WHERE source = ?1), (SELECT max(id) FROM pieces WHERE source = ?1)",
            (row.source,),
        ).fetchone()
        return row._replace(first=first, last=last)

    def _sources_with_joined_name(self) -> set[int]:
        """Return sources that contain the words as one name: ``parse user name`` as ``parseUserName``."""
        words = [term.text for term in self._original.terms]
        if not 2 <= len(words) <= 6:
            return set()
        joined = Term("".join(words)).expression
        if joined is None:
            return set()
        rows = self._connection.execute(
            "SELECT DISTINCT p.source FROM words JOIN pieces p ON p.id = words.rowid WHERE words MATCH ? LIMIT 1000",
            (joined,),
        )
        return {row[0] for row in rows}

    def _read_sessions(self, rows: Iterable[Row], pieces_query: _PieceQuery) -> Iterator[FoundSession]:
        for row in rows:
            if row.source not in self._checked and not self.reader.is_exhausted:
                self._checked[row.source] = self._check_source(row, pieces_query)
            places, hits = self._checked.get(row.source, (0, []))
            if hits:
                yield self.reader.session(row._replace(places=places), hits)

    def _check_source(self, row: Row, pieces_query: _PieceQuery) -> tuple[int, list[Hit]]:
        """Return the number of matching places in a source and the best hits. Checked places count if all were checked."""
        pieces = self._pieces(row, pieces_query)
        hits = self.reader.hits(pieces, self._checks, self._options.hits)
        are_all = len(hits) < self._options.hits and not self.reader.is_exhausted
        return len(hits) if are_all else len(pieces), hits

    def _pieces(self, of: Row, pieces_query: _PieceQuery) -> list[int]:
        """Return the pieces of one source that contain all words, best first."""
        by = "p.at DESC, p.id DESC" if self._options.newest else "p.weight DESC, p.id DESC"
        rows = self._connection.execute(
            f"SELECT p.id FROM {pieces_query.table} WHERE {pieces_query.condition} AND {OF_SOURCE}"
            f" AND {pieces_query.id_column} BETWEEN ? AND ? ORDER BY {by}",
            [*pieces_query.values, of.source, of.first, of.last],
        ).fetchall()
        return [row[0] for row in rows]


class _Group(NamedTuple):
    """Alternative words as an FTS5 expression, and their weight; ``is_known`` if they occur anywhere."""

    words: str
    worth: float
    is_known: bool


def find_by_most_words(
    connection: sqlite3.Connection, reader: Reader, query: Query, options: SearchOptions
) -> Iterator[FoundSession]:
    """Yield sessions that contain at least half of the weight of all words, wherever in them."""
    groups = _weigh_groups(connection, query)
    total = sum(group.worth for group in groups)
    if sum(group.worth for group in groups if group.is_known) < total * _MIN_SHARE:
        return
    refused = exclusion_checks(query)
    for row in rank(_rank_rows(connection, query, groups), options):
        if hits := reader.hits(_best_pieces(connection, row, query, groups), refused, options.hits):
            yield reader.session(row, hits)


def _rank_rows(connection: sqlite3.Connection, query: Query, groups: Sequence[_Group]) -> Iterator[Row]:
    conditions, values = _conditions(query)
    matching, given = _union("SELECT rowid AS id, ? AS w, ? AS g FROM words WHERE words MATCH ?", groups)
    rows = connection.execute(
        f"WITH m AS ({matching}), h AS (SELECT id, sum(w) AS w, group_concat(g) AS g FROM m GROUP BY id)"
        " SELECT p.source, max(h.w * p.weight), max(h.w), group_concat(DISTINCT h.g), count(*), s.modified_ns, min(p.id),"
        " max(p.id)"
        f" FROM h JOIN pieces p ON p.id = h.id JOIN sources s ON s.id = p.source WHERE {conditions} GROUP BY p.source",
        [*given, *values],
    ).fetchall()
    total = sum(group.worth for group in groups)
    for source, best, densest, seen, *rest in rows:
        share = sum(groups[int(number)].worth for number in {*seen.split(",")}) / total
        if share >= _MIN_SHARE:
            yield Row(source, share**2 * (best + densest) / total, *rest)


def _best_pieces(
    connection: sqlite3.Connection, row: Row, query: Query, groups: Sequence[_Group]
) -> Iterator[int]:
    """Yield the pieces of one source, those with the most weight first."""
    conditions, values = _conditions(query)
    matching, given = _union(
        "SELECT rowid AS id, ? AS w, ? AS g FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?",
        groups,
        (row.first, row.last),
    )
    rows = connection.execute(
        f"WITH m AS ({matching}), h AS (SELECT id, sum(w) AS w FROM m GROUP BY id)"
        " SELECT p.id FROM h JOIN pieces p ON p.id = h.id JOIN sources s ON s.id = p.source"
        f" WHERE {conditions} AND {OF_SOURCE} ORDER BY h.w * p.weight DESC",
        [*given, *values, row.source],
    )
    return (piece for (piece,) in rows)


def _union(part: str, groups: Sequence[_Group], last: Sequence[object] = ()) -> tuple[str, list[object]]:
    """Return SQL for the pieces of each group with its weight and number, and the values."""
    values = [value for at, group in enumerate(groups) for value in (group.worth, at, group.words, *last)]
    return " UNION ALL ".join([part] * len(groups)), values


def _conditions(query: Query) -> tuple[str, list[object]]:
    (filters, values), (refused, given) = filter_sql(query), exclusion_sql(query)
    return f"{filters} AND {refused}", [*values, *given]


def _weigh_groups(connection: sqlite3.Connection, query: Query) -> list[_Group]:
    """Return the groups with their weight, without very common ones unless there are no others."""
    total = connection.execute("SELECT max(id) FROM pieces").fetchone()[0] or 1
    expressions = [words for group in query.groups if (words := expression((group,), ()))]
    counted = [(words, _pieces_with(connection, words)) for words in expressions]
    rare_enough = [each for each in counted if each[1] <= _MAX_PIECES] or counted
    return [
        _Group(words, math.log(1 + total / (count + 1)), is_known=count > 0) for words, count in rare_enough
    ]


def _pieces_with(connection: sqlite3.Connection, words: str) -> int:
    count: int = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)", (words, _MAX_PIECES + 1)
    ).fetchone()[0]
    return count


class ExpandedPrefixes(NamedTuple):
    """An expression with words in place of prefixes; the most common word is in ``max_count`` pieces."""

    common_words: str
    all_words: str
    max_count: int


def expand_prefixes(connection: sqlite3.Connection, expression: str) -> ExpandedPrefixes | None:
    """Replace the prefixes in an expression by the words of the index; None if these are too many.

    FTS5 collects the pieces of a prefix again for each query, which takes a tenth of a second if there are many.
    """
    common_words, all_words, max_count = expression, expression, 0
    for start in dict.fromkeys(re.findall(_PREFIX, expression)):
        words = connection.execute(
            "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?",
            (start, start + _AFTER_PREFIX, _MAX_WORDS + 1),
        ).fetchall()
        if len(words) > _MAX_WORDS:
            return None
        if words:  # else it stays a prefix, which matches nothing
            first = sorted(words, key=lambda each: -each[1])[:_COMMON_WORDS]
            max_count = max(max_count, first[0][1])
            common_words = common_words.replace(f'"{start}"*', _any_of(first))
            all_words = all_words.replace(f'"{start}"*', _any_of(words))
    return ExpandedPrefixes(common_words, all_words, max_count)


def _any_of(words: list[tuple[str, int]]) -> str:
    return "(" + " OR ".join(f'"{word}"' for word, _ in words) + ")"
