"""What a list shows of each session, by transcript: looked up for those that are asked for, however many there are.

An entry holds as long as the file has the same size and time of change. Losing the catalogue costs time, nothing else: whatever
is wrong with it, nothing is known, and what cannot be kept is not kept.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, NamedTuple

from leftoff.errors import StorageError
from leftoff.library import shelf as shelves
from leftoff.library.forgotten import Forgotten
from leftoff.model.session import LONGEST_PROMPT, Parent, SessionEntry

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
        self._shelf = shelves.opened_to_look(folder)

    def close(self) -> None:
        """Nothing more is asked."""
        if self._shelf is not None:
            self._shelf.close()

    def known(
        self, wanted: Mapping[str, Stamp], is_wanted: Callable[[str | None], bool] = lambda _: True
    ) -> dict[str, SessionEntry | None]:
        """Those of the transcripts whose entries hold; None for one whose project is not wanted: it is not even decoded."""
        if self._shelf is None or not wanted:
            return {}
        marks = ", ".join("?" * len(wanted))
        try:
            rows = self._shelf.execute(
                f"SELECT path, modified_ns, size_bytes, agent, project, entry FROM entries WHERE path IN ({marks})",
                [*wanted],
            ).fetchall()
        except sqlite3.Error:
            return {}
        found: dict[str, SessionEntry | None] = {}
        for path, *stamp, project, entry in rows:
            if Stamp(*stamp) != wanted[path]:
                continue
            if not is_wanted(project):
                found[path] = None
            elif (read := _read(entry)) is not None:
                found[path] = read
        return found

    def keep(self, entries: Sequence[tuple[Stamp, SessionEntry]]) -> None:
        """Remember entries, if nobody else is writing for long; a library that cannot be read is not made anew for a list."""
        if not entries:
            return
        with suppress(StorageError, sqlite3.Error):
            shelf = shelves.opened_to_catalogue(self._folder, patience_seconds=_HURRY_SECONDS)
            with (
                closing(shelf),
                shelves.writing(shelf),
            ):  # what is forgotten meanwhile is taken out after this
                rows = [*_rows(entries, Forgotten(self._folder))]
                shelf.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def _rows(
    entries: Sequence[tuple[Stamp, SessionEntry]], forgotten: Forgotten
) -> Iterator[tuple[object, ...]]:
    """What is kept: nothing of a forgotten session or of one that is called by a forgotten text, and no such text."""
    for stamp, entry in entries:
        if forgotten.is_session(entry.session_id) or forgotten.is_in(
            (entry.session_id, entry.transcript, entry.project)
        ):
            continue
        parent = entry.parent
        is_orphan = parent is not None and (
            forgotten.is_session(parent.session_id) or forgotten.is_in((parent.session_id, parent.transcript))
        )
        clean = replace(
            entry,
            first_prompt=entry.first_prompt and _prompt(entry.first_prompt, forgotten),
            parent=None if is_orphan else entry.parent,
        )
        text = _written(clean)
        if text is not None:
            yield entry.transcript, *stamp, entry.session_id, entry.project, text


def _prompt(prompt: str, forgotten: Forgotten) -> str:
    is_cut = len(prompt) >= LONGEST_PROMPT
    return forgotten.masked_cut(prompt) if is_cut else forgotten.masked_text(prompt)


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
