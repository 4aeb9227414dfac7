"""Answering a query: which sessions hold it, best first, and where in each.

Words alone find candidates; what words cannot tell (phrases, beginnings, neighbours) is then looked up in the texts, only as
far down the ranking as is shown, and no more than so many: where that was not enough, it is said. A name is looked for as a name;
where no session has it so, its parts may stand apart. Where no piece holds all words, sessions that hold the most telling of them
are given, and that is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from leftoff.library.answers import Answers, FoundSession, Hit, Order, Reader, Row, ranked
from leftoff.library.checks import checks
from leftoff.library.filters import OF_SOURCE, conditions, where, without
from leftoff.library.query import Query, Term, expression
from leftoff.library.sqlite import sqlite3
from leftoff.model.tuples import NamedTuple

_NEIGHBOURS = 1.6
_TOGETHER = 8  # pieces; about thirty stand on one page, and a small session must not fall through


def found(shelf: sqlite3.Connection, query: Query, order: Order) -> Answers:
    """The sessions that answer the query."""
    wanted = query.telling
    finder = _Finder(shelf, wanted, order, asked=query)
    sessions, cut_short = finder.all_words(), finder.reader.is_spent
    if not sessions and expression(wanted.apart.groups, ()) != expression(wanted.groups, ()):
        apart = _Finder(shelf, wanted.apart, order._replace(looks=order.looks_apart), asked=query)
        sessions, cut_short = apart.all_words(), cut_short or apart.reader.is_spent
    if len(sessions) >= order.limit:
        return Answers(tuple(sessions), complete=True)
    if len(wanted.groups) < 2:
        return Answers(tuple(sessions), complete=True, cut_short=cut_short)
    from leftoff.library.nearly import most_words  # noqa: PLC0415 - few searches come so far

    known = {session.path for session in sessions}
    lowest = sessions[-1].score if sessions else math.inf
    more = (
        each._replace(score=min(each.score, lowest))
        for each in most_words(shelf, Reader(shelf, order.looks), wanted, order)
        if each.path not in known
    )
    answers = (*sessions, *islice(more, order.limit - len(sessions)))
    return Answers(answers, complete=bool(sessions), cut_short=cut_short)


class _Question(NamedTuple):
    """Which pieces are asked for, in SQL: from what, on which condition with which values; ``place`` is their number in it."""

    matched: str
    condition: str
    values: list[object]
    place: str = "words.rowid"

    @classmethod
    def of_words(cls, words: str, query: Query) -> _Question:
        """The pieces that hold words, in FTS5's language."""
        return cls._joined("words", "words MATCH ?", [words], query)

    @classmethod
    def of_gathered(cls, shelf: sqlite3.Connection, words: str, query: Query) -> _Question:
        """The same where so much begins so that it is gathered once, and kept for all that is asked of it."""
        shelf.execute("PRAGMA query_only = OFF")  # the table is in memory, and this connection's alone
        shelf.execute("DROP TABLE IF EXISTS temp.begun")
        shelf.execute("CREATE TEMP TABLE begun (id INTEGER PRIMARY KEY)")
        shelf.execute("INSERT INTO temp.begun SELECT rowid FROM words WHERE words MATCH ?", (words,))
        shelf.execute("PRAGMA query_only = ON")
        return cls._joined("temp.begun AS words", "1", [], query)

    @classmethod
    def _joined(cls, table: str, condition: str, given: list[object], query: Query) -> _Question:
        filters, values = where(query)
        # In this order, whatever SQLite guesses of their sizes.
        matched = f"{table} CROSS JOIN pieces p ON p.id = words.rowid{_sources(query)}"
        return cls(matched, f"{condition} AND {filters}", [*given, *values])

    @classmethod
    def of_all(cls, query: Query) -> _Question:
        """Every piece, where no word narrows it down."""
        (filters, values), (refused, given) = where(query), without(query)
        return cls(f"pieces p{_sources(query)}", f"{filters} AND {refused}", [*values, *given], "p.id")


def _sources(query: Query) -> str:
    """The sources of the pieces, where a filter asks for them."""
    return " JOIN sources s ON s.id = p.source" if query.asks_of_session else ""


