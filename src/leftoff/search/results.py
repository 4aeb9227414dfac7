"""Results of a search: reading them from the index, ranking, checking texts, and snippets.

A session is worth its best piece, a little more for each further one, and more the newer it is. Phrases, names and prefixes
are checked in the text itself, because tokens do not tell.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from leftoff.search.pieces import StoredBlock, pack_texts, unpack_texts
from leftoff.search.query import Query, Term
from leftoff.search.tokens import (
    UNSPACED,
    is_exact,
    is_unspaced,
    required_tokens,
    split_name,
    split_words,
    tokens,
    word_root,
)

_DAY_SECONDS = 86_400
_HALF_LIFE_DAYS = 120.0
_MISSING_BLOCK = StoredBlock(pack_texts([]))
_MAX_PLACES = 400  # of one word in one text
_IN_HUMP = r"(?<=[a-z0-9])(?=[A-Z])"


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
    """A source that matches, its best hits and the number of matching pieces; ``has_more`` if not all were counted."""

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
    """The matching sessions. ``complete`` is False if no piece contains all words, and these contain most of them.

    ``cut_short`` is True if more texts might match than were checked.
    """

    sessions: tuple[FoundSession, ...]
    complete: bool
    cut_short: bool = False


class SearchOptions(NamedTuple):
    """How many results are wanted, their order, and limits of the effort."""

    limit: int
    hits: int
    newest: bool
    now: int  # seconds since 1970
    compared: int = 8_000  # pieces to rank; if more match, a sample is ranked
    max_texts: int = 10_000  # read to check phrases and prefixes; takes about a second
    max_texts_apart: int = 500  # the same for the parts of a name that occurs nowhere as a whole


class Row(NamedTuple):
    """A source and the worth of its matching pieces."""

    source: int
    best: float
    places: int
    modified_ns: int
    first: int  # the ids of its pieces lie between these two
    last: int


class Reader:
    """Reads hits and sessions, and counts the texts it reads."""

    def __init__(self, connection: sqlite3.Connection, max_texts: int) -> None:
        self._connection, self._texts_left = connection, max_texts
        self._blocks: dict[int, StoredBlock] = {}

    @property
    def is_exhausted(self) -> bool:
        """Whether the limit of texts was reached, so that others might match too."""
        return self._texts_left < 0

    def hits(self, pieces: Iterable[int], checks: Sequence[TextCheck], limit: int) -> list[Hit]:
        """Return the first pieces of a source whose texts pass all checks."""
        self._blocks.clear()  # of the previous source
        found: list[Hit] = []
        for piece in pieces:
            if len(found) >= limit or self.is_exhausted:
                break
            hit = self._hit(piece)
            if all(check.accepts(hit.text) for check in checks):
                found.append(hit)
        return found

    def _hit(self, piece: int) -> Hit:
        block, slot, line, start, kind, weight, at, tool, failed, exit_code = self._connection.execute(
            "SELECT block, slot, line, start, kind, weight, at, tool, failed, exit_code FROM pieces WHERE id = ?",
            (piece,),
        ).fetchone()
        ended = None if failed is None else bool(failed)
        return Hit(piece, line, start, kind, self._text(block, slot), weight, at, tool, ended, exit_code)

    def _text(self, block: int, slot: int) -> str:
        self._texts_left -= 1
        if block not in self._blocks:
            row = self._connection.execute("SELECT data FROM blocks WHERE id = ?", (block,)).fetchone()
            self._blocks[block] = StoredBlock(row[0]) if row else _MISSING_BLOCK
        return self._blocks[block].text(slot)

    def session(self, row: Row, hits: Sequence[Hit]) -> FoundSession:
        """Return the source of a row with these hits."""
        type_, path, agent, session_id, project, title, modified_ns, archived = self._connection.execute(
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


def rank(rows: Iterable[Row], options: SearchOptions) -> list[Row]:
    """Return the rows best first with their score, or newest first."""
    if options.newest:
        return sorted(rows, key=lambda row: -row.modified_ns)
    scored = (row._replace(best=_score(row, options.now)) for row in rows)
    return sorted(scored, key=lambda row: (-row.best, -row.modified_ns))


def _score(row: Row, now: int) -> float:
    days = max(0.0, now - row.modified_ns / 1e9) / _DAY_SECONDS
    freshness = 0.85 + 0.15 * math.exp2(-days / _HALF_LIFE_DAYS)
    return row.best * (1 + 0.25 * math.log1p(row.places - 1)) * freshness


def next_pieces(
    connection: sqlite3.Connection, piece: int, limit: int
) -> list[tuple[int, str, str, int | None]]:
    """Return line, kind, text and exit code of the messages and calls after a piece."""
    rows = connection.execute(
        "SELECT p.line, p.kind, b.data, p.slot, p.exit_code FROM pieces p JOIN blocks b ON b.id = p.block"
        " WHERE p.source = (SELECT source FROM pieces WHERE id = ?) AND p.id > ? AND p.kind IN ('reply', 'call', 'command', 'prompt')"
        " ORDER BY p.id LIMIT ?",
        (piece, piece, limit),
    )
    return [(line, kind, unpack_texts(data)[slot], exit_code) for line, kind, data, slot, exit_code in rows]


class Snippet(NamedTuple):
    """One line of text, and the spans [start, end) of what was searched for."""

    text: str
    marks: tuple[tuple[int, int], ...]


def snippet(text: str, terms: Sequence[Term], width: int) -> Snippet:
    """Return at most ``width`` characters around most of the terms; the beginning if none is visible."""
    flat = " ".join(text.split())
    places = _find_terms(flat, terms)
    begins = _best_window(flat, places, width)
    ends = min(len(flat), begins + width)
    head, tail = "…" if begins else "", "…" if ends < len(flat) else ""
    shift = len(head) - begins
    marks = tuple((start + shift, end + shift) for _, start, end in places if begins <= start and end <= ends)
    return Snippet(head + flat[begins:ends] + tail, _merge(marks))


def _find_terms(text: str, terms: Sequence[Term]) -> list[tuple[int, int, int]]:
    """Return the number of each term with its spans, by position."""
    found: list[tuple[int, int, int]] = []
    for number, term in enumerate(terms):
        found += [(number, *span) for span in islice(_term_spans(term, text), _MAX_PLACES)]
    return sorted(found, key=lambda place: place[1:])


def _term_spans(term: Term, text: str) -> Iterator[tuple[int, int]]:
    if term.is_phrase or term.is_prefix:
        pattern = exact_pattern(term.text, text, is_prefix=term.is_prefix)
        return (match.span() for match in pattern.finditer(text) if match[0])
    return find_spans(term.text, text)


def _best_window(text: str, places: Sequence[tuple[int, int, int]], width: int) -> int:
    """Return the start of the window that shows most different terms, a little before the first."""
    best, begins, last = 0, 0, 0
    for at, (_, start, _) in enumerate(places):
        while last < len(places) and places[last][2] <= start + width * 3 // 4:
            last += 1
        seen = len({number for number, *_ in places[at:last]})
        if seen > best:
            best, begins = seen, start
    before = max(0, begins - width // 4)
    gap = text.find(" ", before, begins) if before else -1
    return gap + 1 if gap >= 0 else before


def _merge(marks: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in marks:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def exact_pattern(words: str, text: str, *, is_prefix: bool = False) -> re.Pattern[str]:
    """Return a pattern that finds these words in the text, in this order and adjacent.

    Words may begin and end beside scripts without spaces. That part is left out if it makes no difference: compiling it takes as
    long as a search.
    """
    plain = _compile_pattern(words, "", is_prefix=is_prefix)
    return (
        plain
        if text.isascii() or plain.search(text)
        else _compile_pattern(words, f"[{UNSPACED}]", is_prefix=is_prefix)
    )


@cache
def _compile_pattern(words: str, script: str, *, is_prefix: bool) -> re.Pattern[str]:
    parts = split_name(words)
    if not parts:
        return re.compile(re.escape(words.strip()), re.IGNORECASE)
    begins, ends = _beginning_at(parts[0], script), "" if is_prefix else _ending_at(parts[-1], script)
    return re.compile(begins + r"[\W_]*".join(map(re.escape, parts)) + ends, re.IGNORECASE)


def _beginning_at(part: str, script: str) -> str:
    """Return a pattern for a word start: not inside another, except at a capital, a digit or a change of script."""
    if is_unspaced(part[0]):
        return ""
    after = rf"|(?<={script})" if script else ""
    version = r"|(?<=[A-Za-z])(?=[0-9])"  # 1.2.3 is found in v1.2.3
    return rf"(?:(?<![^\W_])|(?-i:{_IN_HUMP}{after}){version})"


def _ending_at(part: str, script: str) -> str:
    if is_unspaced(part[-1]):
        return ""
    before = rf"|(?={script})" if script else ""
    return rf"(?:(?![^\W_])|(?-i:{_IN_HUMP}{before}))"


def prefilter_pattern(words: str) -> re.Pattern[str]:
    """Return a much faster pattern that the case-folded text must match for ``exact_pattern`` to match."""
    parts = [re.escape(each.casefold()) for each in split_name(words)] or [
        re.escape(words.strip().casefold())
    ]
    return re.compile(r"[\W_]*".join(parts))


def highlight_pattern(word: str) -> re.Pattern[str]:
    """Return a pattern for highlighting: any word of the same stem."""
    parts = [re.escape(word_root(part)) for part in split_words(word)]
    has_run = is_unspaced(word)
    tail = "" if has_run else r"[^\W_]*"
    starts = "" if has_run else rf"(?:(?<![^\W_])|(?-i:{_IN_HUMP}))"
    return re.compile(starts + rf"{tail}[\W_]*".join(parts) + tail, re.IGNORECASE)


def find_spans(word: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans that ``highlight_pattern`` finds; for a plain word without a pattern."""
    lowered = text.lower()
    if not is_exact(word) or not word.isascii() or len(lowered) != len(text):
        return (found.span() for found in highlight_pattern(word).finditer(text) if found[0])
    return _plain_spans(word_root(word), text, lowered)


