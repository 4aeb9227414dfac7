"""Resume logs in a PostgreSQL database, or an engine that speaks its protocol.

Keeps every promise of ``StorageBackend``. A connection that breaks is made anew and the question asked again, which is safe
because every change is an upsert or a delete; on a server that does not answer in time we hang up, once. The driver is loaded when the database is first spoken to, never before.
Who you are comes from the usual PG* environment, ``~/.pgpass`` and service files. Servers elsewhere must prove who they are.
"""

from __future__ import annotations

import importlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from leftoff.errors import ConfigError, LeftoffError, StorageError, UnreachableError
from leftoff.stores import options as user_options
from leftoff.stores.table import CREATE, INDEX, TableStore, Value
from leftoff.system import paths

if TYPE_CHECKING:
    import psycopg

Answer = TypeVar("Answer")
OPTIONS: Mapping[str, str] = {
    "dsn": "host=… dbname=… or postgresql://…, without a password; what it leaves out comes from PG*.",
    "service": "A name in your pg_service.conf, in place of a dsn.",
    user_options.ALLOW_UNVERIFIED: "'yes' talks to a server far away without checking its certificate.",
}
# In order; those that were done stand in leftoff_schema. Never change one, add another. Each may meet its own work done.
MIGRATIONS: tuple[tuple[str, ...], ...] = ((CREATE, INDEX),)
_SCHEMA_TABLE = "create table if not exists leftoff_schema (version integer primary key)"
_MIGRATION_LOCK = 1_818_583_142  # any number, the same for all of us
_ATTEMPTS = 3
_CONNECT_SECONDS = 4
_ANSWER_MILLISECONDS = 10_000  # the server's own limit
_PATIENCE_SECONDS = 15.0  # ours, where the server cannot even say that it is late
_LOOK_SECONDS = 1.0


def here() -> PostgresStore:
    """The database that the environment names."""
    return PostgresStore()


class PostgresStore(TableStore):
    """Resume logs in the database that ``dsn`` and the environment name."""

    def __init__(self, dsn: str = "", *, allow_unverified: bool = False) -> None:
        super().__init__(Server(dsn, allow_unverified=allow_unverified))

    def with_options(self, options: Mapping[str, str]) -> PostgresStore:
        """The store that the user's options describe."""
        told = user_options.checked(options, OPTIONS, backend="storage: postgres")
        if "dsn" in told and "service" in told:
            raise ConfigError("storage_options: dsn and service both name a database; keep one of them.")
        dsn = f"service={told['service']}" if "service" in told else told.get("dsn", "")
        return PostgresStore(dsn, allow_unverified=user_options.is_unverified_allowed(told))


