"""Resume logs in a PostgreSQL database, or an engine that speaks its protocol.

A broken connection is opened again and the statement repeated, which is safe because every change is an upsert or a delete.
A server that does not answer in time is given up, without repeating. The driver is loaded on first use. The user and password
come from the usual PG* environment, ``~/.pgpass`` and service files. Servers on other machines must have a valid certificate.
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from leftoff.errors import ConfigError, LeftoffError, StorageError, UnreachableError
from leftoff.platform import paths
from leftoff.storage import store_base
from leftoff.storage.sqlite_store import CREATE, INDEX, TableStore, Value

if TYPE_CHECKING:
    import psycopg

Result = TypeVar("Result")
OPTIONS: Mapping[str, str] = {
    "dsn": "host=… dbname=… or postgresql://…, without a password; what it leaves out comes from PG*.",
    "service": "A name in your pg_service.conf, in place of a dsn.",
    store_base.ALLOW_UNVERIFIED: "'yes' talks to a server far away without checking its certificate.",
}
# Applied in order and recorded in leftoff_schema. Never change one, add another. Each must be harmless if repeated.
MIGRATIONS: tuple[tuple[str, ...], ...] = ((CREATE, INDEX),)
_SCHEMA_TABLE = "create table if not exists leftoff_schema (version integer primary key)"
_MIGRATION_LOCK = 1_818_583_142  # an arbitrary number, the same for every leftoff
_ATTEMPTS = 3
_CONNECT_SECONDS = 4
_STATEMENT_MILLISECONDS = 10_000  # the server's own limit
_HANG_UP_SECONDS = 15.0  # our limit, if the server does not even report a timeout
_CHECK_SECONDS = 1.0


def open_from_environment() -> PostgresStore:
    """Return the store in the database that the environment names."""
    return PostgresStore()


class PostgresStore(TableStore):
    """Resume logs in the database that ``dsn`` and the environment name."""

    def __init__(self, dsn: str = "", *, allow_unverified: bool = False) -> None:
        super().__init__(Server(dsn, allow_unverified=allow_unverified))

    def with_options(self, options: Mapping[str, str]) -> PostgresStore:
        """Return the store that the user's options describe."""
        given = store_base.check_options(options, OPTIONS, backend="storage: postgres")
        if "dsn" in given and "service" in given:
            raise ConfigError("storage_options: dsn and service both name a database; keep one of them.")
        dsn = f"service={given['service']}" if "service" in given else given.get("dsn", "")
        return PostgresStore(dsn, allow_unverified=store_base.is_unverified_allowed(given))


class Server:
    """A database connection that is opened again when it breaks."""

    def __init__(self, dsn: str, *, allow_unverified: bool) -> None:
        self._dsn = dsn
        self._allow_unverified = allow_unverified
        self._lock = threading.Lock()  # one statement at a time; psycopg would queue them anyway
        self._open: psycopg.Connection[Any] | None = None
        self._watch: _Watchdog | None = None  # of the open connection
        self._migrated = False

    def __del__(self) -> None:
        self._drop()  # stores have no close(); the server should not keep the connection

    @property
    def where(self) -> str:
        """The name of the database in messages, without secrets."""
        return (
            "PostgreSQL"
            if self._open is None
            else f"PostgreSQL {self._open.info.host}/{self._open.info.dbname}"
        )

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[tuple[str, ...]]:
        """Return the rows of a query."""
        return self._run(lambda connection: connection.execute(_with_placeholders(sql), values).fetchall())

    def execute(self, sql: str, values: Sequence[Value]) -> int:
        """Run a change; return how many rows it changed."""
        return self._run(lambda connection: connection.execute(_with_placeholders(sql), values).rowcount)

    def _run(self, statement: Callable[[psycopg.Connection[Any]], Result]) -> Result:
        driver = _driver()
        with self._lock:
            for attempt in range(_ATTEMPTS):
                try:
                    return self._run_once(driver, statement)
                except (driver.OperationalError, driver.InterfaceError) as error:
                    is_late = "timeout expired" in str(error) or (
                        self._watch is not None and self._watch.has_hung_up
                    )
                    self._drop()
                    message = _UNREACHABLE if is_late else _explain(error)
                    if attempt == _ATTEMPTS - 1 or message in _HOPELESS or is_late:
                        kind = UnreachableError if message == _UNREACHABLE else StorageError
                        raise kind(f"PostgreSQL: {message}.") from error
                except driver.Error as error:
                    self._drop()
                    raise StorageError(f"PostgreSQL: {_explain(error)}.") from error
        raise AssertionError("the last attempt returns or raises")

    def _run_once(self, driver: Any, statement: Callable[[psycopg.Connection[Any]], Result]) -> Result:
        if self._open is None or self._open.closed or self._watch is None:
            self._drop()
            self._open = driver.connect(self._conninfo(driver), autocommit=True)
            self._watch = _Watchdog(self._open.fileno())
        with self._watch.limit():
            if not self._migrated:
                self._migrate(driver, self._open)
                self._migrated = True
            return statement(self._open)

    def _drop(self) -> None:
        if self._watch is not None:
            self._watch.end()
            self._watch = None
        if self._open is not None:
            self._open.close()
            self._open = None

    def _conninfo(self, driver: Any) -> str:
        """Return the user's connection string with time limits, and with a check of certificates of other machines."""
        try:
            parameters: dict[str, Any] = driver.conninfo.conninfo_to_dict(self._dsn)
        except driver.ProgrammingError:
            # The driver's own message would quote the string, which may contain a password.
            raise ConfigError(
                "storage_options.dsn: not understood. It looks like: host=… dbname=…, or postgresql://host/database."
            ) from None
        if not parameters.keys().isdisjoint(("password", "sslpassword")):
            raise ConfigError(
                "storage_options.dsn: it contains a password. Remove it; use ~/.pgpass or PGPASSWORD."
            )
        ours: dict[str, Any] = {
            "connect_timeout": _CONNECT_SECONDS,
            "application_name": "leftoff",
            "tcp_user_timeout": _STATEMENT_MILLISECONDS,
            "options": f"{parameters.get('options', '')} -c statement_timeout={_STATEMENT_MILLISECONDS}".strip(),
        }
        if not self._allow_unverified and not self._is_local(parameters):
            ours |= {"sslmode": "verify-full"} | self._certificates(parameters)
        made: str = driver.conninfo.make_conninfo(self._dsn, **ours)
        return made

    def _is_local(self, parameters: Mapping[str, Any]) -> bool:
        """Whether every host and address that the driver may use is this machine; a service file may name any."""
        environment = paths.environment()
        if "service" in parameters or environment.get("PGSERVICE"):
            return False
        named = (
            parameters.get("host") or environment.get("PGHOST", ""),
            parameters.get("hostaddr") or environment.get("PGHOSTADDR", ""),
        )
        return all(
            store_base.is_local_host(each.strip()) for list_ in named for each in str(list_).split(",")
        )

    def _certificates(self, parameters: Mapping[str, Any]) -> dict[str, str]:
        """Return the system's certificates, unless the user has named others."""
        named = (
            "sslrootcert" in parameters or "service" in parameters or "PGSSLROOTCERT" in paths.environment()
        )
        usual = paths.home() / Path(".postgresql/root.crt")
        return {} if named or usual.exists() else {"sslrootcert": "system"}

    def _migrate(self, driver: Any, connection: psycopg.Connection[Any]) -> None:
        """Apply missing migrations, one process at a time."""
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


