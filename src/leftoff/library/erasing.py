"""Erasing from the library so that it can be proven: no row, no word, no free page and no log of SQLite still holds it.

What was erased is remembered as digests alone, so that the next update does not read it in again; that is done first, so that
whoever is writing meanwhile adds nothing of it. Texts are compared by their letters and digits, as they are when they come in again.
What a source is called by (its path, its project, its id) cannot be masked, or it would be found no more: such a source goes whole.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from leftoff.library import shelf as shelves
from leftoff.library.blocks import packed, unpacked
from leftoff.library.forgotten import MASK
from leftoff.library.normal import normal, places, spans, without, writings
from leftoff.library.pieces import LONGEST_TITLE
from leftoff.library.writing import Writer, words_of
from leftoff.model.session import LONGEST_PROMPT
from leftoff.system import ids

_TOOLS = "SELECT tool FROM pieces UNION SELECT tool FROM waiting"
# What is kept beside the texts, in plain letters; the catalogue's entries are looked into.
_BESIDE = (
    *("SELECT path FROM sources", "SELECT project FROM sources", "SELECT session_id FROM sources"),
    *("SELECT title FROM sources", "SELECT path FROM paths", "SELECT path FROM folders", _TOOLS),
)


def sources_of(shelf: sqlite3.Connection, session_id: str) -> list[str]:
    """The transcripts and documents that are called by the session's id."""
    return [row[0] for row in shelf.execute("SELECT path FROM sources WHERE session_id = ?", (session_id,))]


def erase_sessions(writer: Writer, session_ids: Collection[str], paths: Iterable[str]) -> int:
    """Everything of the sessions and of ``paths``, and they are never taken in again; how many sources there were."""
    writer.forgotten.add_sessions(session_ids)
    gone = {*paths}
    # Any other id may be a word, or another program's number.
    mentioned = [session_id for session_id in session_ids if ids.is_uuid(session_id)]
    with shelves.troubles(writer.path):
        called = {path for session_id in session_ids for path in sources_of(writer.shelf, session_id)}
        count = writer.remove(gone | called)
        with shelves.writing(writer.shelf):
            for column, values in (("session_id", session_ids), ("path", gone)):
                writer.shelf.executemany(
                    f"DELETE FROM entries WHERE {column} = ?", [(value,) for value in values]
                )
            if mentioned:
                _mask_all(writer, mentioned)
    return count


def erase_text(writer: Writer, text: str) -> int:
    """The text wherever it stands, and it is masked wherever it comes in again; in how many pieces it stood."""
    writer.forgotten.add_text(text)
    with shelves.troubles(writer.path), shelves.writing(writer.shelf):
        return _mask_all(writer, [text])


def holds(shelf: sqlite3.Connection, texts: Sequence[str]) -> bool:
    """Whether anything in the library still holds any of them; blocks are compressed, so bytes alone do not tell."""
    masked = masking(*texts)
    return any(masked(each) != each for each in _texts(shelf)) if texts else False


def called_by(shelf: sqlite3.Connection, *texts: str) -> list[str]:
    """The sources whose path, project or id holds any of the texts."""
    masked = masking(*texts)
    rows = shelf.execute("SELECT path, project, session_id FROM sources").fetchall()
    return [row[0] for row in rows if any(each and masked(each) != each for each in row)]


def masking(*texts: str) -> Callable[[str], str]:
    """What takes texts out of others: as they stand, and in any case, spacing and punctuation."""
    wanted = [each for text in texts for each in writings(text)]

    def masked(other: str) -> str:
        reduced = normal(other)  # once for all: where the letters of a text do not stand, it does not either
        for text, letters in wanted:
            if letters in reduced:
                other = other.replace(text, MASK)
                other = without(other, [*spans(other, letters)], MASK)
        return other

    return masked


def cutting(texts: Sequence[str]) -> Callable[[str], str]:
    """What takes half a text off the end of another that was cut there."""
    wanted = [letters for text in texts for _, letters in writings(text) if letters]

    def cut(other: str) -> str:
        reduced = normal(other)
        begun = max((_begun(reduced, letters) for letters in wanted), default=0)
        return other[: places(other)[-begun]] if begun else other

    return cut


def _begun(reduced: str, letters: str) -> int:
    """With how many of its letters a text begins where the other ends; never all of them."""
    sizes = range(min(len(letters) - 1, len(reduced)), 0, -1)
    return next((size for size in sizes if reduced.endswith(letters[:size])), 0)


def _texts(shelf: sqlite3.Connection) -> Iterator[str]:
    for (data,) in shelf.execute("SELECT data FROM blocks"):
        yield from unpacked(data)
    for query in _BESIDE:
        yield from (row[0] for row in shelf.execute(query) if row[0])
    for (entry,) in shelf.execute("SELECT entry FROM entries"):
        yield from _said(entry)


def _mask_all(writer: Writer, texts: Sequence[str]) -> int:
    """All of them in one pass: every block is unpacked once."""
    shelf, masked = writer.shelf, masking(*texts)
    count = writer.remove_within(called_by(shelf, *texts))
    for (block,) in shelf.execute("SELECT id FROM blocks").fetchall():
        (data,) = shelf.execute("SELECT data FROM blocks WHERE id = ?", (block,)).fetchone()
        count += _mask_block(shelf, block, unpacked(data), masked)
    _mask_cut(shelf, cutting(texts))
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


def _mask_cut(shelf: sqlite3.Connection, cut: Callable[[str], str]) -> None:
    """Titles, and prompts of the catalogue, were cut for their length: half a text may stand at their ends."""
    titles = shelf.execute("SELECT id, title FROM sources WHERE title IS NOT NULL").fetchall()
    for number, title in titles:
        # One in which a text was masked before has another length now.
        if (len(title) >= LONGEST_TITLE or MASK in title) and (clean := cut(title)) != title:
            shelf.execute("UPDATE sources SET title = ? WHERE id = ?", (clean, number))
    for path, entry in shelf.execute("SELECT path, entry FROM entries").fetchall():
        said = (each for each in _said(entry) if len(each) >= LONGEST_PROMPT or MASK in each)
        if any(cut(each) != each for each in said):
            shelf.execute("DELETE FROM entries WHERE path = ?", (path,))


def _mask_rows(shelf: sqlite3.Connection, masked: Callable[[str], str]) -> None:
    """What stands beside the texts: titles, entries of the catalogue, names."""
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
    _mask_names(shelf, masked)


def _mask_names(shelf: sqlite3.Connection, masked: Callable[[str], str]) -> None:
    """A folder is then not known to be looked through, and a tool not to be called so."""
    for (path,) in shelf.execute("SELECT path FROM folders").fetchall():
        if masked(path) != path:
            shelf.execute("DELETE FROM folders WHERE path = ?", (path,))
    for (tool,) in shelf.execute(_TOOLS).fetchall():
        if tool and masked(tool) != tool:
            shelf.execute("UPDATE pieces SET tool = NULL WHERE tool = ?", (tool,))
            shelf.execute("UPDATE waiting SET tool = '' WHERE tool = ?", (tool,))


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
