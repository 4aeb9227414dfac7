"""The few words around what was found, with where the found words stand in them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from leftoff.library.query import Term
from leftoff.library.words import light, pattern

_SPACE = re.compile(r"\s+")
_MOST_PLACES = 400  # of one text; a word that stands there more often tells no better place


class Snippet(NamedTuple):
    """One line of text, and the spans [start, end) of what was looked for."""

    text: str
    marks: tuple[tuple[int, int], ...]


def snippet(text: str, terms: Sequence[Term], width: int) -> Snippet:
    """At most ``width`` characters, where the most of the terms stand together; the beginning where none can be seen."""
    flat = _SPACE.sub(" ", text).strip()
    places = _places(flat, terms)
    begins = _best(flat, places, width)
    ends = min(len(flat), begins + width)
    head, tail = "…" if begins else "", "…" if ends < len(flat) else ""
    shift = len(head) - begins
    marks = tuple((start + shift, end + shift) for _, start, end in places if begins <= start and end <= ends)
    return Snippet(head + flat[begins:ends] + tail, _merged(marks))


def _places(text: str, terms: Sequence[Term]) -> list[tuple[int, int, int]]:
    """Which term stands where."""
    found = []
    for number, term in enumerate(terms):
        exact = term.is_phrase or term.is_prefix
        wanted = pattern(term.text, is_prefix=term.is_prefix) if exact else light(term.text)
        for count, match in enumerate(wanted.finditer(text)):
            if count >= _MOST_PLACES:
                break
            if match.end() > match.start():
                found.append((number, match.start(), match.end()))
    return sorted(found, key=lambda place: place[1:])


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