class Server:
    """A connection that comes back by itself."""

    def __init__(self, dsn: str, *, allow_unverified: bool) -> None:
        self._dsn = dsn
        self._allow_unverified = allow_unverified
        self._lock = threading.Lock()  # one question at a time; psycopg would queue them anyway
        self._open: psycopg.Connection[Any] | None = None
        self._watch: _Watch | None = None  # over the open connection
        self._migrated = False

    def __del__(self) -> None:
        self._drop()  # nobody is asked to close a store; the server should not wait for us to be gone

    @property
    def where(self) -> str:
        """The database, without anything secret."""
        return (
            "PostgreSQL"
            if self._open is None
            else f"PostgreSQL {self._open.info.host}/{self._open.info.dbname}"
        )

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[tuple[str, ...]]:
        """What a question answers."""
        return self._asked(lambda connection: connection.execute(_marked(sql), values).fetchall())

    def changed(self, sql: str, values: Sequence[Value]) -> int:
        """How many rows a change changed."""
        return self._asked(lambda connection: connection.execute(_marked(sql), values).rowcount)

    def _asked(self, question: Callable[[psycopg.Connection[Any]], Answer]) -> Answer:
        driver = _driver()
        with self._lock:
            for attempt in range(_ATTEMPTS):
                try:
                    return self._answer(driver, question)
                except (driver.OperationalError, driver.InterfaceError) as error:
                    is_late = "timeout expired" in str(error) or (
                        self._watch is not None and self._watch.has_hung_up
                    )
                    self._drop()
                    words = _UNREACHABLE if is_late else _words(error)
                    if attempt == _ATTEMPTS - 1 or words in _HOPELESS or is_late:
                        kind = UnreachableError if words == _UNREACHABLE else StorageError
                        raise kind(f"PostgreSQL: {words}.") from error
                except driver.Error as error:
                    self._drop()
                    raise StorageError(f"PostgreSQL: {_words(error)}.") from error
        raise AssertionError("the last attempt returns or raises")

    def _answer(self, driver: Any, question: Callable[[psycopg.Connection[Any]], Answer]) -> Answer:
        if self._open is None or self._open.closed or self._watch is None:
            self._drop()
            self._open = driver.connect(self._conninfo(driver), autocommit=True)
            self._watch = _Watch(self._open.fileno())
        with self._watch.patience():
            if not self._migrated:
                self._migrate(driver, self._open)
                self._migrated = True
            return question(self._open)

    def _drop(self) -> None:
        if self._watch is not None:
            self._watch.end()
            self._watch = None
        if self._open is not None:
            self._open.close()
            self._open = None

    def _conninfo(self, driver: Any) -> str:
        """What the user said, with a time limit, and with a check of who answers where that is not this machine."""
        try:
            told: dict[str, Any] = driver.conninfo.conninfo_to_dict(self._dsn)
        except driver.ProgrammingError:
            # Not what the driver says of it: it quotes, and a password may stand there.
            raise ConfigError(
                "storage_options.dsn: not understood. It looks like: host=… dbname=…, or postgresql://host/database."
            ) from None
        if not told.keys().isdisjoint(("password", "sslpassword")):
            raise ConfigError(
                "storage_options.dsn: a password stands in it. Take it out; use ~/.pgpass or PGPASSWORD."
            )
        ours: dict[str, Any] = {
            "connect_timeout": _CONNECT_SECONDS,
            "application_name": "leftoff",
            "tcp_user_timeout": _ANSWER_MILLISECONDS,
            "options": f"{told.get('options', '')} -c statement_timeout={_ANSWER_MILLISECONDS}".strip(),
        }
        if not self._allow_unverified and not self._is_local(told):
            ours |= {"sslmode": "verify-full"} | self._certificates(told)
        made: str = driver.conninfo.make_conninfo(self._dsn, **ours)
        return made

    def _is_local(self, told: Mapping[str, Any]) -> bool:
        """Whether every host and address that the driver may take is this machine; a service file could name any."""
        environment = paths.environment()
        if "service" in told or environment.get("PGSERVICE"):
            return False
        named = (
            told.get("host") or environment.get("PGHOST", ""),
            told.get("hostaddr") or environment.get("PGHOSTADDR", ""),
        )
        return all(
            user_options.is_this_machine(each.strip()) for list_ in named for each in str(list_).split(",")
        )

    def _certificates(self, told: Mapping[str, Any]) -> dict[str, str]:
        """The system's own, unless the user has named others."""
        named = "sslrootcert" in told or "service" in told or "PGSSLROOTCERT" in paths.environment()
        usual = paths.home() / Path(".postgresql/root.crt")
        return {} if named or usual.exists() else {"sslrootcert": "system"}

    def _migrate(self, driver: Any, connection: psycopg.Connection[Any]) -> None:
        """Bring the database to our schema, one of us at a time; what is there already is left alone."""
        if self._schema(driver, connection) == len(MIGRATIONS):
            return
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
            connection.execute(_SCHEMA_TABLE)
            for number in range(self._schema(driver, connection), len(MIGRATIONS)):
                for statement in MIGRATIONS[number]:
                    connection.execute(statement)
                connection.execute(
                    "insert into leftoff_schema (version) values (%s) on conflict do nothing", (number + 1,)
                )

    def _schema(self, driver: Any, connection: psycopg.Connection[Any]) -> int:
        try:
            row = connection.execute("select coalesce(max(version), 0) from leftoff_schema").fetchone()
        except driver.errors.UndefinedTable:
            return 0
        found = int(row[0]) if row else 0
        if found > len(MIGRATIONS):
            raise StorageError(
                f"PostgreSQL: made by a newer leftoff (schema {found}, this one knows {len(MIGRATIONS)}). Upgrade leftoff."
            )
        return found