class _Finder:
    def __init__(self, shelf: sqlite3.Connection, query: Query, order: Order, *, asked: Query) -> None:
        self._shelf, self._query, self._order, self._asked = shelf, query, order, asked
        self._checks = checks(query)
        self._looked: dict[int, tuple[int, list[Hit]]] = {}  # by source: nothing is looked at twice
        self.reader = Reader(shelf, order.looks)

    def all_words(self) -> list[FoundSession]:
        """Sessions with a piece that holds all of it."""
        words = expression(self._query.groups, self._query.without)
        if words is None:
            return self._found(_Question.of_all(self._query), 1)
        if "*" in words:
            return self._begun(words)
        return self._of(_Question.of_words(words, self._query))

    def _begun(self, words: str) -> list[FoundSession]:
        """The same for what begins so: by its most common words where these stand in many pieces, else by all."""
        from leftoff.library.beginnings import spelled_out  # noqa: PLC0415 - few searches need it

        spelled = spelled_out(self._shelf, words)
        if spelled is None:
            return self._of(_Question.of_gathered(self._shelf, words, self._query))
        common, every = (_Question.of_words(each, self._query) for each in (spelled.common, spelled.every))
        is_alone = " AND " not in words and " NOT " not in words  # so at least that many pieces hold it
        if (step := self._step_of(spelled.most) if is_alone else self._step(common)) > 1:
            sessions = self._found(common, step)
            if self._are_enough(sessions):
                return [session._replace(has_more=common != every) for session in sessions]
            self._looked.clear()  # it may have other places by other words
        return self._of(every)

    def _of(self, question: _Question) -> list[FoundSession]:
        """By a sample, where that is enough."""
        step = self._step(question)
        sessions = self._found(question, step)
        return sessions if step == 1 or self._are_enough(sessions) else self._found(question, 1)

    def _are_enough(self, sessions: Sequence[FoundSession]) -> bool:
        return len(sessions) >= self._order.limit or self.reader.is_spent

    def _step(self, question: _Question) -> int:
        """Of how many pieces one is compared: of all, unless the words stand in so many that comparing them tells little."""
        if self._takes_all():
            return 1
        matching = question.matched.partition(" CROSS JOIN ")[0]
        count = self._shelf.execute(
            f"SELECT count(*) FROM {matching} WHERE {question.condition}", question.values
        ).fetchone()[0]
        return self._step_of(count)

    def _step_of(self, count: int) -> int:
        return 1 if self._takes_all() else 1 + count // self._order.compared

    def _takes_all(self) -> bool:
        return self._order.newest or bool(conditions(self._query))

    def _found(self, question: _Question, step: int) -> list[FoundSession]:
        # Pieces that lie together are read together: a sample of single ones would read nearly every page.
        sample = f" AND {question.place} / {_TOGETHER} % {step} = 0" if step > 1 else ""
        rows = self._shelf.execute(
            "SELECT g.*, s.modified_ns FROM (SELECT p.source, max(p.weight), count(*), min(p.id), max(p.id)"
            f" FROM {question.matched} WHERE {question.condition}{sample} GROUP BY p.source) g"
            " JOIN sources s ON s.id = g.source",
            question.values,
        )
        neighbours = self._with_neighbours()
        worth = (
            Row(source, best * (_NEIGHBOURS if source in neighbours else 1), count * step, at, first, last)
            for source, best, count, first, last, at in rows
        )
        best_first: Iterable[Row] = ranked(worth, self._order)
        if step > 1:
            best_first = (self._whole(row) for row in best_first if not self.reader.is_spent)
        return [*islice(self._told(best_first, question), self._order.limit)]

    def _whole(self, row: Row) -> Row:
        """Where all pieces of a source lie of which a sample is known."""
        # Asked for both at once, SQLite would go through all pieces of the source.
        first, last = self._shelf.execute(
            "SELECT (SELECT min(id) FROM pieces WHERE source = ?1), (SELECT max(id) FROM pieces WHERE source = ?1)",
            (row.source,),
        ).fetchone()
        return row._replace(first=first, last=last)

    def _with_neighbours(self) -> set[int]:
        """The sources in which the words stand as one name: ``parse user name`` means ``parseUserName`` before all else."""
        words = [term.text for term in self._asked.terms]
        if not 2 <= len(words) <= 6:
            return set()
        joined = Term("".join(words)).expression
        if joined is None:
            return set()
        rows = self._shelf.execute(
            "SELECT DISTINCT p.source FROM words JOIN pieces p ON p.id = words.rowid WHERE words MATCH ? LIMIT 1000",
            (joined,),
        )
        return {row[0] for row in rows}

    def _told(self, rows: Iterable[Row], question: _Question) -> Iterator[FoundSession]:
        for row in rows:
            if row.source not in self._looked and not self.reader.is_spent:
                self._looked[row.source] = self._look(row, question)
            places, hits = self._looked.get(row.source, (0, []))
            if hits:
                yield self.reader.session(row._replace(places=places), hits)

    def _look(self, row: Row, question: _Question) -> tuple[int, list[Hit]]:
        """How many places a source has, and the best of them. Where all texts with the words were looked at, those count that hold."""
        pieces = self._pieces(row, question)
        hits = self.reader.hits(pieces, self._checks, self._order.hits)
        are_all = len(hits) < self._order.hits and not self.reader.is_spent
        return len(hits) if are_all else len(pieces), hits

    def _pieces(self, of: Row, question: _Question) -> list[int]:
        """The pieces of one source that hold all words, best first."""
        by = "p.at DESC, p.id DESC" if self._order.newest else "p.weight DESC, p.id DESC"
        rows = self._shelf.execute(
            f"SELECT p.id FROM {question.matched} WHERE {question.condition} AND {OF_SOURCE}"
            f" AND {question.place} BETWEEN ? AND ? ORDER BY {by}",
            [*question.values, of.source, of.first, of.last],
        ).fetchall()
        return [row[0] for row in rows]
