"""The SQLite file of the library: where it is, its tables, and how readers and writers open it.

The file has a write-ahead log, so readers never wait; writers wait for each other up to a limit. The full-text index is an
FTS5 table whose content is a view of the texts, which are stored compressed in blocks; ``search`` provides the functions of that
view. Deleted content is overwritten. Everything can be rebuilt from the transcripts, so a broken file is replaced; a file
that a newer leftoff made is left alone. If only the way of splitting words has changed, the session entries are kept.
"""

from __future__ import annotations

import errno
import os
import pathlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from leftoff.errors import DocumentError, LeftoffError, LockTimeoutError, StorageError, describe_os_error
from leftoff.platform import files, paths

SCHEMA = 2  # 1: what was forgotten stood in a table
FILE_NAME = "library.sqlite3"
DRAFT_NAME = "library.new.sqlite3"
FORGOTTEN_FILE = "forgotten.json"  # beside the library: what must not be indexed again
TOKENS_VERSION = (
    5  # goes up when the index changes, such as how words are split; an older index is built again
)
_OURS = {"schema": SCHEMA, "words": TOKENS_VERSION}
_Facts = dict[str, object]
_PATIENCE_SECONDS = 5.0
_FULL = describe_os_error(OSError(errno.ENOSPC, ""))
_TABLES = """
CREATE TABLE IF NOT EXISTS facts(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries(
  path TEXT PRIMARY KEY, modified_ns INTEGER NOT NULL, size_bytes INTEGER NOT NULL, agent TEXT NOT NULL,
  session_id TEXT, project TEXT, entry TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sources(
  id INTEGER PRIMARY KEY, type TEXT NOT NULL, path TEXT NOT NULL UNIQUE, agent TEXT, session_id TEXT, project TEXT,
  title TEXT, modified_ns INTEGER NOT NULL, size_bytes INTEGER NOT NULL, archived INTEGER NOT NULL DEFAULT 0,
  chars INTEGER NOT NULL DEFAULT 0, line_idx INTEGER, start INTEGER, end INTEGER, digest BLOB);
CREATE INDEX IF NOT EXISTS sources_by_time ON sources(modified_ns);
CREATE INDEX IF NOT EXISTS sources_by_session ON sources(session_id);
CREATE TABLE IF NOT EXISTS folders(path TEXT PRIMARY KEY, modified_ns INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blocks(id INTEGER PRIMARY KEY, source INTEGER NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS blocks_by_source ON blocks(source);
CREATE TABLE IF NOT EXISTS pieces(
  id INTEGER PRIMARY KEY, block INTEGER NOT NULL, slot INTEGER NOT NULL, line INTEGER NOT NULL, start INTEGER NOT NULL,
  kind TEXT NOT NULL, at INTEGER, tool TEXT, failed INTEGER, exit_code INTEGER);
CREATE VIEW IF NOT EXISTS texts AS SELECT id, text, more_words(text) AS parts FROM
  (SELECT p.id, text_of(b.data, p.slot) AS text FROM pieces p JOIN blocks b ON b.id = p.block);
CREATE TABLE IF NOT EXISTS paths(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS paths_by_name ON paths(name);
CREATE TABLE IF NOT EXISTS touches(
  path INTEGER NOT NULL, piece INTEGER NOT NULL, PRIMARY KEY(path, piece)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS touches_by_piece ON touches(piece);
CREATE TABLE IF NOT EXISTS waiting(
  source INTEGER NOT NULL, call_id TEXT NOT NULL, piece INTEGER NOT NULL, tool TEXT NOT NULL,
  PRIMARY KEY(source, call_id)) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
  text, parts, content='texts', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab(words, row);
"""
FOLDER_NAME = "library"
LOCK_NAME = "update.lock"  # held while indexing, archiving or forgetting


def open_for_search(folder: str) -> sqlite3.Connection | None:
    """Open the library for searching; None where it is missing, unreadable or of another version."""
    connection = open_read_only(folder)
    if connection is None or _is_ours(_facts(connection)):
        return connection
    connection.close()
    return None


def open_read_only(folder: str) -> sqlite3.Connection | None:
    """Open the library read-only, also one whose words an older leftoff split differently: only searching needs them."""
    # On a read-only or full disk SQLite cannot create its locks and log. Nothing can change there either, so it does without.
    for how in ("mode=rw", "mode=ro&immutable=1"):
        try:
            connection = sqlite3.connect(
                f"file:{_quoted(f'{folder}/{FILE_NAME}')}?{how}",
                uri=True,
                timeout=_PATIENCE_SECONDS,
                isolation_level=None,
            )
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA temp_store = MEMORY")
            facts = _facts(connection)
        except sqlite3.Error:
            continue
        if _has_our_tables(facts):
            return connection
        connection.close()
    return None


def open_if_present(folder: str) -> sqlite3.Connection | None:
    """Open the library read-only; None where there is no file, DocumentError where it cannot be read."""
    connection = open_read_only(folder)
    path = f"{folder}/{FILE_NAME}"
    if connection is None and os.path.lexists(path):
        raise DocumentError(
            f"{path}: cannot be read, so it is not known what it holds. Build it again, then repeat the command:"
            " leftoff search --rebuild",
            path=path,
        )
    return connection


