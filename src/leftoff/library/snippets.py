"""The few words around what was found, with where the found words stand in them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from leftoff.library.patterns import pattern, spans
from leftoff.library.query import Term
from leftoff.model.tuples import NamedTuple

_MOST_PLACES = 400  # of one text; a word that stands there more often tells no better place


class Snippet(NamedTuple):
    """One line of text, and the spans [start, end) of what was looked for."""

    text: str
    marks: tuple[tuple[int, int], ...]


def snippet(text: str, terms: Sequence[Term], width: int) -> Snippet:
    """At most ``width`` characters, where the most of the terms stand together; the beginning where none can be seen."""
    flat = " ".join(text.split())
    places = _places(flat, terms)
    begins = _best(flat, places, width)
    ends = min(len(flat), begins + width)
    head, tail = "…" if begins else "", "…" if ends < len(flat) else ""
    shift = len(head) - begins
    marks = tuple((start + shift, end + shift) for _, start, end in places if begins <= start and end <= ends)
    return Snippet(head + flat[begins:ends] + tail, _merged(marks))


def _places(text: str, terms: Sequence[Term]) -> list[tuple[int, int, int]]:
    """Which term stands where."""
    found: list[tuple[int, int, int]] = []
    for number, term in enumerate(terms):
        found += [(number, *span) for span in islice(_spans(term, text), _MOST_PLACES)]
    return sorted(found, key=lambda place: place[1:])


def _spans(term: Term, text: str) -> Iterator[tuple[int, int]]:
    if term.is_phrase or term.is_prefix:
        wanted = pattern(term.text, text, is_prefix=term.is_prefix)
        return (match.span() for match in wanted.finditer(text) if match[0])
    return spans(term.text, text)


def _best(text: str, places: Sequence[tuple[int, int, int]], width: int) -> int:
    """Where a window begins that shows the most different terms; a little before the first of them."""
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


def _merged(marks: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in marks:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
