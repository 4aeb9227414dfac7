"""What an answer is made of, how it is read from the library, and how answers are ranked.

A session is worth its best piece, a little more for each further one, and more the fresher it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from leftoff.library.blocks import Block, packed, unpacked
from leftoff.library.checks import Check
from leftoff.library.sqlite import sqlite3
from leftoff.model.tuples import NamedTuple

_DAY_SECONDS = 86_400
_HALF_LIFE_DAYS = 120.0
_GONE = Block(packed([]))


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
    """A source that answers, with its best hits and how many pieces of it do; ``has_more`` where not all of them were counted."""

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
    has_more: bool = False


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
    compared: int = 8_000  # pieces, for the ranking; where more hold all words, a sample of them
    looks: int = 10_000  # texts, a second of them; a common phrase is found long before
    looks_apart: int = 500  # for a name that no text has as a name


class Row(NamedTuple):
    """A source with what its matching pieces are worth together."""

    source: int
    best: float
    places: int
    modified_ns: int
    first: int  # its pieces lie between these two, and hardly another's: asking for them alone costs little
    last: int


class Reader:
    """Reads hits and sessions, and counts the texts that it looks at."""

    def __init__(self, shelf: sqlite3.Connection, looks: int) -> None:
        self._shelf, self._looks_left = shelf, looks
        self._blocks: dict[int, Block] = {}

    @property
    def is_spent(self) -> bool:
        """Whether as many texts were looked at as are allowed, so that others might answer too."""
        return self._looks_left < 0

    def hits(self, pieces: Iterable[int], checks: Sequence[Check], most: int) -> list[Hit]:
        """The first so many of the pieces of a source whose texts hold what they must."""
        self._blocks.clear()  # those of the source before
        found: list[Hit] = []
        for piece in pieces:
            if len(found) >= most or self.is_spent:
                break
            hit = self._hit(piece)
            if all(check.holds(hit.text) for check in checks):
                found.append(hit)
        return found

    def _hit(self, piece: int) -> Hit:
        block, slot, line, start, kind, weight, at, tool, failed, exit_code = self._shelf.execute(
            "SELECT block, slot, line, start, kind, weight, at, tool, failed, exit_code FROM pieces WHERE id = ?",
            (piece,),
        ).fetchone()
        ended = None if failed is None else bool(failed)
        return Hit(piece, line, start, kind, self._text(block, slot), weight, at, tool, ended, exit_code)

    def _text(self, block: int, slot: int) -> str:
        self._looks_left -= 1
        if block not in self._blocks:
            row = self._shelf.execute("SELECT data FROM blocks WHERE id = ?", (block,)).fetchone()
            self._blocks[block] = Block(row[0]) if row else _GONE
        return self._blocks[block].text(slot)

    def session(self, row: Row, hits: Sequence[Hit]) -> FoundSession:
        """The source of the row, with these hits."""
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


def ranked(rows: Iterable[Row], order: Order) -> list[Row]:
    """Best first, each with what it is worth; or newest first."""
    if order.newest:
        return sorted(rows, key=lambda row: -row.modified_ns)
    scored = (row._replace(best=_score(row, order.now)) for row in rows)
    return sorted(scored, key=lambda row: (-row.best, -row.modified_ns))


def _score(row: Row, now: int) -> float:
    days = max(0.0, now - row.modified_ns / 1e9) / _DAY_SECONDS
    freshness = 0.85 + 0.15 * math.exp2(-days / _HALF_LIFE_DAYS)
    return row.best * (1 + 0.25 * math.log1p(row.places - 1)) * freshness


def what_followed(shelf: sqlite3.Connection, piece: int, most: int) -> list[tuple[int, str, str, int | None]]:
    """The next words and calls of the session behind a piece: line, kind, text and exit code."""
    rows = shelf.execute(
        "SELECT p.line, p.kind, b.data, p.slot, p.exit_code FROM pieces p JOIN blocks b ON b.id = p.block"
        " WHERE p.source = (SELECT source FROM pieces WHERE id = ?) AND p.id > ? AND p.kind IN ('reply', 'call', 'command', 'prompt')"
        " ORDER BY p.id LIMIT ?",
        (piece, piece, most),
    )
    return [(line, kind, unpacked(data)[slot], exit_code) for line, kind, data, slot, exit_code in rows]
