"""Forgetting in the library: what it knows of sessions, whether it holds words, and erasing them.

Nobody reads in or archives meanwhile, and what is compressed in it is unpacked to be looked at. A library that is there and cannot
be read is an error: not knowing is no proof.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from leftoff.flows.library_folder import LOCK, library_folder
from leftoff.library import erasing
from leftoff.library import shelf as shelves
from leftoff.library.writing import Writer
from leftoff.model.values import dataclass
from leftoff.system import files, locks

_PATIENCE_SECONDS = 60.0
_READER_SECONDS = 30.0  # as long as one search is read, the file keeps what that began with


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A session that something of ours knows; ``transcript`` is where its agent has or had it."""

    session_id: str
    agent: str | None = None
    transcript: str | None = None
    project: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """How many sources and pieces there were; ``is_done`` is False while a reader still keeps the old bytes in the file."""

    count: int
    is_done: bool


@contextmanager
def nobody_reading() -> Iterator[None]:
    """No update and no archiving until the block ends: they would take in again what is being erased."""
    folder = Path(library_folder())
    files.make_folder(folder)
    with locks.held(folder / LOCK, timeout_seconds=_PATIENCE_SECONDS):
        yield


def sessions() -> list[Recorded]:
    """Every session that the library knows, also those that their agent has deleted."""
    with _opened() as shelf:
        if shelf is None:
            return []
        rows = shelf.execute(
            "SELECT session_id, agent, path, project FROM sources WHERE type = 'session'"
            " UNION SELECT session_id, agent, path, project FROM entries"
        ).fetchall()
    return [
        Recorded(session_id=session_id, agent=agent, transcript=path, project=project)
        for session_id, agent, path, project in rows
        if session_id
    ]


def projects() -> set[str]:
    """Every project that anything in the library is of."""
    with _opened() as shelf:
        rows = [] if shelf is None else shelf.execute("SELECT DISTINCT project FROM sources").fetchall()
    return {row[0] for row in rows if row[0]}


def knows(session_ids: Iterable[str]) -> bool:
    """Whether anything of any of the sessions is there."""
    with _opened() as shelf:
        return shelf is not None and any(_is_known(shelf, each) for each in session_ids)


def holds(texts: Sequence[str]) -> bool:
    """Whether anything that is stored there holds any of these words."""
    with _opened() as shelf:
        return shelf is not None and erasing.holds(shelf, texts)


def called_by(text: str) -> int:
    """How many sessions and documents have the text in their path, project or id."""
    with _opened() as shelf:
        return 0 if shelf is None else len(erasing.called_by(shelf, text))


def erase(of_sessions: Sequence[tuple[str, str | None]], gone: Iterable[Path], text: str | None) -> Erased:
    """Erase sessions (id and transcript), documents that are gone or below a folder that is, and a text.

    A library whose words an older leftoff cut goes whole: the next search makes it anew, without what is forgotten.
    """
    with closing(Writer(library_folder(), patience_seconds=_READER_SECONDS)) as writer:
        transcripts = [transcript for _, transcript in of_sessions if transcript]
        count = erasing.erase_sessions(writer, [session_id for session_id, _ in of_sessions], transcripts)
        deleted = {*gone}
        known = {Path(path): path for path in writer.known()} if deleted else {}
        count += writer.remove(
            [name for path, name in known.items() if path in deleted or not deleted.isdisjoint(path.parents)]
        )
        if text is not None:
            count += erasing.erase_text(writer, text)
        is_done = writer.erase_traces()
    return Erased(count=count, is_done=is_done)


def _is_known(shelf: sqlite3.Connection, session_id: str) -> bool:
    listed = shelf.execute("SELECT 1 FROM entries WHERE session_id = ?", (session_id,)).fetchone()
    return listed is not None or bool(erasing.sources_of(shelf, session_id))


@contextmanager
def _opened() -> Iterator[sqlite3.Connection | None]:
    path = f"{library_folder()}/{shelves.NAME}"
    shelf = shelves.read_if_any(library_folder())
    try:
        with shelves.troubles(path):
            yield shelf
    finally:
        if shelf is not None:
            shelf.close()
