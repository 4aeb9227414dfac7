"""Reads a transcript page by page for the reader and the export.

A page is read by its bytes, so the size of the file does not matter. A line of more than a megabyte is not parsed: its beginning is
shown with its size.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from leftoff.core.protocols import Agent
from leftoff.core.quantities import size
from leftoff.core.records import (
    Place,
    Record,
    ToolUse,
)
from leftoff.core.visible import visible
from leftoff.web.entries import Entry, Mark, Part, Redact, entry_of, marks_of
from leftoff.web.line_index import Line, LineIndex

PAGE_LINES = 100
LINES_ABOVE = 10
_PAGE_BYTES = 768 * 1024
_SEARCHED_LINES = 600
_LINES_LOOKED_BACK = 60
LONGEST_PARSED_BYTES = 1024 * 1024
_LONGEST_RAW_BYTES = 64 * 1024  # read of a longer line, so that a credential in what is shown is whole
_RAW_CHARS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderPage:
    """Some lines of a transcript. ``total_lines`` counts those found so far: all of them if ``is_counted``."""

    entries: tuple[Entry, ...]
    first_line: int
    last_line: int
    total_lines: int
    is_counted: bool

    @property
    def runs(self) -> list[tuple[bool, list[Entry]]]:
        """Return the entries in runs: those that are quiet, and the others."""
        return [(is_quiet, [*run]) for is_quiet, run in groupby(self.entries, attrgetter("is_quiet"))]

    @property
    def previous_line(self) -> int | None:
        """Before which line the page before this one ends; None before the first."""
        return self.first_line if self.first_line > 1 else None

    @property
    def next_line(self) -> int | None:
        """Where the next page begins; None after the last."""
        return self.last_line + 1 if self.last_line < self.total_lines or not self.is_counted else None


class TranscriptReader:
    """Reads one transcript. It keeps the index of its lines and nothing else; several threads may use it."""

    def __init__(self, agent: Agent, transcript: Path, redact: Redact) -> None:
        self.agent, self.transcript, self.redact = agent, transcript, redact
        self.index = LineIndex(transcript)

    def page(self, first_line: int, seconds: float | None = 0.05) -> ReaderPage:
        """Return the page that begins at a line; ``seconds`` is how long lines may be counted meanwhile."""
        lines = _within(self.index.lines(first_line, PAGE_LINES), _PAGE_BYTES)
        total, is_counted = self.index.count(seconds)
        return ReaderPage(
            entries=tuple(self.entries(lines)),
            first_line=lines[0].number if lines else first_line,
            last_line=lines[-1].number if lines else first_line - 1,
            total_lines=total,
            is_counted=is_counted,
        )

    def page_around(self, line: int) -> ReaderPage:
        """Return the page that has a line, with a few lines before it."""
        page = self.page(max(1, line - LINES_ABOVE))
        return page if page.last_line >= line else self.page(line)

    def page_before(self, line: int) -> ReaderPage:
        """Return the page that ends before a line."""
        first = max(1, line - PAGE_LINES)
        lines = _within(self.index.lines(first, line - first)[::-1], _PAGE_BYTES)[::-1]
        total, is_counted = self.index.count(0)
        return ReaderPage(
            entries=tuple(self.entries(lines)),
            first_line=lines[0].number if lines else 1,
            last_line=line - 1,
            total_lines=total,
            is_counted=is_counted,
        )

    def pages(self, lines: Sequence[Line]) -> Iterator[ReaderPage]:
        """Return the pages of successive lines, one at a time."""
        for at in range(0, len(lines), PAGE_LINES):
            part = lines[at : at + PAGE_LINES]
            yield ReaderPage(
                entries=tuple(self.entries(part)),
                first_line=part[0].number,
                last_line=part[-1].number,
                total_lines=part[-1].number,
                is_counted=False,
            )

    def lines_within(self, most_bytes: int, line: int, *, backwards: bool = False) -> Sequence[Line]:
        """Return the lines from this one on, or up to it, that take so many bytes together."""
        found: list[Line] = []
        while most_bytes > 0:
            first = max(1, line - _SEARCHED_LINES + 1) if backwards else line
            lines = self.index.lines(first, line - first + 1 if backwards else _SEARCHED_LINES)
            fitting = _within(lines[::-1] if backwards else lines, most_bytes)
            found += fitting
            most_bytes -= sum(map(_cost, fitting))
            if not lines or len(fitting) < len(lines) or (backwards and first == 1):
                break
            line = first - 1 if backwards else lines[-1].number + 1
        return found[::-1] if backwards else found

    def entries(self, lines: Sequence[Line]) -> Iterator[Entry]:
        """Return what the records of these lines say."""
        calls: dict[str, ToolUse] = {}
        for found in self._records(lines):
            if isinstance(found, Line):
                yield self._long_line(found)
            else:
                entry = entry_of(found, calls, self.agent, self.redact)
                if entry.parts or not entry.is_quiet:
                    yield entry

    def find(self, mark: Mark, line: int, *, backwards: bool = False) -> int | None:
        """Return the nearest line after or before this one that has a mark; None if there is none."""
        if backwards:
            line = min(line, self.index.count()[0] + 1)
        while True:
            if backwards:
                first = max(1, line - _SEARCHED_LINES)
                lines = self.index.lines(first, line - first)
            else:
                lines = self.index.lines(line + 1, _SEARCHED_LINES)
            if not lines:
                return None
            found = [number for number, marks in self._marks(lines) if mark in marks]
            if found:
                return found[-1] if backwards else found[0]
            line = lines[0].number if backwards else lines[-1].number

    def _marks(self, lines: Sequence[Line]) -> Iterator[tuple[int, tuple[Mark, ...]]]:
        calls: dict[str, ToolUse] = {}
        for found in self._records(lines):
            if not isinstance(found, Line):
                yield found.place.line_idx + 1, marks_of(found, calls, self.agent)

    def _records(self, lines: Sequence[Line]) -> Iterator[Record | Line]:
        """Read the records of successive lines; a line that is too long comes as itself."""
        at = 0
        while at < len(lines):
            if lines[at].size_bytes > LONGEST_PARSED_BYTES:
                yield lines[at]
                at += 1
                continue
            last = at
            while last + 1 < len(lines) and lines[last + 1].size_bytes <= LONGEST_PARSED_BYTES:
                last += 1
            yield from self._read(lines[at], lines[last].end)
            at = last + 1

    def _read(self, first: Line, end: int) -> Iterator[Record]:
        """Read the records up to a byte. An adapter may look back from the first, which would parse a long line before it."""
        nearby = self.index.lines(max(1, first.number - _LINES_LOOKED_BACK), _LINES_LOOKED_BACK)
        if any(line.size_bytes > LONGEST_PARSED_BYTES and line.number < first.number for line in nearby):
            yield from self._read_copy(first, end)
            return
        before = Place(str(self.transcript), max(0, first.number - 2), 0, first.start)
        for record in self.agent.read(self.transcript, before):
            yield record
            if record.place.end >= end:  # asking for one more could read a long line
                return

    def _read_copy(self, first: Line, end: int) -> Iterator[Record]:
        """Read the records from a copy of these lines alone."""
        with tempfile.TemporaryDirectory(prefix="leftoff-web-") as folder:
            copy = Path(folder) / "lines.jsonl"
            copy.write_bytes(self.index.beginning(first._replace(end=end), end - first.start))
            for record in self.agent.read(copy):
                _, line_idx, start, stop = record.place
                place = Place(
                    str(self.transcript), line_idx + first.number - 1, start + first.start, stop + first.start
                )
                yield record._replace(place=place)

    def _long_line(self, line: Line) -> Entry:
        raw = self.index.beginning(line, _LONGEST_RAW_BYTES)
        text = self.redact(raw.decode("utf-8", "replace"))[:_RAW_CHARS]
        part = Part(
            kind="result",
            title=f"{size(line.size_bytes)} on one line: too long to show here. It begins:",
            text=visible(text),
            is_folded=True,
        )
        return Entry(line=line.number, kind="long", who="Long line", at="", parts=(part,))


def _within(lines: Sequence[Line], most_bytes: int) -> Sequence[Line]:
    """Return the first lines that take so many bytes together, but at least one. Lines that are too long cost nothing."""
    used = 0
    for number, line in enumerate(lines):
        used += _cost(line)
        if used > most_bytes and number:
            return lines[:number]
    return lines


def _cost(line: Line) -> int:
    return line.size_bytes if line.size_bytes <= LONGEST_PARSED_BYTES else 0