class _Watchdog:
    """Closes the connection to a server that does not answer in time; the driver would wait for ever.

    There is one thread for the life of a connection: one for each statement would cost a tenth of its time.
    """

    def __init__(self, file_number: int) -> None:
        self.has_hung_up = False
        # A copy, because the driver may close its own at any time.
        self._socket = socket.socket(fileno=os.dup(file_number))
        self._until: float | None = None
        self._over = threading.Event()
        threading.Thread(target=self._watch_time, daemon=True).start()

    @contextmanager
    def limit(self) -> Iterator[None]:
        """Limit the time of the block."""
        self._until = time.monotonic() + _HANG_UP_SECONDS
        try:
            yield
        finally:
            self._until = None

    def end(self) -> None:
        """End the thread."""
        self._over.set()

    def _watch_time(self) -> None:
        with self._socket:
            while not self._over.wait(_CHECK_SECONDS):
                until = self._until
                if until is not None and time.monotonic() > until:
                    self.has_hung_up = True
                    with suppress(OSError):
                        self._socket.shutdown(socket.SHUT_RDWR)
                    return


@cache  # called for every statement
def _driver() -> Any:
    """Return the driver, loaded on first use."""
    try:
        importlib.import_module("psycopg.conninfo")
        return importlib.import_module("psycopg")
    except ImportError as error:
        raise LeftoffError(
            f"storage: postgres needs psycopg. Type: {sys.executable} -m pip install 'psycopg[binary]'"
        ) from error


def _with_placeholders(sql: str) -> str:
    return sql.replace("?", "%s")


_WRONG_PASSWORD = "the password or the user is wrong. Check PGUSER, PGPASSWORD or ~/.pgpass"
_NO_DATABASE = "there is no such database. Create it, or check PGDATABASE or storage_options.dsn"
_UNVERIFIED = (
    "the server's certificate could not be verified. Name its authority in PGSSLROOTCERT, or say "
    "storage_options.allow_unverified: 'yes'"
)
_NO_TLS = (
    "the server offers no encryption. Switch it on there, or set storage_options.allow_unverified: 'yes'"
)
_UNKNOWN_HOST = "the host is not known. Check PGHOST or storage_options.dsn"
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


def _explain(error: Exception) -> str:
    """Return what went wrong and what to do; the first line of the server's message where that is not known."""
    text = str(error)
    if 'database "' in text and "does not exist" in text:
        return _NO_DATABASE
    known = next((meaning for part, meaning in _MEANINGS.items() if part in text), None)
    return known or (text.strip().splitlines() or [type(error).__name__])[0].rstrip(".")