def _plain_spans(root: str, text: str, lowered: str) -> Iterator[tuple[int, int]]:
    at = lowered.find(root)
    while at >= 0:
        end = at + len(root)
        if _is_word_start(text[at - 1 : at], text[at]):
            while end < len(text) and text[end].isalnum():
                end += 1
            yield at, end
            at = lowered.find(root, end)
        else:
            at = lowered.find(root, at + 1)


def _is_word_start(before: str, letter: str) -> bool:
    is_hump = before.isascii() and (before.islower() or before.isdigit()) and letter.isupper()
    return not before.isalnum() or is_hump


class TextCheck:
    """Checks that a text contains any of the terms; with ``wants=False``, none of them."""

    def __init__(self, terms: Sequence[Term], *, wants: bool) -> None:
        self._terms = [(prefilter_pattern(term.text), term) for term in terms if term.needs_text]
        self._words = [{*required_tokens(term.text)} for term in terms if not term.needs_text]
        self._wants = wants

    def accepts(self, text: str) -> bool:
        """Return whether the text passes."""
        return (self._has_word(text) or self._is_in_text(text)) == self._wants

    def _is_in_text(self, text: str) -> bool:
        folded = text.casefold()
        return any(may.search(folded) and _occurs_in(text, term) for may, term in self._terms)

    def _has_word(self, text: str) -> bool:
        if not self._words:
            return False
        held = tokens(text)
        return any(words <= held for words in self._words)


def text_checks(query: Query) -> list[TextCheck]:
    """Return all checks that a query needs."""
    groups = [
        TextCheck(group, wants=True) for group in query.groups if any(term.needs_text for term in group)
    ]
    return [*groups, *exclusion_checks(query)]


def exclusion_checks(query: Query) -> list[TextCheck]:
    """Return the checks for excluded terms that tokens cannot decide."""
    return [TextCheck((term,), wants=False) for term in query.without if term.needs_text]


def _occurs_in(text: str, term: Term) -> bool:
    return exact_pattern(term.text, text, is_prefix=term.is_prefix).search(text) is not None
