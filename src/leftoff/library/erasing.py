"""Erasing from the library so that it can be proven: no row, no word, no free page and no log of SQLite still holds it.

What was erased is remembered as digests alone, so that the next update does not read it in again; that is done first, so that
whoever is writing meanwhile adds nothing of it. Texts are compared by their letters and digits, as they are when they come in again.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence

from leftoff.library import shelf as shelves
from leftoff.library.blocks import packed, unpacked
from leftoff.library.forgotten import MASK
from leftoff.library.normal import normal, spans, without
from leftoff.library.writing import Writer, words_of
from leftoff.system import ids


def sources_of(shelf: sqlite3.Connection, session_id: str) -> list[str]:
    """The transcripts and documents that are called by the session's id."""
    return [row[0] for row in shelf.execute("SELECT path FROM sources WHERE session_id = ?", (session_id,))]


def erase_session(writer: Writer, session_id: str, paths: Iterable[str]) -> int:
    """Everything of the session and of ``paths``, and it is never taken in again; how many sources there were."""
    writer.forgotten.add_session(session_id)
    gone = {*paths}
    with shelves.troubles(writer.path):
        count = writer.remove({*gone, *sources_of(writer.shelf, session_id)})
        with shelves.writing(writer.shelf):
            writer.shelf.execute("DELETE FROM entries WHERE session_id = ?", (session_id,))
            writer.shelf.executemany("DELETE FROM entries WHERE path = ?", [(path,) for path in gone])
            if ids.is_uuid(session_id):  # any other may be a word, or another program's number
                _mask_all(writer.shelf, session_id)
    return count


def erase_text(writer: Writer, text: str) -> int:
    """The text wherever it stands, and it is masked wherever it comes in again; in how many pieces it stood."""
    writer.forgotten.add_text(text)
    with shelves.troubles(writer.path), shelves.writing(writer.shelf):
        return _mask_all(writer.shelf, text)


def holds(shelf: sqlite3.Connection, text: str) -> bool:
    """Whether anything in the library still holds it; blocks are compressed, so bytes alone do not tell."""
    masked = masking(text)
    return any(masked(each) != each for each in _texts(shelf))


def masking(text: str) -> Callable[[str], str]:
    """What takes a text out of others: as it stands, and in any case, spacing and punctuation."""
    letters = normal(text)

    def masked(other: str) -> str:
        plain = other.replace(text, MASK) if text in other else other
        return without(plain, [*spans(plain, letters)], MASK) if letters else plain

    return masked


def _texts(shelf: sqlite3.Connection) -> Iterator[str]:
    for (data,) in shelf.execute("SELECT data FROM blocks"):
        yield from unpacked(data)
    for query in ("SELECT title FROM sources WHERE title IS NOT NULL", "SELECT path FROM paths"):
        yield from (row[0] for row in shelf.execute(query))
    for (entry,) in shelf.execute("SELECT entry FROM entries"):
        yield from _said(entry)


def _mask_all(shelf: sqlite3.Connection, text: str) -> int:
    masked, count = masking(text), 0
    for (block,) in shelf.execute("SELECT id FROM blocks").fetchall():
        (data,) = shelf.execute("SELECT data FROM blocks WHERE id = ?", (block,)).fetchone()
        count += _mask_block(shelf, block, unpacked(data), masked)
    _mask_rows(shelf, masked)
    return count


def _mask_block(
    shelf: sqlite3.Connection, block: int, texts: Sequence[str], masked: Callable[[str], str]
) -> int:
    after = [masked(each) for each in texts]
    changed = {slot for slot, each in enumerate(after) if each != texts[slot]}
    if not changed:
        return 0
    pieces = shelf.execute("SELECT id, slot FROM pieces WHERE block = ?", (block,)).fetchall()
    for number, slot in pieces:
        if slot in changed:
            shelf.execute(
                "INSERT INTO words(words, rowid, t) VALUES ('delete', ?, ?)", (number, words_of(texts[slot]))
            )
            shelf.execute("INSERT INTO words(rowid, t) VALUES (?, ?)", (number, words_of(after[slot])))
    shelf.execute("UPDATE blocks SET data = ? WHERE id = ?", (packed(after), block))
    return len(changed)


def _mask_rows(shelf: sqlite3.Connection, masked: Callable[[str], str]) -> None:
    """What stands beside the texts: titles, entries of the catalogue, names of files."""
    titles = shelf.execute("SELECT id, title FROM sources WHERE title IS NOT NULL").fetchall()
    for number, title in titles:
        if (clean := masked(title)) != title:
            shelf.execute("UPDATE sources SET title = ? WHERE id = ?", (clean, number))
    for path, entry in shelf.execute("SELECT path, entry FROM entries").fetchall():
        if any(masked(each) != each for each in _said(entry)):
            shelf.execute("DELETE FROM entries WHERE path = ?", (path,))
    for number, path in shelf.execute("SELECT id, path FROM paths").fetchall():
        if masked(path) != path:
            shelf.execute("DELETE FROM touches WHERE path = ?", (number,))
            shelf.execute("DELETE FROM paths WHERE id = ?", (number,))


def _said(entry: str) -> Iterator[str]:
    """The words of an entry of the catalogue."""
    try:
        fields = json.loads(entry)
    except ValueError:
        yield entry
        return
    parent = fields.pop("parent", None) or {}
    for value in (*fields.values(), *parent.values()):
        if isinstance(value, str):
            yield value
