"""Add sources to the index and remove them.

A batch is added in one transaction, and only if the source is still at the position where the writer left it: two writers
never add the same text twice, and a killed one leaves complete batches.
Nothing is added if something was forgotten since the writer started, because its batch may contain it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from leftoff.catalogue import database
from leftoff.catalogue.forgotten import Forgotten
from leftoff.search.match import piece_range
from leftoff.search.pieces import (
    BEGIN,
    END,
    PIECE_BITS,
    SEPARATOR,
    PendingCall,
    PendingCalls,
    Piece,
    ReadPosition,
    Source,
    add_functions,
    pack_texts,
    unpack_texts,
)
from leftoff.search.words import more_words

# Which pieces to remove from the full-text index follows.
UNINDEX = "INSERT INTO words(words, rowid, text, parts) SELECT 'delete', id, text, parts FROM texts WHERE id"
INDEX = "INSERT INTO words(rowid, text, parts) SELECT id, text, parts FROM texts WHERE id"
_REPLACED = {ord(sign): " " for sign in (SEPARATOR, BEGIN, END)}
BLOCK_BYTES = 16 * 1024  # reading one text unpacks its block; half the size would take a tenth more space


class IndexWriter:
    """Writes to the index in ``folder``."""

    def __init__(
        self, folder: str, *, patience_seconds: float = 5.0, file_name: str = database.FILE_NAME
    ) -> None:
        self.connection = database.open_for_writing(
            folder, patience_seconds=patience_seconds, file_name=file_name
        )
        try:
            add_functions(self.connection)
            self.forgotten = Forgotten(folder)
        except BaseException:
            self.connection.close()
            raise
        self.path = f"{folder}/{database.FILE_NAME}"  # as errors name it

    def close(self) -> None:
        """Close the database."""
        with database.translate_errors(self.path):
            self.connection.close()

    def known_sources(self) -> dict[str, tuple[int, int]]:
        """Return every source by path, with its modification time and size when it was last read."""
        rows = self._rows("SELECT path, modified_ns, size_bytes FROM sources")
        return {path: (modified_ns, size) for path, modified_ns, size in rows}

    def sources(self, paths: Iterable[str]) -> list[Source]:
        """Return the known sources among ``paths``, as they were last read."""
        columns = "type, path, agent, session_id, project, title, modified_ns, size_bytes"
        query = f"SELECT {columns} FROM sources WHERE path = ?"
        return [Source(*row) for path in paths for row in self._rows(query, path)]

    def set_fact(self, name: str, value: str) -> None:
        """Store a value under a name."""
        with database.translate_errors(self.path), database.transaction(self.connection):
            self.connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def folders(self) -> dict[str, int]:
        """Return the watched folders with their stamps."""
        return dict(self._rows("SELECT path, modified_ns FROM folders"))

    def sources_using(self, tools: Iterable[str]) -> list[str]:
        """Return the sources in which any of these tools was called."""
        sources = f"SELECT DISTINCT s.path FROM pieces p JOIN sources s ON s.id = p.id >> {PIECE_BITS}"
        return [row[0] for tool in tools for row in self._rows(f"{sources} WHERE p.tool = ?", tool)]

    def read_position(self, path: str) -> tuple[ReadPosition | None, PendingCalls]:
        """Return how far a source was read (None: not at all), and the calls that have no result yet."""
        rows = self._rows("SELECT id, line_idx, start, end, digest FROM sources WHERE path = ?", path)
        if not rows:
            return None, {}
        number, *position = rows[0]
        waiting = self._rows("SELECT call_id, tool, piece FROM waiting WHERE source = ?", number)
        calls = {call_id: PendingCall(tool, piece) for call_id, tool, piece in waiting}
        return (None if position[0] is None else ReadPosition(*position)), calls

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with database.translate_errors(self.path):
            return self.connection.execute(query, values).fetchall()

    def add(
        self,
        source: Source,
        pieces: Sequence[Piece],
        *,
        before: ReadPosition | None,
        after: ReadPosition | None,
    ) -> bool:
        """Add the pieces that follow ``before``. Return False without adding if another writer or a forget came between."""
        with database.translate_errors(self.path), database.transaction(self.connection):
            source_id = None if self.forgotten.has_changed() else self._advance_source(source, before, after)
            if source_id is None:
                return False
            self._add_pieces(source_id, pieces)
        return True

    def replace(self, source: Source, pieces: Sequence[Piece]) -> bool:
        """Replace a whole document. Return False without changing anything if something was forgotten meanwhile."""
        with database.translate_errors(self.path), database.transaction(self.connection):
            if self.forgotten.has_changed():
                return False
            self._remove([*self._source_ids(source.path)])
            source_id = self._advance_source(source, None, None)
            assert source_id is not None
            self._add_pieces(source_id, pieces)
        return True

    def remove(self, source_paths: Iterable[str]) -> int:
        """Remove these sources; return how many there were."""
        with database.translate_errors(self.path), database.transaction(self.connection):
            return self.remove_within(source_paths)

    def remove_within(self, source_paths: Iterable[str]) -> int:
        """Remove these sources inside an open transaction; return how many there were."""
        ids = [found for path in source_paths for found in self._source_ids(path)]
        self._remove(ids)
        return len(ids)

    def mark_archived(self, archived: Iterable[str]) -> None:
        """Mark exactly these sources as archived, so that they stay when the agent deletes its own."""
        with database.translate_errors(self.path), database.transaction(self.connection):
            self.connection.execute("UPDATE sources SET archived = 0 WHERE archived")
            self.connection.executemany(
                "UPDATE sources SET archived = 1 WHERE path = ?", [(path,) for path in archived]
            )

    def remember_folders(self, folders: dict[str, int], facts: dict[str, str]) -> None:
        """Store the watched folders with their stamps, and facts."""
        with database.translate_errors(self.path), database.transaction(self.connection):
            self.connection.execute("DELETE FROM folders")
            self.connection.executemany("INSERT INTO folders VALUES (?, ?)", folders.items())
            self.connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())

    def optimise(self) -> None:
        """Optimise the full-text index after much was added."""
        with database.translate_errors(self.path), database.transaction(self.connection):
            self.connection.execute("INSERT INTO words(words) VALUES ('optimize')")

    def erase_traces(self) -> bool:
        """Erase removed content from the file itself: from the full-text index, free pages and the log.

        Return False if a reader kept the old content in use for longer than the writer waits.
        """
        self.optimise()
        with database.translate_errors(self.path):
            self.connection.execute("VACUUM")
            is_busy, *_ = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy

    def _advance_source(
        self, source: Source, before: ReadPosition | None, after: ReadPosition | None
    ) -> int | None:
        """Move the row of a source on to ``after`` and return its id; None if it is not at ``before``."""
        row = self.connection.execute(
            "SELECT id, line_idx, start, end, digest FROM sources WHERE path = ?", (source.path,)
        ).fetchone()
        position = None if row is None or row[1] is None else ReadPosition(*row[1:])
        if position != before:
            return None
        values = (*source, *(after or (None, None, None, None)))
        cursor = self.connection.execute(
            "INSERT INTO sources(type, path, agent, session_id, project, title, modified_ns, size_bytes, line_idx, start, end,"
            " digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(path) DO UPDATE SET type = excluded.type,"
            " agent = excluded.agent, session_id = excluded.session_id, project = excluded.project, title = excluded.title,"
            " modified_ns = excluded.modified_ns, size_bytes = excluded.size_bytes, line_idx = excluded.line_idx,"
            " start = excluded.start, end = excluded.end, digest = excluded.digest",
            values,
        )
        return cursor.lastrowid if row is None else int(row[0])

    def _add_pieces(self, source_id: int, pieces: Sequence[Piece]) -> None:
        """Add pieces. Of an excluded call only the id is stored, so that its result is left out too."""
        self.connection.executemany(
            "INSERT OR REPLACE INTO waiting VALUES (?, ?, 0, ?)",
            [(source_id, each.call_id, each.tool) for each in pieces if each.is_excluded],
        )
        for batch in _blocks([each for each in pieces if not each.is_excluded]):
            self._add_block(source_id, batch)

    def _add_block(self, source_id: int, pieces: Sequence[Piece]) -> None:
        """Add texts to the last block of the source while it has space, else to a new one."""
        last = self.connection.execute(
            "SELECT id, size, data FROM blocks WHERE source = ? ORDER BY id DESC LIMIT 1", (source_id,)
        ).fetchone()
        texts = [_storable(piece.text) for piece in pieces]
        size = sum(map(len, texts))
        if last is not None and last[1] + size <= BLOCK_BYTES:
            block, held = last[0], unpack_texts(last[2])
            self.connection.execute(
                "UPDATE blocks SET size = ?, data = ? WHERE id = ?",
                (last[1] + size, pack_texts([*held, *texts]), block),
            )
        else:
            held = []
            block = self.connection.execute(
                "INSERT INTO blocks(source, size, data) VALUES (?, ?, ?)",
                (source_id, size, pack_texts(texts)),
            ).lastrowid
        connection = self.connection
        connection.execute("UPDATE sources SET chars = chars + ? WHERE id = ?", (size, source_id))
        first, last = piece_range(source_id)
        newest = connection.execute("SELECT max(id) FROM pieces WHERE id BETWEEN ? AND ?", (first, last))
        number = newest.fetchone()[0] or first
        for slot, (piece, text) in enumerate(zip(pieces, texts, strict=True), len(held)):
            number += 1
            self._add_piece(number, source_id, (block, slot), piece, text)

    def _add_piece(
        self, number: int, source_id: int, place: tuple[int | None, int], piece: Piece, text: str
    ) -> None:
        call = self._take_pending_call(source_id, piece) if piece.kind == "result" else None
        tool = piece.tool or (call and call.tool)
        row = (
            *(number, *place, piece.line, piece.start, piece.kind, piece.at, tool),
            *(piece.failed, piece.exit_code),
        )
        self.connection.execute("INSERT INTO pieces VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        self.connection.execute(
            "INSERT INTO words(rowid, text, parts) VALUES (?, ?, ?)", (number, text, more_words(text))
        )
        if piece.kind in {"call", "command"} and piece.call_id is not None:
            self.connection.execute(
                "INSERT OR REPLACE INTO waiting VALUES (?, ?, ?, ?)",
                (source_id, piece.call_id, number, piece.tool or ""),
            )
        for path in piece.files:
            self._add_file(number, path)

    def _take_pending_call(self, source_id: int, piece: Piece) -> PendingCall | None:
        """Remove and return the pending call of a result, and store on it how it ended."""
        row = self.connection.execute(
            "SELECT tool, piece FROM waiting WHERE source = ? AND call_id = ?", (source_id, piece.call_id)
        ).fetchone()
        if row is None:
            return None
        self.connection.execute(
            "DELETE FROM waiting WHERE source = ? AND call_id = ?", (source_id, piece.call_id)
        )
        self.connection.execute(
            "UPDATE pieces SET failed = ?, exit_code = ? WHERE id = ?",
            (piece.failed, piece.exit_code, row[1]),
        )
        return PendingCall(*row)

    def _add_file(self, piece: int, path: str) -> None:
        self.connection.execute(
            "INSERT OR IGNORE INTO paths(path, name) VALUES (?, ?)",
            (path, path.replace("\\", "/").rpartition("/")[2]),
        )
        self.connection.execute(
            "INSERT OR IGNORE INTO touches SELECT id, ? FROM paths WHERE path = ?", (piece, path)
        )

    def _source_ids(self, path: str) -> list[int]:
        return [row[0] for row in self.connection.execute("SELECT id FROM sources WHERE path = ?", (path,))]

    def _remove(self, source_ids: Sequence[int]) -> None:
        for source_id in source_ids:
            own = piece_range(source_id)
            # FTS5 needs the same words for removing that were added.
            self.connection.execute(f"{UNINDEX} BETWEEN ? AND ?", own)
            self.connection.execute("DELETE FROM touches WHERE piece BETWEEN ? AND ?", own)
            self.connection.execute("DELETE FROM pieces WHERE id BETWEEN ? AND ?", own)
            for table in ("blocks", "waiting"):
                self.connection.execute(f"DELETE FROM {table} WHERE source = ?", (source_id,))
            self.connection.execute("DELETE FROM sources WHERE id = ?", (source_id,))
        if source_ids:
            self.connection.execute("DELETE FROM paths WHERE id NOT IN (SELECT path FROM touches)")


def _storable(text: str) -> str:
    """Return text that UTF-8 can encode, without the control characters that separate texts and mark what was found."""
    return text.translate(_REPLACED).encode("utf-8", "replace").decode()


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
