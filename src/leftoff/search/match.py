"""Find the sessions that match a query, best first.

SQLite ranks pieces by bm25, for any of the words. A session is worth its best piece together with the pieces before and after
it, plus how well its words match as a whole, and more if one piece has all the words and the newer it is.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from leftoff.search.pieces import PIECE_BITS, WEIGHTS, unpack_text
from leftoff.search.query import Query, all_words, any_word, filter_sql

_DAY_SECONDS = 86_400
_HALF_LIFE_DAYS = 120.0
_AGE_SHARE = 0.15  # of a score that a session loses with age
_MAX_RANKED = 2_000  # pieces
_MAX_COUNTED = 20_000  # pieces; a word that is in more is left out if there are others
_MAX_COMPARED = 30_000  # pieces; of more, a sample is ranked, in runs of consecutive pieces
_NEIGHBOUR_SHARE = 0.3  # of the scores of the pieces before and after
_SESSION_SHARE = 2.0  # of the score of the whole session
_WORDS_SHARE = 0.5  # what a piece gains if all words are in it or beside it
_ALL_WORDS_FACTOR = 1.3
_SATURATION = 3.0
_LENGTH_SHARE = 0.75  # the usual constants of bm25
_BM25 = "bm25(words, 1.0, 0.6)"  # of the text and of the parts of names
_LAST_PIECE = (1 << PIECE_BITS) - 1
_JOINED = f"pieces p JOIN sources s ON s.id = p.id >> {PIECE_BITS}"


class Hit(NamedTuple):
    """A piece that matches; ``line`` is 1-based, ``offset`` the byte where its record starts."""

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
    """A source that matches, its best hits and the number of matching pieces."""

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
    """The matching sessions. ``complete`` is False if no piece contains all words; ``words`` is what was searched, for FTS5."""

    sessions: tuple[FoundSession, ...]
    complete: bool
    words: str | None = None


class SearchOptions(NamedTuple):
    """How many results are wanted, and their order."""

    limit: int
    hits: int
    newest: bool
    now: int  # seconds since 1970


class _Candidate(NamedTuple):
    """A source with its score, and the scores of its pieces."""

    source: int
    score: float
    pieces: Mapping[int, float]
    has_all: bool
    modified_ns: int


def find_sessions(connection: sqlite3.Connection, query: Query, options: SearchOptions) -> Answers:
    """Return the sessions that match the query."""
    query = query.without_common_words
    if not query.groups:
        return Answers(tuple(_list_filtered(connection, query, options)), complete=True)
    words = _places_of_words(connection, query)
    full, any_of = all_words(query), any_word(query, [each.expression for each in words])
    places = _places(connection, full, query)
    searched = any_of if len(places) < options.limit else full
    scores = _piece_scores(connection, searched, query, newest=options.newest)
    if searched != full:  # which may be ranked lower where there are many pieces
        scores |= _piece_scores(connection, full, query, newest=options.newest)
    if not scores and (words_alone := query.without_phrases) != query:
        return find_sessions(connection, words_alone, options)._replace(complete=False)
    candidates = _rank(_candidates(connection, words, scores, places, options), options)
    sessions = []
    for each in candidates[: options.limit]:
        best = sorted(each.pieces, key=lambda piece: (-each.pieces[piece], piece))[: options.hits]
        hits = [hit._replace(score=round(each.pieces[hit.piece], 4)) for hit in read_hits(connection, best)]
        count = places.get(each.source, len(each.pieces))
        sessions.append(_found_session(connection, each.source, each.score, count, hits))
    return Answers(tuple(sessions), complete=bool(places), words=any_of)


def _places(connection: sqlite3.Connection, words: str, query: Query) -> dict[int, int]:
    """Return the number of matching pieces of each source."""
    found, values = _matching(words, query)
    rows = connection.execute(
        f"SELECT words.rowid >> {PIECE_BITS}, count(*) FROM {found} GROUP BY 1", values
    ).fetchall()
    return dict(rows)


def _piece_scores(
    connection: sqlite3.Connection, words: str, query: Query, *, newest: bool
) -> dict[int, float]:
    """Return the scores of the best matching pieces, or of those in the newest sessions."""
    found, values = _matching(words, query)
    (count,) = connection.execute(f"SELECT count(*) FROM {found}", values).fetchone()
    step = 1 + count // _MAX_COMPARED
    sample = f" AND (words.rowid >> 3) % {step} = 0" if step > 1 and not newest else ""
    modified = f"(SELECT modified_ns FROM sources WHERE id = words.rowid >> {PIECE_BITS}) DESC"
    rows = connection.execute(
        f"SELECT m.id, m.score, p.kind FROM (SELECT words.rowid AS id, -{_BM25} AS score FROM {found}{sample}"
        f" ORDER BY {modified if newest else 'score DESC'} LIMIT ?) m JOIN pieces p ON p.id = m.id",
        [*values, _MAX_RANKED],
    )
    return {piece: score * WEIGHTS[kind] for piece, score, kind in rows}


def _matching(words: str, query: Query) -> tuple[str, list[object]]:
    """Return the FROM and WHERE of the pieces that match an FTS5 expression and the filters, and the values."""
    filters, values = filter_sql(query)
    # CROSS JOIN keeps this order, whatever SQLite estimates.
    joins = _JOINED.replace(" JOIN ", " CROSS JOIN ").replace("pieces p", "pieces p ON p.id = words.rowid", 1)
    table = f"words CROSS JOIN {joins}" if values or filters != "1" else "words"
    return f"{table} WHERE words MATCH ? AND {filters}", [words, *values]


def _candidates(
    connection: sqlite3.Connection,
    words: Sequence[_Word],
    scores: Mapping[int, float],
    places: Mapping[int, int],
    options: SearchOptions,
) -> Iterator[_Candidate]:
    by_source: dict[int, dict[int, float]] = {}
    for piece, score in scores.items():
        by_source.setdefault(piece >> PIECE_BITS, {})[piece] = score
    sources = {
        source: (modified_ns, chars)
        for source, modified_ns, chars in connection.execute("SELECT id, modified_ns, chars FROM sources")
    }
    whole = _session_scores(words, {source: chars for source, (_, chars) in sources.items()})
    total = sum(each.rarity for each in words) or 1
    for source, pieces in by_source.items():
        modified_ns, _ = sources[source]
        best = max(_window_score(piece, pieces, words, total) for piece in pieces)
        score = (best + _SESSION_SHARE * whole.get(source, 0)) * _freshness(modified_ns, options.now)
        factor = _ALL_WORDS_FACTOR if source in places else 1
        yield _Candidate(source, score * factor, pieces, source in places, modified_ns)


def _window_score(
    piece: int, scores: Mapping[int, float], words: Sequence[_Word], total_rarity: float
) -> float:
    """Return the score of a piece together with those before and after it, more if they have many of the words."""
    window = (piece - 1, piece, piece + 1)
    beside = scores.get(piece - 1, 0) + scores.get(piece + 1, 0)
    held = sum(each.rarity for each in words if not each.pieces.isdisjoint(window))
    return (scores[piece] + _NEIGHBOUR_SHARE * beside) * (1 + _WORDS_SHARE * held / total_rarity)


class _Word(NamedTuple):
    """Where a word is: in which pieces, and in how many of each source."""

    expression: str
    rarity: float
    pieces: set[int]
    counts: Mapping[int, int]


def _places_of_words(connection: sqlite3.Connection, query: Query) -> list[_Word]:
    """Return the words of a query without those that are everywhere."""
    found = []
    (total,) = connection.execute("SELECT count(*) FROM sources").fetchone()
    for words in dict.fromkeys(part for group in query.groups for term in group for part in term.parts):
        rows = connection.execute(
            "SELECT rowid FROM words WHERE words MATCH ? LIMIT ?", (words, _MAX_COUNTED)
        ).fetchall()
        if len(rows) < _MAX_COUNTED:
            pieces = {piece for (piece,) in rows}
            counts = Counter(piece >> PIECE_BITS for piece in pieces)
            rarity = math.log(1 + (total - len(counts) + 0.5) / (len(counts) + 0.5))
            found.append(_Word(words, rarity, pieces, counts))
    return found


def _session_scores(words: Sequence[_Word], chars: Mapping[int, int]) -> dict[int, float]:
    """Return the bm25 of whole sessions."""
    scores: dict[int, float] = {}
    average = sum(chars.values()) / max(1, len(chars)) or 1
    for each in words:
        for source, count in each.counts.items():
            length = 1 - _LENGTH_SHARE + _LENGTH_SHARE * chars.get(source, 0) / average
            worth = each.rarity * count * (_SATURATION + 1) / (count + _SATURATION * length)
            scores[source] = scores.get(source, 0) + worth
    return scores


def _freshness(modified_ns: int, now: int) -> float:
    days = max(0.0, now - modified_ns / 1e9) / _DAY_SECONDS
    return 1 - _AGE_SHARE + _AGE_SHARE * math.exp2(-days / _HALF_LIFE_DAYS)


def _rank(candidates: Iterable[_Candidate], options: SearchOptions) -> list[_Candidate]:
    """Return the candidates best first, or newest first."""

    def order(each: _Candidate) -> tuple[object, ...]:
        if options.newest:
            return not each.has_all, -each.modified_ns
        return -each.score, -each.modified_ns

    return sorted(candidates, key=order)


def _list_filtered(
    connection: sqlite3.Connection, query: Query, options: SearchOptions
) -> Iterator[FoundSession]:
    """Yield the newest sessions with pieces that pass the filters and have no excluded word."""
    filters, values = filter_sql(query)
    for term in query.without:
        filters += " AND p.id NOT IN (SELECT rowid FROM words WHERE words MATCH ?)"
        values.append(term.expression)
    rows = connection.execute(
        f"SELECT s.id, count(*) FROM {_JOINED} WHERE {filters} GROUP BY s.id"
        " ORDER BY s.modified_ns DESC LIMIT ?",
        [*values, options.limit],
    ).fetchall()
    for source, count in rows:
        pieces = connection.execute(
            f"SELECT p.id FROM {_JOINED} WHERE {filters} AND p.id BETWEEN ? AND ? ORDER BY p.id DESC LIMIT ?",
            [*values, *piece_range(source), options.hits],
        ).fetchall()
        hits = read_hits(connection, [piece for (piece,) in pieces])
        yield _found_session(connection, source, 0.0, count, hits)


def piece_range(source: int) -> tuple[int, int]:
    """Return the first and last possible id of the pieces of a source."""
    return source << PIECE_BITS, source << PIECE_BITS | _LAST_PIECE


def _found_session(
    connection: sqlite3.Connection, source: int, score: float, places: int, hits: Sequence[Hit]
) -> FoundSession:
    row: tuple[Any, ...] = connection.execute(
        "SELECT type, path, agent, session_id, project, title, modified_ns, archived FROM sources WHERE id = ?",
        (source,),
    ).fetchone()
    return FoundSession._make((*row[:-1], bool(row[-1]), round(score, 4), places, tuple(hits)))


def read_hits(connection: sqlite3.Connection, pieces: Iterable[int]) -> list[Hit]:
    """Return the hits of these pieces, in that order."""
    found = []
    for piece in pieces:
        line, start, kind, at, tool, failed, exit_code, data, slot = connection.execute(
            "SELECT line, start, kind, at, tool, failed, exit_code, data, slot FROM pieces p"
            " JOIN blocks b ON b.id = p.block WHERE p.id = ?",
            (piece,),
        ).fetchone()
        ended = None if failed is None else bool(failed)
        found.append(Hit(piece, line, start, kind, unpack_text(data, slot), 0.0, at, tool, ended, exit_code))
    return found
