"""What a list shows of each session, by transcript: looked up for those that are asked for, however many there are.

An entry holds as long as the file has the same size and time of change. Losing the catalogue costs time, nothing else: whatever
is wrong with it, nothing is known, and what cannot be kept is not kept.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, NamedTuple

from leftoff.errors import StorageError
from leftoff.library import shelf as shelves
from leftoff.library.forgotten import Forgotten
from leftoff.model.session import Parent, SessionEntry

_HURRY_SECONDS = 0.2  # a list is shown, whoever else is writing


class Stamp(NamedTuple):
    """What must be the same for an entry to hold."""

    modified_ns: int
    size_bytes: int
    agent: str


class Catalogue:
    """The entries kept in the library of ``folder``."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._shelf = shelves.opened_to_read(folder)

    def close(self) -> None:
        """Nothing more is asked."""
        if self._shelf is not None:
            self._shelf.close()

    def known(self, wanted: Mapping[str, Stamp]) -> dict[str, SessionEntry]:
        """Those of the transcripts whose entries hold."""
        if self._shelf is None or not wanted:
            return {}
        marks = ", ".join("?" * len(wanted))
        try:
            rows = self._shelf.execute(
                f"SELECT path, modified_ns, size_bytes, agent, entry FROM entries WHERE path IN ({marks})",
                [*wanted],
            ).fetchall()
        except sqlite3.Error:
            return {}
        found = {}
        for path, *stamp, entry in rows:
            if Stamp(*stamp) == wanted[path] and (read := _read(entry)) is not None:
                found[path] = read
        return found

    def keep(self, entries: Sequence[tuple[Stamp, SessionEntry]]) -> None:
        """Remember entries, if nobody else is writing for long; a library that cannot be read is not made anew for a list."""
        if not entries or (self._shelf is None and os.path.lexists(f"{self._folder}/{shelves.NAME}")):
            return
        with suppress(StorageError, sqlite3.Error):
            shelf = shelves.opened_to_write(self._folder, patience_seconds=_HURRY_SECONDS)
            with (
                closing(shelf),
                shelves.writing(shelf),
            ):  # what is forgotten meanwhile is taken out after this
                rows = [*_rows(entries, Forgotten(self._folder))]
                shelf.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def _rows(
    entries: Sequence[tuple[Stamp, SessionEntry]], forgotten: Forgotten
) -> Iterator[tuple[object, ...]]:
    """What is kept: nothing of a forgotten session, and no forgotten text."""
    for stamp, entry in entries:
        if forgotten.is_session(entry.session_id):
            continue
        is_orphan = entry.parent is not None and forgotten.is_session(entry.parent.session_id)
        clean = replace(
            entry,
            first_prompt=entry.first_prompt and forgotten.masked_text(entry.first_prompt),
            parent=None if is_orphan else entry.parent,
        )
        text = _written(clean)
        if text is not None:
            yield entry.transcript, *stamp, entry.session_id, entry.project, text


def _written(entry: SessionEntry) -> str | None:
    """None for one whose path or words are not UTF-8: it is looked at anew each time."""
    values = asdict(entry) | {"modified_at": entry.modified_at.isoformat()}
    text = json.dumps(values, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text


def _read(text: str) -> SessionEntry | None:
    """The entry as it was kept; None where it is of another form."""
    try:
        fields: dict[str, Any] = json.loads(text)
        parent = fields["parent"]
        moment = datetime.fromisoformat(fields["modified_at"])
        return SessionEntry(
            **(fields | {"modified_at": moment, "parent": Parent(**parent) if parent else None})
        )
    except (LookupError, TypeError, ValueError):
        return None
