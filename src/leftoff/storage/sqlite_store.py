"""Resume logs in one table of SQLite, and the SQL that PostgreSQL shares.

There is one row per project and session. A save is one upsert, so readers see the old row or the new one. ``saved_ns`` orders
the rows: ``save`` puts a log on top, ``save_as_of`` files it at its own time and never replaces a newer one, so that sending
twice has no effect. Any number of processes may use the file at once, as far as its file system supports locks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol, TypeAlias

from leftoff.core.project_identity import is_same_project
from leftoff.core.quantities import count
from leftoff.core.resume_log import MAX_LOG_BYTES, ResumeLog
from leftoff.errors import ConfigError, LeftoffError, StorageError
from leftoff.platform import clock, files, paths
from leftoff.storage import store_base
from leftoff.storage.store_base import (
    is_valid_id,
    next_timestamp_ns,
    pack_log,
    sha256_hex,
    unpack_log,
)

OPTIONS: Mapping[str, str] = {
    "path": "The file, absolute or below your home (default: in leftoff's data folder)."
}
_BUSY_SECONDS = 30.0
Migration = Callable[[sqlite3.Connection], None]
Value: TypeAlias = "str | int"
CREATE = """
create table if not exists leftoff_logs (
  project text not null, session_id text not null, saved_ns bigint not null,
  sha256 text not null, body text not null, primary key (project, session_id))
"""
INDEX = "create index if not exists leftoff_logs_by_time on leftoff_logs (saved_ns)"
_INSERT = "insert into leftoff_logs (project, session_id, saved_ns, sha256, body) values (?, ?, ?, ?, ?) "
_ON_TOP = (
    "on conflict (project, session_id) do update set sha256 = excluded.sha256, body = excluded.body, "
    "saved_ns = case when excluded.saved_ns > leftoff_logs.saved_ns then excluded.saved_ns else leftoff_logs.saved_ns + 1 end"
)
_IN_ITS_PLACE = (
    "on conflict (project, session_id) do update set sha256 = excluded.sha256, body = excluded.body, "
    "saved_ns = excluded.saved_ns where excluded.saved_ns >= leftoff_logs.saved_ns"
)


def _create(connection: sqlite3.Connection) -> None:
    connection.execute(CREATE)
    connection.execute(INDEX)


# Applied in order; user_version of the file counts those that were applied. Never change one, add another.
MIGRATIONS: tuple[Migration, ...] = (_create,)


def open_user_store() -> SqliteStore:
    """Return the store in the user's data folder."""
    return SqliteStore(paths.data_folder() / "logs.sqlite")


