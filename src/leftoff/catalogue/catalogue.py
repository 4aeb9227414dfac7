"""A cache of session entries by transcript, so that listing sessions does not read every transcript.

An entry is valid while its transcript has the same size and modification time. The cache is optional: if it cannot be read
or written, it is empty or not updated, and listing takes longer.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from leftoff.catalogue import database
from leftoff.catalogue.forgotten import Forgotten
from leftoff.core.metrics import Occupancy
from leftoff.core.session import MAX_PROMPT_CHARS, Parent, SessionEntry
from leftoff.errors import StorageError

_WRITE_SECONDS = 0.2  # a list must not wait for other writers


class Stamp(NamedTuple):
    """What must be unchanged for an entry to be valid."""

    modified_ns: int
    size_bytes: int
    agent: str


class Catalogue:
    """The session entries in the library of ``folder``."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._connection = database.open_read_only(folder)

    def close(self) -> None:
        """Close the library."""
        if self._connection is not None:
            self._connection.close()

    def find(
        self, wanted: Mapping[str, Stamp], is_wanted: Callable[[str | None], bool] = lambda _: True
    ) -> dict[str, SessionEntry | None]:
        """Return the valid entries of these transcripts; None for one whose project is not wanted, which is not decoded."""
        storable = [path for path in wanted if _is_utf8(path)]
        if self._connection is None or not storable:
            return {}
        marks = ", ".join("?" * len(storable))
        try:
            rows = self._connection.execute(
                f"SELECT path, modified_ns, size_bytes, agent, project, entry FROM entries WHERE path IN ({marks})",
                storable,
            ).fetchall()
        except sqlite3.Error:
            return {}
        found: dict[str, SessionEntry | None] = {}
        for path, *stamp, project, entry in rows:
            if Stamp(*stamp) != wanted[path]:
                continue
            if not is_wanted(project):
                found[path] = None
            elif (read := _from_json(entry)) is not None:
                found[path] = read
        return found

    def save(self, entries: Sequence[tuple[Stamp, SessionEntry]]) -> None:
        """Save entries, unless others keep the library busy; a library that cannot be read is not replaced for that."""
        if not entries:
            return
        with suppress(StorageError, sqlite3.Error):
            connection = database.open_for_catalogue(self._folder, patience_seconds=_WRITE_SECONDS)
            # Whoever forgets a session meanwhile deletes its entry after this transaction.
            with closing(connection), database.transaction(connection):
                rows = [*_clean_rows(entries, Forgotten(self._folder))]
                connection.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def _clean_rows(
    entries: Sequence[tuple[Stamp, SessionEntry]], forgotten: Forgotten
) -> Iterator[tuple[object, ...]]:
    """Yield the rows to save, without forgotten sessions and texts, and without sessions whose path, id or project holds one."""
    for stamp, entry in entries:
        if forgotten.includes_session(entry.session_id) or forgotten.any_occurs_in(
            (entry.session_id, entry.transcript, entry.project)
        ):
            continue
        parent = entry.parent
        is_orphan = parent is not None and (
            forgotten.includes_session(parent.session_id)
            or forgotten.any_occurs_in((parent.session_id, parent.transcript))
        )
        clean = entry._replace(
            first_prompt=entry.first_prompt and _clean_prompt(entry.first_prompt, forgotten),
            parent=None if is_orphan else entry.parent,
        )
        text = _to_json(clean)
        if text is not None:
            yield entry.transcript, *stamp, entry.session_id, entry.project, text


def _clean_prompt(prompt: str, forgotten: Forgotten) -> str:
    is_cut = len(prompt) >= MAX_PROMPT_CHARS
    return forgotten.mask_truncated(prompt) if is_cut else forgotten.mask(prompt)


def _to_json(entry: SessionEntry) -> str | None:
    """Return the JSON form; None for an entry that is not valid UTF-8, which is then read from its transcript each time."""
    parent = None if entry.parent is None else entry.parent._asdict()
    values = entry._asdict() | {
        "modified_at": entry.modified_at.isoformat(),
        "occupancy": entry.occupancy._asdict(),
        "parent": parent,
    }
    text = json.dumps(values, ensure_ascii=False)
    return text if _is_utf8(text) else None


def _is_utf8(text: str) -> bool:
    """Return whether a text can be stored; the name of a file may hold any bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _from_json(text: str) -> SessionEntry | None:
    """Parse a saved entry; None where its form is unknown."""
    try:
        fields: dict[str, Any] = orjson.loads(text)
        parent = fields["parent"]
        fields |= {
            "modified_at": datetime.fromisoformat(fields["modified_at"]),
            "occupancy": Occupancy(**(fields["occupancy"] | {"turn_ends_tokens": ()})),
            "parent": Parent(**parent) if parent else None,
        }
        return SessionEntry(**fields)
    except (LookupError, TypeError, ValueError):
        return None
