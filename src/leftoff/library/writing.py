"""Putting sources into the library and taking them out.

A batch is added in one transaction, and only if the source is still where the writer left it: two writers never add the same
twice, one that is killed leaves whole batches, and whoever comes next goes on behind the last. Taking out gives FTS5 the
very words that were put in, which it needs to forget them; nothing is left for later. Nothing is added once more was forgotten
than the writer knows: what it has in hand may hold it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from leftoff.library import shelf as shelves
from leftoff.library.blocks import BETWEEN, packed, unpacked
from leftoff.library.forgotten import Forgotten
from leftoff.library.pieces import Piece, Reached, Source, Waiting, WaitingCalls
from leftoff.library.words import tokens

BLOCK_BYTES = 16 * 1024  # for one text of it all is unpacked: half as much takes a tenth more room


class Writer:
    """A writer of the library in ``folder``."""

    def __init__(self, folder: str, *, patience_seconds: float = 5.0) -> None:
        self.shelf = shelves.opened_to_write(folder, patience_seconds=patience_seconds)
        try:
            self.forgotten = Forgotten(folder)
        except BaseException:
            self.shelf.close()
            raise
        self.path = f"{folder}/{shelves.NAME}"

    def close(self) -> None:
        """No more is written; the log is folded in as far as no reader needs it."""
        with shelves.troubles(self.path):
            self.shelf.close()

    def known(self) -> dict[str, tuple[int, int]]:
        """Every source by path: time of change and size when it was last read."""
        with shelves.troubles(self.path):
            rows = self.shelf.execute("SELECT path, modified_ns, size_bytes FROM sources").fetchall()
        return {path: (modified_ns, size) for path, modified_ns, size in rows}

    def sources(self, paths: Iterable[str]) -> list[Source]:
        """Those of the paths that are known, as they were when they were last read."""
        columns = "type, path, agent, session_id, project, title, modified_ns, size_bytes"
        with shelves.troubles(self.path):
            rows = [
                row
                for path in paths
                for row in self.shelf.execute(f"SELECT {columns} FROM sources WHERE path = ?", (path,))
            ]
        return [Source(*row) for row in rows]

    def fact(self, name: str) -> str | None:
        """What was noted under that name; None for nothing yet."""
        with shelves.troubles(self.path):
            row = self.shelf.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def note(self, name: str, value: str) -> None:
        """Note it for the next writer."""
        with shelves.troubles(self.path), shelves.writing(self.shelf):
            self.shelf.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def folders(self) -> list[str]:
        """Those that were looked through."""
        with shelves.troubles(self.path):
            return [row[0] for row in self.shelf.execute("SELECT path FROM folders")]

    def folders_at(self, folders: Iterable[str]) -> dict[str, int]:
        """Those of the folders that were looked through, with their times of change then."""
        with shelves.troubles(self.path):
            rows = self.shelf.execute("SELECT path, modified_ns FROM folders").fetchall()
        wanted = {*folders}
        return {path: modified_ns for path, modified_ns in rows if path in wanted}

    def with_tools(self, tools: Iterable[str]) -> list[str]:
        """The sources in which any of these tools was called."""
        named = [*tools]
        marks = ", ".join("?" * len(named))
        with shelves.troubles(self.path):
            rows = self.shelf.execute(
                "SELECT DISTINCT s.path FROM pieces p JOIN sources s ON s.id = p.source"
                f" WHERE p.tool IN ({marks})",
                named,
            ).fetchall()
        return [row[0] for row in rows]

    def reached(self, path: str) -> tuple[Reached | None, WaitingCalls]:
        """How far a source was read, None for nothing yet, and the calls that wait for a result."""
        with shelves.troubles(self.path):
            row = self.shelf.execute(
                "SELECT id, line_idx, start, end, digest FROM sources WHERE path = ?", (path,)
            ).fetchone()
            if row is None:
                return None, {}
            waiting = self.shelf.execute(
                "SELECT call_id, tool, piece FROM waiting WHERE source = ?", (row[0],)
            ).fetchall()
        calls = {call_id: Waiting(tool, piece) for call_id, tool, piece in waiting}
        return (None if row[1] is None else Reached(*row[1:])), calls

    def add(
        self, source: Source, pieces: Sequence[Piece], *, before: Reached | None, after: Reached | None
    ) -> bool:
        """Add the pieces that follow ``before``; False, and nothing is added, when another writer or a forgetting came between."""
        with shelves.troubles(self.path), shelves.writing(self.shelf):
            source_id = None if self.forgotten.has_changed() else self._source(source, before, after)
            if source_id is None:
                return False
            self._add_pieces(source_id, pieces)
        return True

    def replace(self, source: Source, pieces: Sequence[Piece]) -> bool:
        """Put a whole document in, in place of what was known of it; False, and nothing is done, as above."""
        with shelves.troubles(self.path), shelves.writing(self.shelf):
            if self.forgotten.has_changed():
                return False
            self._remove([*self._ids_of(source.path)])
            source_id = self._source(source, None, None)
            assert source_id is not None
            self._add_pieces(source_id, pieces)
        return True

    def remove(self, source_paths: Iterable[str]) -> int:
        """Take out what is known of these sources; how many there were."""
        with shelves.troubles(self.path), shelves.writing(self.shelf):
            return self.remove_within(source_paths)

    def remove_within(self, source_paths: Iterable[str]) -> int:
        """The same for who is in the middle of writing."""
        ids = [found for path in source_paths for found in self._ids_of(path)]
        self._remove(ids)
        return len(ids)

    def mark_archived(self, archived: Iterable[str]) -> None:
        """Of which sources a copy is in the archive, so that they stay known when the agent deletes its own; of no others."""
        with shelves.troubles(self.path), shelves.writing(self.shelf):
            self.shelf.execute("UPDATE sources SET archived = 0 WHERE archived")
            self.shelf.executemany(
                "UPDATE sources SET archived = 1 WHERE path = ?", [(path,) for path in archived]
            )

    def remember_folders(self, folders: dict[str, int], facts: dict[str, str]) -> None:
        """Which folders were looked through, with their times of change: one that changes has something new."""
        with shelves.troubles(self.path), shelves.writing(self.shelf):
            self.shelf.execute("DELETE FROM folders")
            self.shelf.executemany("INSERT INTO folders VALUES (?, ?)", folders.items())
            self.shelf.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())

    def optimise(self) -> None:
        """Put the words in order after much was added: searching is quicker then."""
        with shelves.troubles(self.path), shelves.writing(self.shelf):
            self.shelf.execute("INSERT INTO words(words) VALUES ('optimize')")

    def erase_traces(self) -> bool:
        """Make what was taken out vanish from the file itself: from the words, from free pages and from the log.

        False where somebody has been reading for as long as the writer is patient: the old bytes stay until he is done.
        """
        self.optimise()
        with shelves.troubles(self.path):
            self.shelf.execute("VACUUM")
            is_busy, *_ = self.shelf.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy

    def _source(self, source: Source, before: Reached | None, after: Reached | None) -> int | None:
        """The row of the source, moved on to ``after``; None where it is not at ``before``."""
        row = self.shelf.execute(
            "SELECT id, line_idx, start, end, digest FROM sources WHERE path = ?", (source.path,)
        ).fetchone()
        at = None if row is None or row[1] is None else Reached(*row[1:])
        if at != before:
            return None
        values = (*source, *(after or (None, None, None, None)))
        cursor = self.shelf.execute(
            "INSERT INTO sources(type, path, agent, session_id, project, title, modified_ns, size_bytes, line_idx, start, end,"
            " digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(path) DO UPDATE SET type = excluded.type,"
            " agent = excluded.agent, session_id = excluded.session_id, project = excluded.project, title = excluded.title,"
            " modified_ns = excluded.modified_ns, size_bytes = excluded.size_bytes, line_idx = excluded.line_idx,"
            " start = excluded.start, end = excluded.end, digest = excluded.digest",
            values,
        )
        return cursor.lastrowid if row is None else int(row[0])

    def _add_pieces(self, source_id: int, pieces: Sequence[Piece]) -> None:
        """Of a call that is excluded only its id is kept, by which its result is known and left out too."""
        self.shelf.executemany(
            "INSERT OR REPLACE INTO waiting VALUES (?, ?, 0, ?)",
            [(source_id, each.call_id, each.tool) for each in pieces if each.is_excluded],
        )
        for batch in _blocks([each for each in pieces if not each.is_excluded]):
            self._add_block(source_id, batch)

    def _add_block(self, source_id: int, pieces: Sequence[Piece]) -> None:
        """Behind the last block of the source, or into it while there is room: a line at a time must not make a block each."""
        last = self.shelf.execute(
            "SELECT id, size, data FROM blocks WHERE source = ? ORDER BY id DESC LIMIT 1", (source_id,)
        ).fetchone()
        texts = [_storable(piece.text) for piece in pieces]
        size = sum(map(len, texts))
        if last is not None and last[1] + size <= BLOCK_BYTES:
            block, held = last[0], unpacked(last[2])
            self.shelf.execute(
                "UPDATE blocks SET size = ?, data = ? WHERE id = ?",
                (last[1] + size, packed([*held, *texts]), block),
            )
        else:
            held = []
            block = self.shelf.execute(
                "INSERT INTO blocks(source, size, data) VALUES (?, ?, ?)", (source_id, size, packed(texts))
            ).lastrowid
        for slot, (piece, text) in enumerate(zip(pieces, texts, strict=True), len(held)):
            self._add_piece(source_id, block, slot, piece, text)

    def _add_piece(self, source_id: int, block: int, slot: int, piece: Piece, text: str) -> None:
        asked = self._asked(source_id, piece) if piece.kind == "result" else None
        tool = piece.tool or (asked and asked.tool)
        row = (
            *(
                source_id,
                block,
                slot,
                piece.line,
                piece.start,
                piece.kind,
                round(piece.weight, 4),
                piece.at,
                tool,
            ),
            *(piece.failed, piece.exit_code, asked and asked.piece),
        )
        number = self.shelf.execute(
            "INSERT INTO pieces(source, block, slot, line, start, kind, weight, at, tool, failed, exit_code, asked)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        ).lastrowid
        assert number is not None
        self.shelf.execute("INSERT INTO words(rowid, t) VALUES (?, ?)", (number, words_of(text)))
        if piece.kind in {"call", "command"} and piece.call_id is not None:
            self.shelf.execute(
                "INSERT OR REPLACE INTO waiting VALUES (?, ?, ?, ?)",
                (source_id, piece.call_id, number, piece.tool or ""),
            )
        for touch in piece.touches:
            self._add_touch(number, touch.path, touch.verb)

    def _asked(self, source_id: int, piece: Piece) -> Waiting | None:
        """The call that the piece is the result of; it waits no longer, and takes over how it ended."""
        row = self.shelf.execute(
            "SELECT tool, piece FROM waiting WHERE source = ? AND call_id = ?", (source_id, piece.call_id)
        ).fetchone()
        if row is None:
            return None
        self.shelf.execute("DELETE FROM waiting WHERE source = ? AND call_id = ?", (source_id, piece.call_id))
        self.shelf.execute(
            "UPDATE pieces SET failed = ?, exit_code = ? WHERE id = ?",
            (piece.failed, piece.exit_code, row[1]),
        )
        return Waiting(*row)

    def _add_touch(self, piece: int, path: str, verb: str) -> None:
        self.shelf.execute(
            "INSERT OR IGNORE INTO paths(path, name) VALUES (?, ?)",
            (path, path.replace("\\", "/").rpartition("/")[2]),
        )
        self.shelf.execute(
            "INSERT OR IGNORE INTO touches SELECT id, ?, ? FROM paths WHERE path = ?", (piece, verb, path)
        )

    def _ids_of(self, path: str) -> list[int]:
        return [row[0] for row in self.shelf.execute("SELECT id FROM sources WHERE path = ?", (path,))]

    def _remove(self, source_ids: Sequence[int]) -> None:
        for source_id in source_ids:
            for block, data in self.shelf.execute(
                "SELECT id, data FROM blocks WHERE source = ?", (source_id,)
            ).fetchall():
                self._forget_words(block, unpacked(data))
            own = "SELECT id FROM pieces WHERE source = ?"
            self.shelf.execute(f"DELETE FROM touches WHERE piece IN ({own})", (source_id,))
            for table in ("pieces", "blocks", "waiting"):
                self.shelf.execute(f"DELETE FROM {table} WHERE source = ?", (source_id,))
            self.shelf.execute("DELETE FROM sources WHERE id = ?", (source_id,))
        if source_ids:
            self.shelf.execute("DELETE FROM paths WHERE id NOT IN (SELECT path FROM touches)")

    def _forget_words(self, block: int, texts: Sequence[str]) -> None:
        pieces = self.shelf.execute("SELECT id, slot FROM pieces WHERE block = ?", (block,)).fetchall()
        self.shelf.executemany(
            "INSERT INTO words(words, rowid, t) VALUES ('delete', ?, ?)",
            [(number, words_of(texts[slot])) for number, slot in pieces],
        )


def _storable(text: str) -> str:
    """What UTF-8 can hold, and what cannot be taken for the end of a text."""
    return text.replace(BETWEEN, " ").encode("utf-8", "replace").decode()


def words_of(text: str) -> str:
    """What a text is found by, as FTS5 is given it, and given again to take it out."""
    return " ".join(tokens(text))


def _blocks(pieces: Sequence[Piece]) -> Iterable[list[Piece]]:
    batch: list[Piece] = []
    size = 0
    for piece in pieces:
        if batch and size + len(piece.text) > BLOCK_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(piece)
        size += len(piece.text)
    if batch:
        yield batch