class SqliteFile:
    """A database file, opened for each statement, so that threads and processes need not share anything."""

    def __init__(self, path: Path, migrations: Sequence[Migration]) -> None:
        self._path = path
        self._migrations = migrations

    @property
    def where(self) -> str:
        """The path of the file."""
        return str(self._path)

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[tuple[str, ...]]:
        """Return the rows of a query."""
        with self._open() as connection:
            return connection.execute(sql, [*values]).fetchall()

    def execute(self, sql: str, values: Sequence[Value]) -> int:
        """Run a change; return how many rows it changed."""
        with self._open() as connection:
            return connection.execute(sql, [*values]).rowcount

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        files.make_folder(self._path.parent)
        try:
            with closing(
                sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None)
            ) as connection:
                connection.execute("pragma secure_delete = on")  # deleted content is overwritten
                connection.execute("pragma temp_store = memory")  # and no copy of it is left elsewhere
                self._migrate(connection)
                yield connection
        except sqlite3.Error as error:
            raise StorageError(f"{self._path}: {_explain(error)}.", path=self._path) from error

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Apply missing migrations; the version is read again under the lock, because another process may apply them too."""
        if self._schema(connection) == len(self._migrations):
            return
        self._path.chmod(0o600)
        connection.execute("begin immediate")
        try:
            applied = self._schema(connection)
            for migration in self._migrations[applied:]:
                migration(connection)
            connection.execute(f"pragma user_version = {max(applied, len(self._migrations))}")
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


def _explain(error: sqlite3.Error) -> str:
    text = str(error)
    if "not a database" in text or "malformed" in text:
        return "not a SQLite file, or a damaged one. Move it away; leftoff log save sends local logs again"
    if "locked" in text:
        return f"another program has held the file for {_BUSY_SECONDS:g} s. Try again"
    if "readonly" in text or "unable to open" in text:
        return "the file cannot be opened for writing"
    return text


class Database(Protocol):
    """A database that takes SQL with question marks as placeholders and raises StorageError."""

    @property
    def where(self) -> str:
        """The name of the database in messages."""
        ...

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[tuple[str, ...]]:
        """Return the rows of a query."""
        ...

    def execute(self, sql: str, values: Sequence[Value]) -> int:
        """Run a change, which is applied and durable as a whole or not at all; return how many rows it changed."""
        ...


class TableStore:
    """A storage backend on a database. With ``project``, only the logs of that project, under any of its keys."""

    def __init__(self, database: Database, project: str | None = None) -> None:
        self._database = database
        self._project = project
        self._others: Sequence[str] | None = None  # other keys of the same project, looked up once

    def for_project(self, key: str) -> TableStore:
        """Return the same store, restricted to one project."""
        return TableStore(self._database, key)

    def save(self, resume_log: ResumeLog) -> str:
        """Save a log as the newest; its identifier is the session id."""
        return self._insert(_ON_TOP, resume_log, next_timestamp_ns())

    def save_as_of(self, resume_log: ResumeLog, saved_ns: int) -> str:
        """Save a log as of that time; a newer one stays."""
        return self._insert(_IN_ITS_PLACE, resume_log, saved_ns)

    def load(self, identifier: str) -> ResumeLog | None:
        """Return the log, or None; DocumentError when it is broken."""
        session_id = clock.check_id(identifier)
        scope, projects = self._scope()
        found = self._database.rows(
            f"select substr(body, 1, ?), sha256 from leftoff_logs where session_id = ?{scope} "
            "order by saved_ns desc limit 1",
            (MAX_LOG_BYTES + 1, session_id, *projects),
        )
        where = f"{self._database.where}: log {session_id}"
        return unpack_log(found[0][0].encode(), found[0][1], where=where) if found else None

    def list(self) -> list[str]:
        """Return all identifiers, newest save first."""
        scope, projects = self._scope()
        found = self._database.rows(
            f"select session_id, max(saved_ns) as newest from leftoff_logs where 1 = 1{scope} "
            "group by session_id order by newest desc, session_id",
            projects,
        )
        return [row[0] for row in found if is_valid_id(row[0])]

    def saved_at(self, identifier: str) -> int | None:
        """Return when the newest log of a session was saved, or None."""
        session_id = clock.check_id(identifier)
        scope, projects = self._scope()
        found = self._database.rows(
            f"select saved_ns from leftoff_logs where session_id = ?{scope} order by saved_ns desc limit 1",
            (session_id, *projects),
        )
        return int(found[0][0]) if found else None

    def delete(self, identifier: str) -> bool:
        """Delete a log; return whether there was one."""
        session_id = clock.check_id(identifier)
        scope, projects = self._scope()
        return bool(
            self._database.execute(
                f"delete from leftoff_logs where session_id = ?{scope}", (session_id, *projects)
            )
        )

    def rewrite(self, change: Callable[[bytes], bytes | None]) -> Iterator[str | LeftoffError]:
        """Change saved logs in place; yield the session id or the error of each."""
        scope, projects = self._scope()
        keys = self._database.rows(
            f"select project, session_id from leftoff_logs where 1 = 1{scope} order by saved_ns", projects
        )
        for project, session_id in keys:
            try:
                if self._rewrite_one(project, session_id, change):
                    yield session_id
            except LeftoffError as error:
                yield error

    def check(self) -> str:
        """Run a small query; return a sentence about the database."""
        found = self._database.rows("select count(*) from leftoff_logs")
        return f"{self._database.where}: reached, {count(int(found[0][0]), 'log')}"

    def _rewrite_one(self, project: str, session_id: str, change: Callable[[bytes], bytes | None]) -> bool:
        """Change one log; return whether it changed. If it is saved meanwhile, start over: only what was read is replaced."""
        row = "where project = ? and session_id = ?"
        while True:
            found = self._database.rows(f"select body, sha256 from leftoff_logs {row}", (project, session_id))
            if not found:
                return False
            body, sha256 = found[0][0].encode(), found[0][1]
            changed = change(body)
            if changed == body:
                return False
            there = f"{row} and sha256 = ? and body = ?"
            read = (project, session_id, sha256, found[0][0])
            if changed is None or sha256_hex(body) != sha256:
                done = self._database.execute(f"delete from leftoff_logs {there}", read)
            else:
                done = self._database.execute(
                    f"update leftoff_logs set body = ?, sha256 = ? {there}",
                    (changed.decode(), sha256_hex(changed), *read),
                )
            if done:
                return True

    def _insert(self, conflict: str, log: ResumeLog, saved_ns: int) -> str:
        piece = pack_log(log)
        values = (piece.project, piece.session_id, saved_ns, piece.sha256, piece.body)
        self._database.execute(_INSERT + conflict, values)
        return piece.session_id

    def _scope(self) -> tuple[str, Sequence[str]]:
        """Return the SQL condition for the project's rows; checkouts of one project may have several keys."""
        if self._project is None:
            return "", ()
        if self._others is None:
            rows = self._database.rows("select distinct project from leftoff_logs")
            self._others = [row[0] for row in rows if is_same_project(row[0], self._project)]
        keys = [self._project, *(key for key in self._others if key != self._project)]
        return f" and project in ({', '.join('?' * len(keys))})", keys


class SqliteStore(TableStore):
    """Resume logs in the file ``path``, which is created with the first save."""

    def __init__(self, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        super().__init__(SqliteFile(path, migrations))
        self.path = path

    def rewrite(self, change: Callable[[bytes], bytes | None]) -> Iterator[str | LeftoffError]:
        """Change saved logs in place; then write the file again, so that no free page holds what was there."""
        yield from super().rewrite(change)
        self._database.execute("vacuum", ())

    def with_options(self, options: Mapping[str, str]) -> SqliteStore:
        """Return the store that the user's options describe."""
        given = store_base.check_options(options, OPTIONS, backend="storage: sqlite").get("path")
        if given is None:
            return self
        path = Path(given).expanduser()
        if not path.is_absolute():
            raise ConfigError(
                f"storage_options.path: {given!r} is not absolute; which folder would it be below?"
            )
        return SqliteStore(path)
