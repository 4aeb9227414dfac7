"""Answering a query: which sessions hold it, best first, and where in each.

Words alone find candidates; what words cannot tell (phrases, beginnings, neighbours) is then looked up in the texts, only as
far down the ranking as is shown. A session is worth its best piece, a little more for each further one, and more the fresher
it is. Where no piece holds all words, sessions that hold the most telling of them are given, and that is said.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from leftoff.library.blocks import unpacked
from leftoff.library.query import Query, Term, expression
from leftoff.library.words import pattern

_DAY_SECONDS = 86_400
_HALF_LIFE_DAYS = 120.0
_NEIGHBOURS = 1.6
_MOST_LOOKS = 4000  # texts looked at for one query; a common phrase is found long before
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
    """What was found. ``complete`` is False where no piece holds all words, and these hold most of them."""

    sessions: tuple[FoundSession, ...]
    complete: bool


class Order(NamedTuple):
    """How much is wanted, and in which order."""

    limit: int
    hits: int
    newest: bool
    now: int  # seconds since 1970


def found(shelf: sqlite3.Connection, query: Query, order: Order) -> Answers:
    """The sessions that answer the query."""
    wanted = query.telling
    finder = _Finder(shelf, wanted, order, asked=query)
    sessions = finder.all_words()
    if len(sessions) >= order.limit or len(wanted.groups) < 2:
        return Answers(tuple(sessions), complete=True)
    known = {session.path for session in sessions}
    lowest = sessions[-1].score if sessions else math.inf
    more = (
        each._replace(score=min(each.score, lowest)) for each in finder.most_words() if each.path not in known
    )
    return Answers((*sessions, *islice(more, order.limit - len(sessions))), complete=bool(sessions))


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
        self._looks = 0

    def all_words(self) -> list[FoundSession]:
        """Sessions with a piece that holds all of it."""
        words = expression(self._query.groups, self._query.without)
        where, values = self._where()
        if words is None:
            condition, given = self._without()
            matched, where, values = "pieces p", f"{where} AND {condition}", [*values, *given]
        else:
            matched, where, values = (
                "words JOIN pieces p ON p.id = words.rowid",
                f"words MATCH ? AND {where}",
                [words, *values],
            )
        rows = self._shelf.execute(
            f"SELECT p.source, max(p.weight), count(*), s.modified_ns, min(p.id), max(p.id) FROM {matched}"
            f" JOIN sources s ON s.id = p.source WHERE {where} GROUP BY p.source",
            values,
        )
        neighbours = self._with_neighbours()
        ranked = self._ranked(
            [
                row._replace(best=row.best * _NEIGHBOURS if row.source in neighbours else row.best)
                for row in map(_Row._make, rows)
            ]
        )
        return [*self._told(ranked, matched, where, values, self._checks())]

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
        groups = [group for group in self._query.groups if expression((group,), ())]
        where, values = self._where()
        condition, refused = self._without()
        where, values = f"{where} AND {condition}", [*values, *refused]
        if not groups:
            return
        total = self._shelf.execute("SELECT max(id) FROM pieces").fetchone()[0] or 1
        worth = [self._worth(group, total) for group in groups]
        parts, given = [], []
        for group, value in zip(groups, worth, strict=True):
            parts.append("SELECT rowid AS id, ? AS w, ? AS g FROM words WHERE words MATCH ?")
            given += [value, len(parts), expression((group,), ())]
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

    def _worth(self, group: Sequence[Term], total: int) -> float:
        """How much finding it tells: the rarer the more."""
        count = self._shelf.execute(
            "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT 200000)",
            (expression((tuple(group),), ()),),
        ).fetchone()[0]
        return math.log(1 + total / (count + 1))

    def _densest(self, row: _Row, groups: Sequence[tuple[Term, ...]], worth: Sequence[float]) -> list[Hit]:
        """The pieces of one source that hold the most telling words."""
        where, values = self._where()
        part = "SELECT rowid AS id, ? AS w FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?"
        given: list[object] = []
        for group, value in zip(groups, worth, strict=True):
            given += [value, expression((group,), ()), row.first, row.last]
        rows = self._shelf.execute(
            f"WITH m AS ({' UNION ALL '.join([part] * len(groups))}), h AS (SELECT id, sum(w) AS w FROM m GROUP BY id)"
            f" SELECT {_PIECES} FROM h JOIN pieces p ON p.id = h.id JOIN sources s ON s.id = p.source"
            f" WHERE {where} AND p.source = ? ORDER BY h.w * p.weight DESC LIMIT ?",
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
        self, rows: Sequence[_Row], matched: str, where: str, values: Sequence[object], checks: list[_Check]
    ) -> Iterator[FoundSession]:
        given = 0
        for row in rows:
            if given >= self._order.limit or self._looks > _MOST_LOOKS:
                return
            hits = [*self._hits(row, matched, where, values, checks)]
            if hits:
                given += 1
                yield self._session(row, hits)

    def _hits(
        self, of: _Row, matched: str, where: str, values: Sequence[object], checks: list[_Check]
    ) -> Iterator[Hit]:
        by = "p.at DESC, p.id DESC" if self._order.newest else "p.weight DESC, p.id DESC"
        rows = self._shelf.execute(
            f"SELECT {_PIECES} FROM {matched} JOIN sources s ON s.id = p.source WHERE {where} AND p.source = ?"
            f" AND {'words.rowid' if matched.startswith('words') else 'p.id'} BETWEEN ? AND ? ORDER BY {by}",
            [*values, of.source, of.first, of.last],
        )
        given = 0
        for row in rows:
            if given >= self._order.hits or self._looks > _MOST_LOOKS:
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
        self._looks += 1
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
        conditions = [("1", []), *_of_source(self._query), *_of_piece(self._query)]
        return " AND ".join(each for each, _ in conditions), [
            value for _, values in conditions for value in values
        ]


def _of_source(query: Query) -> Iterator[tuple[str, list[object]]]:
    """What is asked of the session."""
    if query.agent is not None:
        yield "s.agent = ?", [query.agent]
    if query.project is not None:
        yield "s.project LIKE ? ESCAPE '!'", [f"%{_escaped(query.project.rstrip('/'))}%"]


def _of_piece(query: Query) -> Iterator[tuple[str, list[object]]]:
    """What is asked of the piece."""
    if query.tool is not None:
        yield "lower(p.tool) = ?", [query.tool.lower()]
    if query.kinds:
        yield f"p.kind IN ({', '.join('?' * len(query.kinds))})", [*query.kinds]
    if query.since is not None:
        yield "coalesce(p.at, s.modified_ns / 1000000000) >= ?", [query.since]
    if query.before is not None:
        yield "coalesce(p.at, s.modified_ns / 1000000000) < ?", [query.before]
    if query.errors is not None:
        yield "p.failed = 1" if query.errors else "p.failed IS NOT 1", []
    if query.file is not None:
        yield touching(query.file)


def touching(path: str) -> tuple[str, list[object]]:
    """The condition that a piece touched a file: of that name, or of that path from its end on."""
    named = path.replace("\\", "/").removeprefix("./")
    name = named.rpartition("/")[2]
    return (
        "p.id IN (SELECT t.piece FROM paths f JOIN touches t ON t.path = f.id WHERE f.name = ?"
        " AND (f.path = ? OR f.path LIKE ? ESCAPE '!'))",
        [name, named, f"%/{_escaped(named)}"],
    )


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
        self._patterns = [_pattern(term) for term in terms]
        self._wants = wants

    def holds(self, text: str) -> bool:
        return any(each.search(text) for each in self._patterns) == self._wants


def _pattern(term: Term) -> re.Pattern[str]:
    return pattern(term.text, is_prefix=term.is_prefix)


def _escaped(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