class _Watch:
    """Hangs up on a server that is asked something and does not answer in time; the driver would wait for ever.

    One thread for as long as a connection lasts: one for each question would cost a tenth of it.
    """

    def __init__(self, file_number: int) -> None:
        self.has_hung_up = False
        self._socket = socket.socket(fileno=os.dup(file_number))  # ours to close, whenever the driver's is
        self._until: float | None = None
        self._over = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    @contextmanager
    def patience(self) -> Iterator[None]:
        """While a question is asked."""
        self._until = time.monotonic() + _PATIENCE_SECONDS
        try:
            yield
        finally:
            self._until = None

    def end(self) -> None:
        """Nobody asks any more."""
        self._over.set()

    def _look(self) -> None:
        with self._socket:
            while not self._over.wait(_LOOK_SECONDS):
                until = self._until
                if until is not None and time.monotonic() > until:
                    self.has_hung_up = True
                    with suppress(OSError):
                        self._socket.shutdown(socket.SHUT_RDWR)
                    return


@cache  # asked for with every question
def _driver() -> Any:
    """Loaded by those who speak to a database."""
    try:
        importlib.import_module("psycopg.conninfo")
        return importlib.import_module("psycopg")
    except ImportError as error:
        raise LeftoffError(
            "storage: postgres needs psycopg. Type: pip install 'leftoff[postgres]'"
        ) from error


def _marked(sql: str) -> str:
    return sql.replace("?", "%s")


_WRONG_PASSWORD = "the password or the user is wrong. Mend PGUSER, PGPASSWORD or ~/.pgpass"
_NO_DATABASE = "there is no such database. Create it, or mend PGDATABASE or storage_options.dsn"
_UNVERIFIED = (
    "the server's certificate could not be verified. Name its authority in PGSSLROOTCERT, or say "
    "storage_options.allow_unverified: 'yes'"
)
_NO_TLS = (
    "the server offers no encryption. Switch it on there, or say storage_options.allow_unverified: 'yes'"
)
_UNKNOWN_HOST = "no such host is known. Mend PGHOST or storage_options.dsn"
_UNREACHABLE = "no answer. Is the server up, and the network? What waits is sent later"
_FORBIDDEN = (
    "this user may not do that. If the tables are of an older schema, let their owner run leftoff doctor once; "
    "else grant rights"
)
_HOPELESS = {_WRONG_PASSWORD, _NO_DATABASE, _UNVERIFIED, _NO_TLS, _UNKNOWN_HOST}
_MEANINGS: Mapping[str, str] = {
    "password authentication failed": _WRONG_PASSWORD,
    "no password supplied": _WRONG_PASSWORD,
    "role ": _WRONG_PASSWORD,
    "certificate verify failed": _UNVERIFIED,
    "root certificate": _UNVERIFIED,
    "does not match host name": _UNVERIFIED,
    "does not support SSL": _NO_TLS,
    "could not translate host name": _UNKNOWN_HOST,
    "resolve host": _UNKNOWN_HOST,
    "permission denied": _FORBIDDEN,
    "must be owner": _FORBIDDEN,
    "refused": _UNREACHABLE,
    "timeout": _UNREACHABLE,
    "closed the connection": _UNREACHABLE,
    "No such file or directory": _UNREACHABLE,
    "starting up": _UNREACHABLE,
    "shutting down": _UNREACHABLE,
    "administrator command": _UNREACHABLE,
}


def _words(error: Exception) -> str:
    """What went wrong and what to do; the server's own first line where we know no better."""
    text = str(error)
    if 'database "' in text and "does not exist" in text:
        return _NO_DATABASE
    known = next((words for part, words in _MEANINGS.items() if part in text), None)
    return known or (text.strip().splitlines() or [type(error).__name__])[0].rstrip(".")
