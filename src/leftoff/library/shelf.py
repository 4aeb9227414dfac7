"""The library's file: its tables, how it is opened by readers and writers, and what becomes of a broken one.

One SQLite file with a write-ahead log: readers never wait, writers wait for each other for so long as they said they would.
Full text is an FTS5 table that knows words alone (no positions, no content), a seventh of the size of one that knows all;
the text itself stands beside it in compressed blocks, from which words can be taken out again and snippets be shown. What is
deleted is overwritten. The library can be made again from transcripts at any time, so a broken file is put aside; one that a
newer leftoff made is left to that one. Of one whose words are cut in an older way the catalogue is kept: that has none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

from leftoff.errors import DocumentError, LockTimeoutError, StorageError
from leftoff.library.sqlite import sqlite3
from leftoff.library.words import VERSION

SCHEMA = 2  # 1: what was forgotten stood in a table
NAME = "library.sqlite3"
REMEMBERED = "forgotten.json"  # beside it: what must not be taken in again
_OURS = {"schema": SCHEMA, "words": VERSION}
_Facts = dict[str, object]
_PATIENCE_SECONDS = 5.0

_TABLES = """
CREATE TABLE IF NOT EXISTS facts(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries(
  path TEXT PRIMARY KEY, modified_ns INTEGER NOT NULL, size_bytes INTEGER NOT NULL, agent TEXT NOT NULL,
  session_id TEXT, project TEXT, entry TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sources(
  id INTEGER PRIMARY KEY, type TEXT NOT NULL, path TEXT NOT NULL UNIQUE, agent TEXT, session_id TEXT, project TEXT,
  title TEXT, modified_ns INTEGER NOT NULL, size_bytes INTEGER NOT NULL, archived INTEGER NOT NULL DEFAULT 0,
  line_idx INTEGER, start INTEGER, end INTEGER, digest BLOB);
CREATE INDEX IF NOT EXISTS sources_by_time ON sources(modified_ns);
CREATE INDEX IF NOT EXISTS sources_by_session ON sources(session_id);
CREATE TABLE IF NOT EXISTS folders(path TEXT PRIMARY KEY, modified_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blocks(id INTEGER PRIMARY KEY, source INTEGER NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS blocks_by_source ON blocks(source);
CREATE TABLE IF NOT EXISTS pieces(
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, block INTEGER NOT NULL, slot INTEGER NOT NULL,
  line INTEGER NOT NULL, start INTEGER NOT NULL, kind TEXT NOT NULL, weight REAL NOT NULL,
  at INTEGER, tool TEXT, failed INTEGER, exit_code INTEGER, asked INTEGER);
CREATE INDEX IF NOT EXISTS pieces_by_source ON pieces(source, id);
CREATE TABLE IF NOT EXISTS paths(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS paths_by_name ON paths(name);
CREATE TABLE IF NOT EXISTS touches(
  path INTEGER NOT NULL, piece INTEGER NOT NULL, verb TEXT NOT NULL, PRIMARY KEY(path, piece, verb)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS touches_by_piece ON touches(piece);
CREATE TABLE IF NOT EXISTS waiting(
  source INTEGER NOT NULL, call_id TEXT NOT NULL, piece INTEGER NOT NULL, tool TEXT NOT NULL,
  PRIMARY KEY(source, call_id)) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(t, content='', detail=none, columnsize=0, tokenize='ascii');
CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab(words, row);
"""


def opened_to_read(folder: str) -> sqlite3.Connection | None:
    """The library as it is; None where there is none that could be read."""
    shelf = opened_to_look(folder)
    if shelf is None or _is_ours(_facts(shelf)):
        return shelf
    shelf.close()
    return None


def opened_to_look(folder: str) -> sqlite3.Connection | None:
    """The same, also where an older leftoff cut its words otherwise: nothing but searching depends on them."""
    path = f"{folder}/{NAME}"
    # Where nothing can be written, nobody writes: the file is taken as it stands, without its log and locks.
    how = "mode=rw" if os.access(folder, os.W_OK) else "mode=ro&immutable=1"
    try:
        shelf = sqlite3.connect(
            f"file:{_quoted(path)}?{how}", uri=True, timeout=_PATIENCE_SECONDS, isolation_level=None
        )
        shelf.execute("PRAGMA query_only = ON")
        shelf.execute("PRAGMA temp_store = MEMORY")
        facts = _facts(shelf)
    except sqlite3.Error:
        return None
    if _has_our_tables(facts):
        return shelf
    shelf.close()
    return None


def read_if_any(folder: str) -> sqlite3.Connection | None:
    """The library; None where there is none at all, DocumentError where there is one that cannot be read."""
    shelf = opened_to_look(folder)
    path = f"{folder}/{NAME}"
    if shelf is None and os.path.lexists(path):
        raise DocumentError(
            f"{path}: cannot be read, so nobody can say what is in it. Make it anew, then try again:"
            " leftoff search --rebuild",
            path=path,
        )
    return shelf


def opened_to_write(folder: str, *, patience_seconds: float = _PATIENCE_SECONDS) -> sqlite3.Connection:
    """The library, made where there is none, and made anew where it is broken or of another form; its catalogue stays, if it can.

    For who holds the library's lock. StorageError when it cannot be, DocumentError where a newer leftoff made it; LockTimeoutError when others have been
    writing for so long.
    """
    path = f"{folder}/{NAME}"
    with troubles(path):
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - a search has no time to load pathlib
        entries: list[tuple[object, ...]] = []
        try:
            return _opened(path, patience_seconds, _is_ours)
        except _OtherFormError:
            entries = _entries(folder)
            put_aside(path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            put_aside(path)
        shelf = _opened(path, patience_seconds, _is_ours)
        with writing(shelf):
            shelf.executemany("INSERT OR IGNORE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entries)
        return shelf


def opened_to_catalogue(folder: str, *, patience_seconds: float) -> sqlite3.Connection:
    """The library for who writes no words, made where there is none; StorageError where it is of no use for that."""
    path = f"{folder}/{NAME}"
    with troubles(path):
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        try:
            return _opened(path, patience_seconds, _has_our_tables)
        except _OtherFormError as error:
            raise StorageError(f"{path}: made by another leftoff, and left as it is.", path=path) from error


def _entries(folder: str) -> list[tuple[object, ...]]:
    """The catalogue of a library that is about to be made anew."""
    shelf = opened_to_look(folder)
    if shelf is None:
        return []
    with closing(shelf):
        return shelf.execute("SELECT * FROM entries").fetchall()


def made_anew(folder: str) -> sqlite3.Connection:
    """An empty library in place of whatever stands there, unless a newer leftoff made that."""
    path = f"{folder}/{NAME}"
    with troubles(path):
        with suppress(sqlite3.DatabaseError, _OtherFormError):  # broken or not, it goes
            _opened(path, _PATIENCE_SECONDS, _is_ours).close()
        put_aside(path)
    return opened_to_write(folder)


def put_aside(path: str) -> None:
    """Take the file away, and what belongs to it: it is made again from transcripts."""
    for end in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + end)  # noqa: PTH108


@contextmanager
def troubles(path: str) -> Iterator[None]:
    """What SQLite and the system complain of, as our own errors."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise LockTimeoutError(
                f"{path}: other processes have been writing for too long. Nothing was changed; try again.",
                path=path,
            ) from error
        raise StorageError(f"{path}: not written: {error}. What was there is intact.", path=path) from error
    except sqlite3.DatabaseError as error:
        raise DocumentError(
            f"{path}: broken: {error}. It is made again from your transcripts: leftoff search --rebuild",
            path=path,
        ) from error
    except OSError as error:
        raise StorageError(f"{path}: not written: {error.strerror or error}.", path=path) from error


@contextmanager
def writing(shelf: sqlite3.Connection) -> Iterator[None]:
    """All of the block or nothing of it; no other writer comes between."""
    shelf.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        shelf.execute("ROLLBACK")
        raise
    shelf.execute("COMMIT")


class _OtherFormError(Exception):
    """The file was made by another version of leftoff."""


def _opened(path: str, patience_seconds: float, is_fit: Callable[[_Facts], bool]) -> sqlite3.Connection:
    if not os.path.exists(path):  # noqa: PTH110
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    shelf = sqlite3.connect(path, timeout=patience_seconds, isolation_level=None)
    try:
        shelf.execute("PRAGMA journal_mode = WAL")
        shelf.execute("PRAGMA synchronous = NORMAL")
        shelf.execute("PRAGMA secure_delete = ON")
        shelf.execute("PRAGMA temp_store = MEMORY")
        _prepare(shelf, is_fit)
    except BaseException:
        shelf.close()
        raise
    return shelf


def _prepare(shelf: sqlite3.Connection, is_fit: Callable[[_Facts], bool]) -> None:
    has_tables = shelf.execute("SELECT count(*) FROM sqlite_master WHERE name = 'facts'").fetchone()[0]
    if not has_tables:
        with writing(shelf):
            for statement in _TABLES.split(";\n"):
                if statement.strip():
                    shelf.execute(statement)
            shelf.execute("INSERT OR IGNORE INTO facts VALUES ('schema', ?), ('words', ?)", (SCHEMA, VERSION))
            shelf.execute("INSERT INTO words(words, rank) VALUES ('hashsize', 8388608)")
    facts = _facts(shelf)
    if any(isinstance(theirs := facts.get(name), int) and theirs > ours for name, ours in _OURS.items()):
        path = shelf.execute("PRAGMA database_list").fetchone()[2]
        raise DocumentError(
            f"{path}: made by a newer leftoff, and left as it is. Upgrade leftoff, or delete the file.",
            path=path,
        )
    if not is_fit(facts):
        raise _OtherFormError


def _is_ours(facts: _Facts) -> bool:
    return facts == _OURS


def _has_our_tables(facts: _Facts) -> bool:
    """Whether the tables are ours, whatever way the words in them are cut."""
    words = facts.get("words")
    return facts.get("schema") == SCHEMA and isinstance(words, int) and words <= VERSION


def _facts(shelf: sqlite3.Connection) -> _Facts:
    return dict(shelf.execute("SELECT name, value FROM facts WHERE name IN ('schema', 'words')").fetchall())


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
