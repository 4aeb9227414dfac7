"""Forget in the library: find and delete sessions, mask texts, and leave nothing in free pages or logs of SQLite.

What is forgotten is remembered first, as digests, so that a process that is indexing meanwhile adds nothing of it. A path,
project or id cannot be masked, because the source would no longer be found by it: such a source is deleted.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from leftoff.catalogue import database
from leftoff.catalogue.database import library_folder
from leftoff.catalogue.forgotten import MASK
from leftoff.core.session import MAX_PROMPT_CHARS
from leftoff.forget.matcher import Matcher
from leftoff.search.changes import FOLDERS_NAMED
from leftoff.search.index_writer import INDEX, UNINDEX, IndexWriter
from leftoff.search.pieces import MAX_TITLE_CHARS, pack_texts, unpack_texts

_READER_SECONDS = 30.0  # while a search is reading, the file keeps the old content
_SOURCE_NAMES = "SELECT path, project, session_id FROM sources"
_TOOLS = "SELECT tool FROM pieces UNION SELECT tool FROM waiting"
_NAMES = (
    *("SELECT path FROM sources", "SELECT project FROM sources", "SELECT session_id FROM sources"),
    "SELECT title FROM sources",
)
# How a name with a match is removed; a source with one is deleted before.
_NAMES_TO_DELETE = {
    "SELECT path FROM paths": (
        "DELETE FROM touches WHERE path = (SELECT id FROM paths WHERE path = ?)",
        "DELETE FROM paths WHERE path = ?",
    ),
    "SELECT path FROM folders": ("DELETE FROM folders WHERE path = ?",),
    _TOOLS: ("UPDATE pieces SET tool = NULL WHERE tool = ?", "UPDATE waiting SET tool = '' WHERE tool = ?"),
}


class KnownSession(NamedTuple):
    """A session to forget, as far as it is known; ``transcript`` is where its agent has or had it."""

    session_id: str
    agent: str | None = None
    transcript: str | None = None
    project: str | None = None
    is_local: bool = True  # False: nothing on this machine knows it, and only the remote is asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """How many sources and texts were erased; ``is_done`` is False while a reader keeps the old content in the file."""

    count: int
    is_done: bool


def library_path() -> Path:
    """Return the path of the library's file."""
    return Path(library_folder(), database.FILE_NAME)


def list_sessions() -> list[KnownSession]:
    """List every session in the library, including those that their agent has deleted."""
    rows = _query(
        "SELECT session_id, agent, path, project FROM sources WHERE type = 'session'"
        " UNION SELECT session_id, agent, path, project FROM entries"
    )
    return [KnownSession(*row) for row in rows if row[0]]


def list_projects() -> set[str]:
    """Return every project of a source in the library."""
    return {project for (project,) in _query("SELECT DISTINCT project FROM sources") if project}


def has_sessions(session_ids: Iterable[str]) -> bool:
    """Whether the library has a source or an entry of any of the sessions."""
    rows = _query("SELECT session_id FROM entries UNION SELECT session_id FROM sources")
    return not {*session_ids}.isdisjoint(session_id for (session_id,) in rows)


def index_holds(matcher: Matcher) -> bool:
    """Whether anything in the library holds a match."""
    if matcher.is_empty:
        return False
    with _open() as connection:
        return connection is not None and any(matcher.is_in(each) for each in _all_texts(connection))


def count_named_by(matcher: Matcher) -> int:
    """Return how many sessions and documents have a match in their path, project or id."""
    return sum(matcher.is_in(*row) for row in _query(_SOURCE_NAMES))


def _query(query: str) -> list[tuple[Any, ...]]:
    """Return the rows; none where there is no library."""
    with _open() as connection:
        return [] if connection is None else connection.execute(query).fetchall()


@contextmanager
def _open() -> Iterator[sqlite3.Connection | None]:
    connection = database.open_if_present(library_folder())
    try:
        with database.translate_errors(str(library_path())):
            yield connection
    finally:
        if connection is not None:
            connection.close()


def _all_texts(connection: sqlite3.Connection) -> Iterator[str]:
    for (data,) in connection.execute("SELECT data FROM blocks"):
        yield from unpack_texts(data)
    for query in (*_NAMES, *_NAMES_TO_DELETE):
        yield from (row[0] for row in connection.execute(query) if row[0])
    for (entry,) in connection.execute("SELECT entry FROM entries"):
        yield from _entry_texts(entry)


def _sources_named_by(connection: sqlite3.Connection, matcher: Matcher) -> list[str]:
    return [row[0] for row in connection.execute(_SOURCE_NAMES).fetchall() if matcher.is_in(*row)]


