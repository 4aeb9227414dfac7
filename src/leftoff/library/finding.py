"""Answering a query: which sessions hold it, best first, and where in each.

Words alone find candidates; what words cannot tell (phrases, beginnings, neighbours) is then looked up in the texts, only as
far down the ranking as is shown, and no more than so many: where that was not enough, it is said. A name is looked for as a name; where no session has it so, its parts may stand apart. A
session is worth its best piece, a little more for each further one, and more the fresher it is. Where no piece holds all words,
sessions that hold the most telling of them are given, and that is said.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from leftoff.library.blocks import unpacked
from leftoff.library.filters import conditions
from leftoff.library.query import Query, Term, expression
from leftoff.library.words import pattern, sieve

_DAY_SECONDS = 86_400
_HALF_LIFE_DAYS = 120.0
_NEIGHBOURS = 1.6
_TOGETHER = 8  # pieces; about thirty stand on one page, and a small session must not fall through
_MOST_PIECES = 50_000  # what stands in more pieces tells nothing where other words do
# The plus keeps SQLite from going through the source's pieces and asking for the words anew at each: 300 times as slow.
_OF_SOURCE = "+p.source = ?"
_PIECES = (
    "p.id, p.source, p.block, p.slot, p.line, p.start, p.kind, p.weight, p.at, p.tool, p.failed, p.exit_code"
)


class Hit(NamedTuple):
    """A piece that answers; ``line`` is 1-based, ``offset`` the byte its record starts at."""

    piece: int
    line: int
    offset: int
    kind: str
    text: str
    score: float
    at: int | None
    tool: str | None
    failed: bool | None
    exit_code: int | None


class FoundSession(NamedTuple):
    """A source that answers, with its best hits and how many pieces of it do."""

    type: str
    path: str
    agent: str | None
    session_id: str | None
    project: str | None
    title: str | None
    modified_ns: int
    archived: bool
    score: float
    places: int
    hits: tuple[Hit, ...]


class Answers(NamedTuple):
    """What was found. ``complete`` is False where no piece holds all words, and these hold most of them; ``cut_short`` is True
    where there were more texts that might hold it than are looked at."""

    sessions: tuple[FoundSession, ...]
    complete: bool
    cut_short: bool = False


class Order(NamedTuple):
    """How much is wanted, and in which order."""

    limit: int
    hits: int
    newest: bool
    now: int  # seconds since 1970
    compared: int = 15_000  # pieces, for the ranking; where more hold all words, a sample of them
    looks: int = (
        10_000  # texts looked at for one query, a second of them; a common phrase is found long before
    )
    looks_apart: int = 500  # for a name that no text has as a name


def found(shelf: sqlite3.Connection, query: Query, order: Order) -> Answers:
    """The sessions that answer the query."""
    wanted = query.telling
    finder = _Finder(shelf, wanted, order, asked=query)
    sessions, cut_short = finder.all_words(), finder.is_spent
    if not sessions and expression(wanted.apart.groups, ()) != expression(wanted.groups, ()):
        apart = _Finder(shelf, wanted.apart, order._replace(looks=order.looks_apart), asked=query)
        sessions, cut_short = apart.all_words(), cut_short or apart.is_spent
    if len(sessions) >= order.limit:
        return Answers(tuple(sessions), complete=True)
    if len(wanted.groups) < 2:
        return Answers(tuple(sessions), complete=True, cut_short=cut_short)
    known = {session.path for session in sessions}
    lowest = sessions[-1].score if sessions else math.inf
    more = (
        each._replace(score=min(each.score, lowest)) for each in finder.most_words() if each.path not in known
    )
    found = (*sessions, *islice(more, order.limit - len(sessions)))
    return Answers(found, complete=bool(sessions), cut_short=cut_short)


class _Row(NamedTuple):
    """A source with what its matching pieces are worth together."""

    source: int
    best: float
    places: int
    modified_ns: int
    first: int  # its pieces lie between these two, and hardly another's: asking for them alone costs little
    last: int


class _Finder:
    def __init__(self, shelf: sqlite3.Connection, query: Query, order: Order, *, asked: Query) -> None:
        self._shelf, self._query, self._order, self._asked = shelf, query, order, asked
        self._blocks: dict[int, list[str]] = {}
        self._looks_left = order.looks
        self._looked: dict[
            int, list[Hit]
        ] = {}  # by source; one whose texts were looked at is not looked at again

    @property
    def is_spent(self) -> bool:
        """Whether as many texts were looked at as are allowed, so that others might answer too."""
        return self._looks_left < 0

    def all_words(self) -> list[FoundSession]:
        """Sessions with a piece that holds all of it."""
        words = expression(self._query.groups, self._query.without)
        where, values = self._where()
        if words is None:
            condition, given = self._without()
            matched, where, values, step = "pieces p", f"{where} AND {condition}", [*values, *given], 1
        else:
            table, condition, given = self._matching(words)
            matched = f"{table} CROSS JOIN pieces p ON p.id = words.rowid"  # in this order, whatever is guessed of their sizes
            where, values = f"{condition} AND {where}", [*given, *values]
            step = self._step(f"{table} WHERE {condition}", given)
        sessions = self._found(matched, where, values, step)
        if step > 1 and len(sessions) < self._order.limit and not self.is_spent:
            return self._found(matched, where, values, 1)
        return sessions

    def _matching(self, words: str) -> tuple[str, str, list[object]]:
        """The table ``words`` to take them from, the condition and its values.

        What begins so is gathered anew for each question, which takes a tenth of a second where there is much: so it is asked
        once, and the answer kept for the other questions.
        """
        if "*" not in words:
            return "words", "words MATCH ?", [words]
        self._shelf.execute("PRAGMA query_only = OFF")  # the table is in memory, and this connection's alone
        self._shelf.execute("DROP TABLE IF EXISTS temp.begun")
        self._shelf.execute("CREATE TEMP TABLE begun (id INTEGER PRIMARY KEY)")
        self._shelf.execute("INSERT INTO temp.begun SELECT rowid FROM words WHERE words MATCH ?", (words,))
        self._shelf.execute("PRAGMA query_only = ON")
        return "temp.begun AS words", "1", []

    def _step(self, matching: str, given: Sequence[object]) -> int:
        """Of how many pieces one is compared: of all, unless the words stand in so many that comparing them tells little."""
        if self._order.newest or conditions(self._query):
            return 1
        count = self._shelf.execute(f"SELECT count(*) FROM {matching}", given).fetchone()[0]
        return 1 + int(count) // self._order.compared

    def _found(self, matched: str, where: str, values: Sequence[object], step: int) -> list[FoundSession]:
        sources = " JOIN sources s ON s.id = p.source" if self._query.asks_of_session else ""
        # Pieces that lie together are read together: a sample of single ones would read nearly every page.
        sample = f" AND words.rowid / {_TOGETHER} % {step} = 0" if step > 1 else ""
        rows = self._shelf.execute(
            "SELECT g.*, s.modified_ns FROM (SELECT p.source, max(p.weight), count(*), min(p.id), max(p.id)"
            f" FROM {matched}{sources} WHERE {where}{sample} GROUP BY p.source) g JOIN sources s ON s.id = g.source",
            values,
        )
        neighbours = self._with_neighbours()
        found = (
            _Row(source, best * (_NEIGHBOURS if source in neighbours else 1), count * step, at, first, last)
            for source, best, count, first, last, at in rows
        )
        ranked: Iterable[_Row] = self._ranked([*found])
        if step > 1:
            ranked = (self._whole(row, matched, where, values) for row in ranked if not self.is_spent)
        return [*self._told(ranked, matched, where, values, self._checks())]

    def _whole(self, row: _Row, matched: str, where: str, values: Sequence[object]) -> _Row:
        """What is known of a source by a sample of its pieces, put right."""
        first, last = self._shelf.execute(
            "SELECT min(id), max(id) FROM pieces WHERE source = ?", (row.source,)
        ).fetchone()
        places = self._shelf.execute(
            f"SELECT count(*) FROM {matched} WHERE {where} AND {_OF_SOURCE} AND words.rowid BETWEEN ? AND ?",
            [*values, row.source, first, last],
        ).fetchone()[0]
        return row._replace(first=first, last=last, places=places)

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

    def most_words(self) -> Iterator[FoundSession]:
        """Sessions with the most telling of the words, wherever in them; at least half of what all of them tell."""
        where, values = self._where()
        condition, refused = self._without()
        where, values = f"{where} AND {condition}", [*values, *refused]
        groups = self._telling()
        if not groups:
            return
        total = self._shelf.execute("SELECT max(id) FROM pieces").fetchone()[0] or 1
        worth = [math.log(1 + total / (count + 1)) for _, count in groups]
        if sum(each for each, (_, count) in zip(worth, groups, strict=True) if count) < sum(worth) / 2:
            return
        parts, given = [], []
        for (words, _), value in zip(groups, worth, strict=True):
            parts.append("SELECT rowid AS id, ? AS w, ? AS g FROM words WHERE words MATCH ?")
            given += [value, len(parts), words]
        rows = self._shelf.execute(
            f"WITH m AS ({' UNION ALL '.join(parts)}), h AS (SELECT id, sum(w) AS w, group_concat(g) AS g FROM m GROUP BY id)"
            f" SELECT p.source, max(h.w * p.weight), max(h.w), group_concat(DISTINCT h.g), count(*), s.modified_ns, min(p.id),"
            f" max(p.id)"
            f" FROM h JOIN pieces p ON p.id = h.id JOIN sources s ON s.id = p.source WHERE {where} GROUP BY p.source",
            [*given, *values],
        ).fetchall()
        scored = []
        for source, best, densest, seen, *rest in rows:
            share = sum(worth[int(number) - 1] for number in {*seen.split(",")}) / sum(worth)
            if share >= 0.5:
                scored.append(_Row(source, share**2 * (best + densest) / sum(worth), *rest))
        for row in self._ranked(scored):
            yield self._session(row, self._densest(row, groups, worth))

    def _telling(self) -> list[tuple[str, int]]:
        """What is asked for, and in how many pieces it is; without what is everywhere, unless there is nothing else."""
        asked = [words for group in self._query.groups if (words := expression((group,), ()))]
        counted = [(words, self._pieces_with(words)) for words in asked]
        return [each for each in counted if each[1] <= _MOST_PIECES] or counted

    def _pieces_with(self, words: str) -> int:
        count: int = self._shelf.execute(
            "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)",
            (words, _MOST_PIECES + 1),
        ).fetchone()[0]
        return count

    def _densest(self, row: _Row, groups: Sequence[tuple[str, int]], worth: Sequence[float]) -> list[Hit]:
        """The pieces of one source that hold the most telling words."""
        where, values = self._where()
        part = "SELECT rowid AS id, ? AS w FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?"
        given: list[object] = []
        for (words, _), value in zip(groups, worth, strict=True):
            given += [value, words, row.first, row.last]
        rows = self._shelf.execute(
            f"WITH m AS ({' UNION ALL '.join([part] * len(groups))}), h AS (SELECT id, sum(w) AS w FROM m GROUP BY id)"
            f" SELECT {_PIECES} FROM h JOIN pieces p ON p.id = h.id JOIN sources s ON s.id = p.source"
            f" WHERE {where} AND {_OF_SOURCE} ORDER BY h.w * p.weight DESC LIMIT ?",
            [*given, *values, row.source, self._order.hits],
        )
        return [self._hit(each) for each in rows]

    def _ranked(self, rows: Iterator[_Row] | Sequence[_Row]) -> list[_Row]:
        if self._order.newest:
            return sorted(rows, key=lambda row: -row.modified_ns)
        return sorted(
            (row._replace(best=self._score(row)) for row in rows),
            key=lambda row: (-row.best, -row.modified_ns),
        )

    def _score(self, row: _Row) -> float:
        days = max(0.0, self._order.now - row.modified_ns / 1e9) / _DAY_SECONDS
        freshness = 0.85 + 0.15 * math.exp2(-days / _HALF_LIFE_DAYS)
        return row.best * (1 + 0.25 * math.log1p(row.places - 1)) * freshness

    def _told(
        self, rows: Iterable[_Row], matched: str, where: str, values: Sequence[object], checks: list[_Check]
    ) -> Iterator[FoundSession]:
        given = 0
        for row in rows:
            if given >= self._order.limit:
                return
            if row.source not in self._looked and not self.is_spent:
                self._blocks.clear()  # those of the session before
                self._looked[row.source] = [*self._hits(row, matched, where, values, checks)]
            if hits := self._looked.get(row.source):
                given += 1
                yield self._session(row, hits)

    def _hits(
        self, of: _Row, matched: str, where: str, values: Sequence[object], checks: list[_Check]
    ) -> Iterator[Hit]:
        by = "p.at DESC, p.id DESC" if self._order.newest else "p.weight DESC, p.id DESC"
        rows = self._shelf.execute(
            f"SELECT {_PIECES} FROM {matched} JOIN sources s ON s.id = p.source WHERE {where} AND {_OF_SOURCE}"
            f" AND {'p.id' if matched == 'pieces p' else 'words.rowid'} BETWEEN ? AND ? ORDER BY {by}",
            [*values, of.source, of.first, of.last],
        )
        given = 0
        for row in rows:
            if given >= self._order.hits or self.is_spent:
                return
            hit = self._hit(row)
            if all(check.holds(hit.text) for check in checks):
                given += 1
                yield hit

    def _hit(self, row: Sequence[object]) -> Hit:
        number, _, block, slot, line, start, kind, weight, at, tool, failed, exit_code = row
        ended = None if failed is None else bool(failed)
        return Hit(number, line, start, kind, self._text(block, slot), weight, at, tool, ended, exit_code)  # type: ignore[arg-type]

    def _text(self, block: object, slot: object) -> str:
        assert isinstance(block, int)
        assert isinstance(slot, int)
        self._looks_left -= 1
        if block not in self._blocks:
            row = self._shelf.execute("SELECT data FROM blocks WHERE id = ?", (block,)).fetchone()
            self._blocks[block] = unpacked(row[0]) if row else []
        texts = self._blocks[block]
        return texts[slot] if slot < len(texts) else ""

    def _session(self, row: _Row, hits: Sequence[Hit]) -> FoundSession:
        type_, path, agent, session_id, project, title, modified_ns, archived = self._shelf.execute(
            "SELECT type, path, agent, session_id, project, title, modified_ns, archived FROM sources WHERE id = ?",
            (row.source,),
        ).fetchone()
        return FoundSession(
            type=type_,
            path=path,
            agent=agent,
            session_id=session_id,
            project=project,
            title=title,
            modified_ns=modified_ns,
            archived=bool(archived),
            score=round(row.best, 4),
            places=row.places,
            hits=tuple(hits),
        )

    def _without(self) -> tuple[str, list[object]]:
        """What must not be there, where no words are asked for that it could be taken from."""
        terms = [term for term in self._query.without if not term.needs_look and term.expression]
        condition = "p.id NOT IN (SELECT rowid FROM words WHERE words MATCH ?)"
        return " AND ".join(["1", *[condition] * len(terms)]), [term.expression for term in terms]

    def _checks(self) -> list[_Check]:
        """What the texts themselves must be asked."""
        groups = [
            _Check(group, wants=True)
            for group in self._query.groups
            if any(term.needs_look for term in group)
        ]
        return [*groups, *(_Check((term,), wants=False) for term in self._query.without if term.needs_look)]

    def _where(self) -> tuple[str, list[object]]:
        """The filters in SQL."""
        asked = [("1", []), *conditions(self._query)]
        return " AND ".join(each for each, _ in asked), [value for _, values in asked for value in values]


def what_followed(shelf: sqlite3.Connection, piece: int, most: int) -> list[tuple[int, str, str, int | None]]:
    """The next words and calls of the session behind a piece: line, kind, text and exit code."""
    rows = shelf.execute(
        "SELECT p.line, p.kind, b.data, p.slot, p.exit_code FROM pieces p JOIN blocks b ON b.id = p.block"
        " WHERE p.source = (SELECT source FROM pieces WHERE id = ?) AND p.id > ? AND p.kind IN ('reply', 'call', 'command', 'prompt')"
        " ORDER BY p.id LIMIT ?",
        (piece, piece, most),
    )
    return [(line, kind, unpacked(data)[slot], exit_code) for line, kind, data, slot, exit_code in rows]


class _Check:
    """Whether a text holds any of the terms."""

    def __init__(self, terms: Sequence[Term], *, wants: bool) -> None:
        self._patterns = [(sieve(term.text), pattern(term.text, is_prefix=term.is_prefix)) for term in terms]
        self._wants = wants

    def holds(self, text: str) -> bool:
        folded = text.casefold()
        found = any(may.search(folded) and each.search(text) for may, each in self._patterns)
        return found == self._wants
