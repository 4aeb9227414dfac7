"""Find the sessions that match a query, best first.

SQLite ranks pieces by bm25, for any of the words. A session is worth its best piece together with the pieces before and after
it, plus how well its words match as a whole, and more if one piece has all the words and the newer it is.
"""

from __future__ import annotations

import math
import sqlite3
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from heapq import nlargest
from itertools import accumulate
from typing import Any, NamedTuple

from leftoff.search.pieces import PIECE_BITS, WEIGHTS, unpack_text
from leftoff.search.query import Query, all_words, any_word, filter_sql

_DAY_SECONDS = 86_400
_HALF_LIFE_DAYS = 120.0
_AGE_SHARE = 0.15  # of a score that a session loses with age
_COMMON = 20_000  # pieces; a word that is in more says little, and is left out if there are others
_MAX_COMPARED = 10_000  # pieces, of the sessions that are the best as a whole
_MAX_WINDOWS = 10  # pieces of a session that are looked at together with those before and after
_NEIGHBOUR_SHARE = 0.3  # of the scores of the pieces before and after
_SESSION_SHARE = 2.5  # of the score of the whole session
_WORDS_SHARE = 3.0  # what a piece gains if all words are in it or beside it
_ALL_WORDS_FACTOR = 1.3  # of a session in which one piece has all the words
_SATURATION = 3.0
_LENGTH_SHARE = 0.75  # the usual constants of bm25
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


def find_sessions(connection: sqlite3.Connection, query: Query, options: SearchOptions) -> Answers:
    """Return the sessions that match the query."""
    query = query.without_common_words
    if not query.groups:
        return Answers(tuple(_list_filtered(connection, query, options)), complete=True)

    @cache
    def count(words: str) -> dict[int, int]:
        """Return the number of matching pieces of each source."""
        found, values = _matching(words, query)
        piece_counts = f"SELECT words.rowid >> {PIECE_BITS}, count(*) FROM {found} GROUP BY 1"
        return dict(connection.execute(piece_counts, values).fetchall())

    rare = _rare_words(connection, query)
    any_of, full = any_word(query, rare), all_words(query)
    complete = count(full)
    searched = full if len(complete) >= options.limit else any_of
    matching = count(searched)
    if not matching and (words_alone := query.without_phrases) != query:
        return find_sessions(connection, words_alone, options)._replace(complete=False)
    sources = _sources(connection)
    rarities = {word: _rarity(len(count(word)), len(sources)) for word in rare}
    whole = _session_scores([(rarities[word], count(word)) for word in rare], sources)

    def newest(source: int) -> tuple[bool, int]:
        return source in complete, sources[source].modified_ns

    def best(source: int) -> tuple[float, int]:
        return whole.get(source, 0), sources[source].modified_ns

    ranked = sorted(matching, key=newest if options.newest else best, reverse=True)
    enough = bisect([*accumulate(matching[each] for each in ranked)], _MAX_COMPARED)
    compared = ranked[: max(options.limit, enough)]
    scores = _piece_scores(connection, searched, query, compared)
    several = rare if len(rare) > 1 else []  # of a single word every piece has all
    words = [_Word(rarities[word], _pieces_with(connection, word, compared)) for word in several]
    for source, pieces in scores.items():
        best_pieces = nlargest(_MAX_WINDOWS, pieces, key=pieces.__getitem__)
        near = max(_window_score(piece, pieces, words) for piece in best_pieces)
        factor = _freshness(sources[source].modified_ns, options.now)
        factor *= _ALL_WORDS_FACTOR if source in complete else 1
        whole[source] = (near + _SESSION_SHARE * whole.get(source, 0)) * factor
    sessions = []
    for source in sorted(scores, key=newest if options.newest else best, reverse=True)[: options.limit]:
        pieces = scores[source]
        shown = sorted(pieces, key=lambda piece: (-pieces[piece], piece))[: options.hits]
        hits = [hit._replace(score=round(pieces[hit.piece], 4)) for hit in read_hits(connection, shown)]
        places = complete.get(source, matching[source])
        sessions.append(_found_session(connection, source, whole[source], places, hits))
    return Answers(tuple(sessions), complete=bool(complete), words=any_of)


