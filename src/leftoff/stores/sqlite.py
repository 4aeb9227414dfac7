"""Resume logs in one SQLite file: for many projects of one machine, with nothing to start.

Keeps every promise of ``StorageBackend``; any number of processes may use the file at once. A file on a network share is as
safe as the locks of that share.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from leftoff.errors import ConfigError, StorageError
from leftoff.stores import options as user_options
from leftoff.stores.table import CREATE, INDEX, TableStore, Value
from leftoff.system import files, paths

OPTIONS: Mapping[str, str] = {
    "path": "The file, absolute or below your home (default: in leftoff's data folder)."
}
_BUSY_SECONDS = 30.0
Migration = Callable[[sqlite3.Connection], None]


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(CREATE)
    connection.execute(INDEX)


# In order; the number of those that were done stands in the file (user_version). Never change one, add another.
MIGRATIONS: tuple[Migration, ...] = (_create,)


def here() -> SqliteStore:
    """The file of this user."""
    return SqliteStore(paths.data_folder() / "logs.sqlite")


class SqliteStore(TableStore):
    """Resume logs in the file ``path``, which is made when something is saved."""

    def __init__(self, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        super().__init__(SqliteFile(path, migrations))
        self.path = path

    def with_options(self, options: Mapping[str, str]) -> SqliteStore:
        """The store that the user's options describe."""
        told = user_options.checked(options, OPTIONS, backend="storage: sqlite").get("path")
        if told is None:
            return self
        path = Path(told).expanduser()
        if not path.is_absolute():
            raise ConfigError(
                f"storage_options.path: {told!r} is not absolute; which folder would it be below?"
            )
        return SqliteStore(path)


class SqliteFile:
    """A database file; opened anew for each question, so that threads and processes need not know of each other."""

    def __init__(self, path: Path, migrations: Sequence[Migration]) -> None:
        self._path = path
        self._migrations = migrations

    @property
    def where(self) -> str:
        """The file."""
        return str(self._path)

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[tuple[str, ...]]:
        """What a question answers."""
        with self._opened() as connection:
            return connection.execute(sql, [*values]).fetchall()

    def changed(self, sql: str, values: Sequence[Value]) -> int:
        """How many rows a change changed."""
        with self._opened() as connection:
            return connection.execute(sql, [*values]).rowcount

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        files.make_folder(self._path.parent)
        try:
            with closing(
                sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
            ) as connection:
                connection.execute("pragma secure_delete = on")  # what is deleted is gone from the file too
                self._migrate(connection)
                yield connection
        except sqlite3.Error as error:
            raise StorageError(f"{self._path}: {_words(error)}.", path=self._path) from error

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Bring the file to our schema; another process may be at it, so the number is read again under the lock."""
        if self._schema(connection) == len(self._migrations):
            return
        self._path.chmod(0o600)
        connection.execute("begin immediate")
        try:
            done = self._schema(connection)
            for migration in self._migrations[done:]:
                migration(connection)
            connection.execute(f"pragma user_version = {max(done, len(self._migrations))}")
            connection.execute("commit")
        except BaseException:
            connection.execute("rollback")
            raise

    def _schema(self, connection: sqlite3.Connection) -> int:
        found: int = connection.execute("pragma user_version").fetchone()[0]
        if found > len(self._migrations):
            raise StorageError(
                f"{self._path}: made by a newer leftoff (schema {found}, this one knows {len(self._migrations)}). Upgrade leftoff.",
                path=self._path,
            )
        return found


def _words(error: sqlite3.Error) -> str:
    text = str(error)
    if "not a database" in text or "malformed" in text:
        return "this is no SQLite file, or a damaged one. Move it away; what is local is sent again by leftoff log save"
    if "locked" in text:
        return f"another program has held the file for {_BUSY_SECONDS:g} s. Try again"
    if "readonly" in text or "unable to open" in text:
        return "the file cannot be opened for writing"
    return text
