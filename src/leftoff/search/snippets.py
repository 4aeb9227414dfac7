"""The part of a text that shows why it was found, with what was searched for marked."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from leftoff.search.match import Hit
from leftoff.search.pieces import BEGIN, END
from leftoff.search.query import Term
from leftoff.search.words import name_parts, pairs, runs

_MAX_CHARS = 200
_MAX_WORDS = 40
_MARKED = re.compile(f"{BEGIN}([^{BEGIN}{END}]*){END}")


class Snippet(NamedTuple):
    """One line of text, and the spans [start, end) of what was searched for."""

    text: str
    marks: tuple[tuple[int, int], ...]


def make_snippet(
    connection: sqlite3.Connection, hit: Hit, words: str | None, terms: Sequence[Term]
) -> Snippet:
    """Return the part of a hit with most of the words, which are an FTS5 expression; its beginning without any."""
    found = None
    if words and not any(
        term.is_prefix for term in terms
    ):  # SQLite would collect all words with the prefix again
        found = connection.execute(
            "SELECT snippet(words, 0, ?, ?, '…', ?) FROM words WHERE words MATCH ? AND rowid = ?",
            (BEGIN, END, _MAX_WORDS, words, hit.piece),
        ).fetchone()
    if found and BEGIN in found[0]:
        return _cut(found[0])
    return _cut(_mark_parts(hit.text, terms))


def shorten_text(text: str) -> str:
    """Return the beginning of a text in one line."""
    return _cut(text).text


def _mark_parts(text: str, terms: Sequence[Term]) -> str:
    """Mark what the tokenizer does not see: parts of names, and scripts without spaces."""
    wanted = [
        part for term in terms for part in ("".join(name_parts(term.text)) or term.text, *runs(term.text))
    ]
    wanted += [pair for term in terms for run in runs(term.text) for pair in pairs(run)]
    patterns = [r"[\W_]*".join(map(re.escape, re.findall(r"[^\W_]+", each))) for each in wanted]
    pattern = "|".join(filter(None, patterns))
    return re.sub(pattern, rf"{BEGIN}\g<0>{END}", text, flags=re.IGNORECASE) if pattern else text


def _cut(marked: str) -> Snippet:
    """Return a marked text as one line, cut to size a little before its first mark."""
    parts = _MARKED.split(" ".join(marked.split()))
    text, marks = "", []
    for number, part in enumerate(parts):
        marks += [(len(text), len(text) + len(part))] if number % 2 and part else []
        text += part
    start = max(0, min(marks[0][0] - _MAX_CHARS // 4 if marks else 0, len(text) - _MAX_CHARS))
    if start and (gap := text.find(" ", start, marks[0][0])) >= 0:
        start = gap + 1
    end = min(len(text), start + _MAX_CHARS)
    head, tail = "…" if start else "", "…" if end < len(text) else ""
    shift = len(head) - start
    inside = tuple(
        (begins + shift, ends + shift) for begins, ends in marks if start <= begins and ends <= end
    )
    return Snippet(head + text[start:end] + tail, inside)