def open_for_writing(
    folder: str, *, patience_seconds: float = _PATIENCE_SECONDS, file_name: str = FILE_NAME
) -> sqlite3.Connection:
    """Open the library for writing. It is created where it is missing and replaced by an empty one where it is broken or older.

    The session entries are kept if possible. The caller holds the library's lock. Raises StorageError when the file cannot
    be written, DocumentError when a newer leftoff made it, LockTimeoutError when others write for longer than the limit.
    """
    path = f"{folder}/{file_name}"
    with translate_errors(f"{folder}/{FILE_NAME}"):
        files.make_folder(Path(folder))
        entries: list[tuple[object, ...]] = []
        try:
            return _open(path, patience_seconds, _is_ours)
        except _OtherVersionError:
            entries = _read_entries(folder)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
        with (
            replacement(folder),
            closing(open_for_writing(folder, file_name=DRAFT_NAME)) as draft,
            transaction(draft),
        ):
            draft.executemany("INSERT OR IGNORE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", entries)
        return _open(path, patience_seconds, _is_ours)


def open_for_catalogue(folder: str, *, patience_seconds: float) -> sqlite3.Connection:
    """Open the library to write session entries only; StorageError where its form does not allow that."""
    path = f"{folder}/{FILE_NAME}"
    with translate_errors(path):
        files.make_folder(Path(folder))
        try:
            return _open(path, patience_seconds, _has_our_tables)
        except _OtherVersionError as error:
            raise StorageError(f"{path}: made by another leftoff, and left as it is.", path=path) from error


def _read_entries(folder: str) -> list[tuple[object, ...]]:
    """Return the session entries of a library that is about to be replaced."""
    connection = open_read_only(folder)
    if connection is None:
        return []
    with closing(connection):
        return connection.execute("SELECT * FROM entries").fetchall()


@contextmanager
def replacement(folder: str) -> Iterator[None]:
    """Let the draft that the block writes take the library's place, unless a newer leftoff made that.

    If the block fails, as on a full disk, the library stays as it is and the draft goes. The caller holds the library's lock.
    """
    path, draft = f"{folder}/{FILE_NAME}", f"{folder}/{DRAFT_NAME}"
    with translate_errors(path):
        delete_files(draft)  # of a killed process
        # A broken file or one of an older leftoff is replaced too.
        with suppress(sqlite3.DatabaseError, _OtherVersionError):
            _open(path, _PATIENCE_SECONDS, _is_ours).close()
        try:
            yield
            with closing(sqlite3.connect(draft)) as connection:
                connection.execute("PRAGMA journal_mode = DELETE")  # so that all of it is in this one file
            _delete_logs(path)  # they belong to the old file
            pathlib.Path(draft).replace(path)
        finally:
            delete_files(draft)


def delete_files(path: str) -> None:
    """Delete a library and its write-ahead log."""
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108
    _delete_logs(path)


def _delete_logs(path: str) -> None:
    for end in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + end)  # noqa: PTH108


@contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Raise errors of SQLite and the system as errors of leftoff."""
    try:
        yield
    except LeftoffError:
        raise
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise LockTimeoutError(
                f"{path}: other processes have been writing for too long. Nothing was changed; try again.",
                path=path,
            ) from error
        why = _FULL if _is_disk_full(error) else str(error)
        raise StorageError(f"{path}: not written: {why}. What was there is intact.", path=path) from error
    except sqlite3.DatabaseError as error:
        raise DocumentError(
            f"{path}: broken: {error}. It is made again from your transcripts: leftoff search --rebuild",
            path=path,
        ) from error
    except OSError as error:
        raise StorageError(f"{path}: not written: {describe_os_error(error)}.", path=path) from error


def _is_disk_full(error: sqlite3.OperationalError) -> bool:
    """Whether there is no room left, also for the memory that SQLite's processes share: it calls that an I/O error."""
    return "full" in str(error) or getattr(error, "sqlite_errorname", "") == "SQLITE_IOERR_SHMSIZE"


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block as one transaction, with no other writer in between."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


class _OtherVersionError(Exception):
    """The file was made by another version of leftoff."""


def _open(path: str, patience_seconds: float, is_usable: Callable[[_Facts], bool]) -> sqlite3.Connection:
    if not os.path.exists(path):  # noqa: PTH110
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, timeout=patience_seconds, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        _prepare(connection, is_usable)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, is_usable: Callable[[_Facts], bool]) -> None:
    has_tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'facts'").fetchone()[0]
    if not has_tables:
        with transaction(connection):
            for statement in _TABLES.split(";\n"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute(
                "INSERT OR IGNORE INTO facts VALUES ('schema', ?), ('words', ?)", (SCHEMA, TOKENS_VERSION)
            )
            connection.execute("INSERT INTO words(words, rank) VALUES ('hashsize', 8388608)")
    facts = _facts(connection)
    if any(isinstance(theirs := facts.get(name), int) and theirs > ours for name, ours in _OURS.items()):
        path = connection.execute("PRAGMA database_list").fetchone()[2]
        raise DocumentError(
            f"{path}: made by a newer leftoff, and left as it is. Upgrade leftoff, or delete the file.",
            path=path,
        )
    if not is_usable(facts):
        raise _OtherVersionError


def _is_ours(facts: _Facts) -> bool:
    return facts == _OURS


def _has_our_tables(facts: _Facts) -> bool:
    """Whether the tables have our schema, however the words in them are split."""
    words = facts.get("words")
    return facts.get("schema") == SCHEMA and isinstance(words, int) and words <= TOKENS_VERSION


def _facts(connection: sqlite3.Connection) -> _Facts:
    return dict(
        connection.execute("SELECT name, value FROM facts WHERE name IN ('schema', 'words')").fetchall()
    )


def _quoted(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def library_folder() -> str:
    """Return the library's folder in the user's data folder. A string, because a search has no time to load pathlib."""
    return str(paths.data_folder() / FOLDER_NAME)
