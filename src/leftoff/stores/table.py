"""Resume logs in one table: what the SQLite and the PostgreSQL backend share, and all that they say in SQL.

One row per project and session; a save is one upsert, so a reader sees the old row or the new one. ``saved_ns`` orders them: a
save puts its log on top, a late send (``save_as_of``) takes the place of its own moment and never covers a newer one, so that
sending twice is sending once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from leftoff.errors import LeftoffError
from leftoff.model.project_identity import is_same_project
from leftoff.model.resume_log import ResumeLog
from leftoff.stores.packed import MOST_BYTES, digest, is_id, next_moment, packed, unpacked
from leftoff.system import ids

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


class Database(Protocol):
    """What speaks SQL. Marks are question marks; trouble is a StorageError in words."""

    @property
    def where(self) -> str:
        """What to call it."""
        ...

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[tuple[str, ...]]:
        """What a question answers."""
        ...

    def changed(self, sql: str, values: Sequence[Value]) -> int:
        """How many rows a change changed; it is made as a whole, and stays made, or not at all."""
        ...


class TableStore:
    """A storage backend over a database; with ``project`` only the logs of that project, under all keys that it has by then."""

    def __init__(self, database: Database, project: str | None = None) -> None:
        self._database = database
        self._project = project
        self._others: Sequence[str] | None = None  # keys of the same project, once looked for

    def for_project(self, key: str) -> TableStore:
        """The same store, seen from one project."""
        return TableStore(self._database, key)

    def save(self, resume_log: ResumeLog) -> str:
        """Keep it, on top; the identifier is its session id."""
        return self._insert(_ON_TOP, resume_log, next_moment())

    def save_as_of(self, resume_log: ResumeLog, saved_ns: int) -> str:
        """Keep it as saved at that moment; a newer one stays."""
        return self._insert(_IN_ITS_PLACE, resume_log, saved_ns)

    def load(self, identifier: str) -> ResumeLog | None:
        """The log, or None; DocumentError when it is there and broken."""
        session_id = ids.checked(identifier)
        scope, projects = self._scope()
        found = self._database.rows(
            f"select substr(body, 1, ?), sha256 from leftoff_logs where session_id = ?{scope} "
            "order by saved_ns desc limit 1",
            (MOST_BYTES + 1, session_id, *projects),
        )
        where = f"{self._database.where}: log {session_id}"
        return unpacked(found[0][0].encode(), found[0][1], where=where) if found else None

    def list(self) -> list[str]:
        """All identifiers, newest save first."""
        scope, projects = self._scope()
        found = self._database.rows(
            f"select session_id, max(saved_ns) as newest from leftoff_logs where 1 = 1{scope} "
            "group by session_id order by newest desc, session_id",
            projects,
        )
        return [row[0] for row in found if is_id(row[0])]

    def saved_at(self, identifier: str) -> int | None:
        """The moment of the newest one, None when there is none."""
        session_id = ids.checked(identifier)
        scope, projects = self._scope()
        found = self._database.rows(
            f"select saved_ns from leftoff_logs where session_id = ?{scope} order by saved_ns desc limit 1",
            (session_id, *projects),
        )
        return int(found[0][0]) if found else None

    def delete(self, identifier: str) -> bool:
        """Whether there was one to delete."""
        session_id = ids.checked(identifier)
        scope, projects = self._scope()
        return bool(
            self._database.changed(
                f"delete from leftoff_logs where session_id = ?{scope}", (session_id, *projects)
            )
        )

    def rewrite(self, change: Callable[[bytes], bytes | None]) -> Iterator[str | LeftoffError]:
        """Change what is kept where it stands; what comes of each."""
        scope, projects = self._scope()
        keys = self._database.rows(
            f"select project, session_id from leftoff_logs where 1 = 1{scope} order by saved_ns", projects
        )
        for project, session_id in keys:
            try:
                if self._rewritten(project, session_id, change):
                    yield session_id
            except LeftoffError as error:
                yield error

    def check(self) -> str:
        """Ask the database something small; what it is, in words."""
        found = self._database.rows("select count(*) from leftoff_logs")
        return f"{self._database.where}: reached, {int(found[0][0]):,} logs"

    def _rewritten(self, project: str, session_id: str, change: Callable[[bytes], bytes | None]) -> bool:
        """Whether it was changed. A save meanwhile is looked at again: only what was read is replaced."""
        row = "where project = ? and session_id = ?"
        while True:
            found = self._database.rows(f"select body, sha256 from leftoff_logs {row}", (project, session_id))
            if not found:
                return False
            body, sha256 = found[0][0].encode(), found[0][1]
            made = change(body)
            if made == body:
                return False
            there = f"{row} and sha256 = ? and body = ?"
            read = (project, session_id, sha256, found[0][0])
            if made is None or digest(body) != sha256:
                done = self._database.changed(f"delete from leftoff_logs {there}", read)
            else:
                done = self._database.changed(
                    f"update leftoff_logs set body = ?, sha256 = ? {there}",
                    (made.decode(), digest(made), *read),
                )
            if done:
                return True

    def _insert(self, conflict: str, log: ResumeLog, saved_ns: int) -> str:
        piece = packed(log)
        values = (piece.project, piece.session_id, saved_ns, piece.sha256, piece.body)
        self._database.changed(_INSERT + conflict, values)
        return piece.session_id

    def _scope(self) -> tuple[str, Sequence[str]]:
        """The condition that keeps to the project's own rows; checkouts of one project may be filed under several keys."""
        if self._project is None:
            return "", ()
        if self._others is None:
            rows = self._database.rows("select distinct project from leftoff_logs")
            self._others = [row[0] for row in rows if is_same_project(row[0], self._project)]
        keys = [self._project, *(key for key in self._others if key != self._project)]
        return f" and project in ({', '.join('?' * len(keys))})", keys