def erase_from_index(
    session_ids: Collection[str],
    transcripts: Collection[str],
    deleted: Collection[Path],
    text: str | None,
    matcher: Matcher,
) -> Erased:
    """Erase sessions, documents that are deleted or below a deleted folder, and all matches; a text is remembered.

    A library that an older leftoff made is replaced by an empty one, which the next search fills without what is forgotten. The
    caller holds the library's lock.
    """
    for path in Path(library_folder()).glob("*.sqlite3*"):
        if not path.name.startswith(database.FILE_NAME):  # a killed process was building it
            path.unlink(missing_ok=True)
    with closing(IndexWriter(library_folder(), patience_seconds=_READER_SECONDS)) as writer:
        connection = writer.connection
        writer.forgotten.add_sessions(session_ids)
        if text is not None:
            writer.forgotten.add_text(text)
        with database.translate_errors(writer.path):
            count = writer.remove({*transcripts, *_sources_to_delete(writer, session_ids, {*deleted})})
            with database.transaction(connection):
                for column, values in (("session_id", session_ids), ("path", transcripts)):
                    connection.executemany(
                        f"DELETE FROM entries WHERE {column} = ?", [(value,) for value in values]
                    )
                masked = 0 if matcher.is_empty else _mask_everything(writer, matcher)
                count += masked if text is not None else 0  # the number of sessions says enough
                # The watched folders may be named by a match; without this fact, the next search lists them all again.
                connection.execute("DELETE FROM facts WHERE name = ?", (FOLDERS_NAMED,))
            return Erased(count=count, is_done=writer.erase_traces())


def _sources_to_delete(writer: IndexWriter, session_ids: Iterable[str], deleted: set[Path]) -> set[str]:
    query = "SELECT path FROM sources WHERE session_id = ?"
    found = {row[0] for each in session_ids for row in writer.connection.execute(query, (each,))}
    if deleted:
        known = {Path(path): path for path in writer.known_sources()}
        found |= {name for path, name in known.items() if not deleted.isdisjoint((path, *path.parents))}
    return found


def _mask_everything(writer: IndexWriter, matcher: Matcher) -> int:
    """Delete sources that are named by a match, and mask the others; return how many sources and texts had one."""
    connection = writer.connection
    count = writer.remove_within(_sources_named_by(connection, matcher))
    for (block,) in connection.execute("SELECT id FROM blocks").fetchall():
        (data,) = connection.execute("SELECT data FROM blocks WHERE id = ?", (block,)).fetchone()
        count += _mask_block(connection, block, unpack_texts(data), matcher)
    _mask_titles(connection, matcher)
    for path, entry in connection.execute("SELECT path, entry FROM entries").fetchall():
        # Entries come back with the next list of sessions.
        if any(matcher.is_in(each) or _ends_with_half(each, matcher) for each in _entry_texts(entry)):
            connection.execute("DELETE FROM entries WHERE path = ?", (path,))
    for query, statements in _NAMES_TO_DELETE.items():
        for (name,) in connection.execute(query).fetchall():
            if matcher.is_in(name):
                for statement in statements:
                    connection.execute(statement, (name,))
    return count


def _mask_block(connection: sqlite3.Connection, block: int, texts: Sequence[str], matcher: Matcher) -> int:
    masked = [matcher.mask(each) for each in texts]
    changed = {slot for slot, each in enumerate(masked) if each != texts[slot]}
    if not changed:
        return 0
    pieces = connection.execute("SELECT id, slot FROM pieces WHERE block = ?", (block,)).fetchall()
    numbers = [(number,) for number, slot in pieces if slot in changed]
    connection.executemany(f"{UNINDEX} = ?", numbers)
    connection.execute("UPDATE blocks SET data = ? WHERE id = ?", (pack_texts(masked), block))
    connection.executemany(f"{INDEX} = ?", numbers)
    return len(changed)


def _mask_titles(connection: sqlite3.Connection, matcher: Matcher) -> None:
    """Mask the titles; one that was cut off may end with half a match, and one with a mask in it had another length then."""
    titles = connection.execute("SELECT id, title FROM sources WHERE title IS NOT NULL").fetchall()
    for number, title in titles:
        is_cut = len(title) >= MAX_TITLE_CHARS or MASK in title
        masked = matcher.mask(matcher.without_half(title) if is_cut else title)
        if masked != title:
            connection.execute("UPDATE sources SET title = ? WHERE id = ?", (masked, number))


def _ends_with_half(text: str, matcher: Matcher) -> bool:
    """Whether a prompt that may have been cut off ends with half a match; one that was masked is shorter by now."""
    return len(text) > MAX_PROMPT_CHARS // 2 and matcher.without_half(text) != text


def _entry_texts(entry: str) -> Iterator[str]:
    """Yield the strings of a session entry."""
    try:
        fields = json.loads(entry)
    except ValueError:
        yield entry
        return
    parent = fields.pop("parent", None) or {}
    yield from (value for value in (*fields.values(), *parent.values()) if isinstance(value, str))
