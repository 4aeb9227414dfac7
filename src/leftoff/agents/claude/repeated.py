"""Finds the records that a compaction repeats.

Since 2.1.287 a mod (a plugin module in the client) can answer a compaction. The client then writes no summary but, after the
boundary, ordinary lines with the messages that replace the conversation: text of the mod, rebuilt messages, and messages that
were kept, with their old times and call ids. They are sent, but the user did not type them again and no tool ran again.

As seen with 2.1.325, the client creates the boundary last and writes it first: what is repeated follows it and is not newer.
None of it has usage. So it ends with the first message that is newer, or that the API has metered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from leftoff.agents.claude.records import read_record
from leftoff.agents.jsonl import JsonLines
from leftoff.core.records import Compaction, Place, Record, RecordKind, Usage

_WORK = frozenset({RecordKind.PROMPT, RecordKind.REPLY, RecordKind.RESULT})
_NEVER_SENT = frozenset({RecordKind.SIDE, RecordKind.UNKNOWN, RecordKind.BROKEN})
_REACH_BYTES = 64 * 1024 * 1024  # more than a whole context window takes on disk


class _Line(Protocol):
    """What this module needs of a record of the main conversation."""

    @property
    def kind(self) -> RecordKind: ...
    @property
    def at(self) -> datetime | None: ...
    @property
    def usage(self) -> Usage | None: ...
    @property
    def compaction(self) -> Compaction | None: ...


class Open(NamedTuple):
    """A compaction whose repeated messages may still follow; ``at`` is the time of its boundary, or None."""

    at: datetime | None = None

    def after(self, line: _Line) -> Open:
        """Return what is open after one more line of the main conversation."""
        compaction = line.compaction
        if compaction is not None and compaction.trigger != "micro":
            return Open(line.at if compaction.summary is None else None)
        if self.at is None or line.at is None or line.kind in _NEVER_SENT:
            return self
        return Open() if line.usage is not None or line.at > self.at else self

    def repeats(self, line: _Line) -> bool:
        """Say whether a line is work that this compaction repeats; ``self`` is what is open after the line."""
        return self.at is not None and line.at is not None and line.kind in _WORK


def mark_repeated(records: Iterable[Record], opened: Open) -> Iterator[Record]:
    """Yield the records, those that a compaction repeats as ``RecordKind.REPEATED``."""
    for record in records:
        if record.actor is None and (opened.at is not None or record.compaction is not None):
            opened = opened.after(record)
            if opened.repeats(record):
                yield record._replace(kind=RecordKind.REPEATED)
                continue
        yield record


def open_at(transcript: Path, after: Place | None) -> Open:
    """Return what is open behind ``after``: usually nothing, which the last reply before it shows."""
    if after is None or after.end == 0:
        return Open()
    newest: datetime | None = None
    with JsonLines(transcript) as lines:
        for piece in lines.newest_first(after.end):
            record = read_record(piece)
            if record.actor is not None or record.kind in _NEVER_SENT:
                continue
            if record.usage is not None or piece.place.end < after.end - _REACH_BYTES:
                break
            if record.compaction is not None and record.compaction.trigger != "micro":
                opened = Open().after(record)
                is_over = opened.at is None or (newest is not None and newest > opened.at)
                return Open() if is_over else opened
            newest = max(filter(None, (newest, record.at)), default=None)
    return Open()