def _rare_words(connection: sqlite3.Connection, query: Query) -> list[str]:
    """Return the words of a query without those that are everywhere; a word without others counts in any case."""
    words = [*dict.fromkeys(part for group in query.groups for term in group for part in term.parts)]
    if len(words) == 1:
        return words
    count = "SELECT count(*) FROM words WHERE words MATCH ?"  # for which SQLite reads no row
    return [each for each in words if connection.execute(count, (each,)).fetchone()[0] < _COMMON]


def _piece_scores(
    connection: sqlite3.Connection, words: str, query: Query, sources: Sequence[int]
) -> dict[int, dict[int, float]]:
    """Return the scores of the matching pieces of these sources."""
    found, values = _matching(words, query)
    rows = connection.execute(
        f"SELECT m.id, m.score, p.kind FROM (SELECT words.rowid AS id, -bm25(words) AS score FROM {found}"
        f" AND {_in_sources(sources)}) m JOIN pieces p ON p.id = m.id",
        values,
    )
    scores: dict[int, dict[int, float]] = {}
    for piece, score, kind in rows:
        scores.setdefault(piece >> PIECE_BITS, {})[piece] = score * WEIGHTS[kind]
    return scores


def _matching(words: str, query: Query) -> tuple[str, list[object]]:
    """Return the FROM and WHERE of the pieces that match an FTS5 expression and the filters, and the values."""
    filters, values = filter_sql(query)
    # CROSS JOIN keeps this order, whatever SQLite estimates.
    joins = _JOINED.replace(" JOIN ", " CROSS JOIN ").replace("pieces p", "pieces p ON p.id = words.rowid", 1)
    table = f"words CROSS JOIN {joins}" if values or filters != "1" else "words"
    return f"{table} WHERE words MATCH ? AND {filters}", [words, *values]


class _Word(NamedTuple):
    """A word of the query, and the pieces of the compared sources that have it."""

    rarity: float
    pieces: frozenset[int]


def _window_score(piece: int, scores: Mapping[int, float], words: Sequence[_Word]) -> float:
    """Return the score of a piece together with those before and after it, more if they have many of the words."""
    window = (piece - 1, piece, piece + 1)
    beside = scores.get(piece - 1, 0) + scores.get(piece + 1, 0)
    held = sum(each.rarity for each in words if not each.pieces.isdisjoint(window))
    share = held / sum(each.rarity for each in words) if words else 1
    return (scores[piece] + _NEIGHBOUR_SHARE * beside) * (1 + _WORDS_SHARE * share)


def _pieces_with(connection: sqlite3.Connection, word: str, sources: Sequence[int]) -> frozenset[int]:
    rows = connection.execute(
        f"SELECT rowid FROM words WHERE words MATCH ? AND {_in_sources(sources)}", (word,)
    )
    return frozenset(piece for (piece,) in rows)


def _in_sources(sources: Sequence[int]) -> str:
    return f"words.rowid >> {PIECE_BITS} IN ({', '.join(map(str, sources))})"


class _Dated(NamedTuple):
    modified_ns: int
    chars: int


def _sources(connection: sqlite3.Connection) -> dict[int, _Dated]:
    rows = connection.execute("SELECT id, modified_ns, chars FROM sources")
    return {source: _Dated(*rest) for source, *rest in rows}


def _rarity(sources_with_word: int, sources: int) -> float:
    return math.log(1 + (sources - sources_with_word + 0.5) / (sources_with_word + 0.5))


def _session_scores(
    words: Iterable[tuple[float, Mapping[int, int]]], sources: Mapping[int, _Dated]
) -> dict[int, float]:
    """Return the bm25 of whole sessions, from the rarity of each word and how often it is in which."""
    scores: dict[int, float] = {}
    average = sum(each.chars for each in sources.values()) / max(1, len(sources)) or 1
    for rarity, counts in words:
        for source, count in counts.items():
            length = 1 - _LENGTH_SHARE + _LENGTH_SHARE * sources[source].chars / average
            worth = rarity * count * (_SATURATION + 1) / (count + _SATURATION * length)
            scores[source] = scores.get(source, 0) + worth
    return scores


def _freshness(modified_ns: int, now: int) -> float:
    days = max(0.0, now - modified_ns / 1e9) / _DAY_SECONDS
    return 1 - _AGE_SHARE + _AGE_SHARE * math.exp2(-days / _HALF_LIFE_DAYS)


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
