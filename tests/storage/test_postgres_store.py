"""The database: its schema, connections that break, and every trouble in one clear sentence."""

import re
import select
import socket
import threading

import psycopg
import pytest

from leftoff.errors import ConfigError, DocumentError, StorageError, UnreachableError
from leftoff.storage import postgres_store
from leftoff.storage.postgres_store import MIGRATIONS, PostgresStore
from leftoff.storage.store_base import next_timestamp_ns
from leftoff.testing.store_promises import a_log
from tests.storage.cutting_proxy import CuttingProxy

pytestmark = pytest.mark.server


@pytest.fixture
def database(postgres):
    """An empty one, with a connection of our own to look at it."""
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("drop table if exists leftoff_logs, leftoff_schema")
        yield connection


@pytest.fixture
def store(database):
    return PostgresStore()


def test_the_first_connection_creates_the_schema(store, database):
    """The schema's version is noted in the database."""
    store.save(a_log("s"))
    assert database.execute("select version from leftoff_schema").fetchall() == [(len(MIGRATIONS),)]


def test_concurrent_first_connections_create_the_schema_once(database):
    """Each of the concurrent stores has its own connection."""
    troubles = []

    def come(number):
        try:
            PostgresStore().save(a_log(f"s{number}"))
        except StorageError as error:
            troubles.append(error)

    comers = [threading.Thread(target=come, args=(number,)) for number in range(6)]
    for comer in comers:
        comer.start()
    for comer in comers:
        comer.join()
    assert troubles == []
    assert len(PostgresStore().list()) == 6
    assert database.execute("select count(*) from leftoff_schema").fetchone() == (len(MIGRATIONS),)


def test_an_older_schema_is_brought_up_to_date(store, database):
    """A database that knows only that it was begun."""
    database.execute("create table leftoff_schema (version integer primary key)")
    store.save(a_log("s"))
    assert store.list() == ["s"]


NEXT = (*MIGRATIONS, ("alter table leftoff_logs add column if not exists machine text not null default ''",))


def columns(database):
    rows = database.execute(
        "select column_name from information_schema.columns where table_name = 'leftoff_logs'"
    )
    return {row[0] for row in rows}


def versions(database):
    return [row[0] for row in database.execute("select version from leftoff_schema order by version")]


@pytest.mark.parametrize("known", range(1, len(NEXT)))
def test_logs_of_an_older_schema_are_there_after_every_migration(database, monkeypatch, known):
    """A database that stopped at any of the migrations is brought to the last, in order, and loses nothing."""
    monkeypatch.setattr(postgres_store, "MIGRATIONS", NEXT[:known])
    PostgresStore().save(a_log("old", "from before"))
    assert versions(database) == [*range(1, known + 1)]
    assert "machine" not in columns(database)
    monkeypatch.setattr(postgres_store, "MIGRATIONS", NEXT)
    store = PostgresStore()
    assert store.load("old").to_dict() == a_log("old", "from before").to_dict()
    store.save(a_log("new", "from after"))
    assert store.list() == ["new", "old"]
    assert versions(database) == [*range(1, len(NEXT) + 1)]
    assert "machine" in columns(database)


def test_a_schema_newer_than_we_know_is_refused_in_one_sentence_and_left_alone(database, monkeypatch):
    """Another machine has a newer leftoff; ours says what to do and changes nothing."""
    monkeypatch.setattr(postgres_store, "MIGRATIONS", NEXT)
    PostgresStore().save(a_log("s", "of the newer one"))
    monkeypatch.setattr(postgres_store, "MIGRATIONS", MIGRATIONS)
    for operation in (lambda old: old.save(a_log("s", "of the older one")), lambda old: old.load("s")):
        with pytest.raises(StorageError) as refused:
            operation(PostgresStore())
        assert str(refused.value) == (
            f"PostgreSQL: made by a newer leftoff (schema {len(NEXT)}, this one knows {len(MIGRATIONS)}). Upgrade leftoff."
        )
    monkeypatch.setattr(postgres_store, "MIGRATIONS", NEXT)
    assert versions(database) == [*range(1, len(NEXT) + 1)]
    assert PostgresStore().load("s").mission_summary == "of the newer one"


def test_a_migration_that_fails_changes_nothing(database, monkeypatch):
    """The steps of a migration are one transaction, so an older leftoff can still use the database."""
    PostgresStore().save(a_log("s"))
    broken = (*MIGRATIONS, (*NEXT[-1], "alter table leftoff_nothing add column x text"))
    monkeypatch.setattr(postgres_store, "MIGRATIONS", broken)
    with pytest.raises(StorageError, match="leftoff_nothing"):
        PostgresStore().list()
    assert versions(database) == [*range(1, len(MIGRATIONS) + 1)]
    assert "machine" not in columns(database)
    monkeypatch.setattr(postgres_store, "MIGRATIONS", MIGRATIONS)
    assert PostgresStore().load("s").to_dict() == a_log("s").to_dict()


def test_an_older_schema_without_rights_to_change_it_is_reported(database, postgres, monkeypatch):
    """The message names who can change it: the owner of the tables."""
    database.execute("create table leftoff_schema (version integer primary key)")
    database.execute("drop role if exists guest")
    database.execute("create role guest login password 'guest'")
    monkeypatch.setenv("PGUSER", "guest")
    monkeypatch.setenv("PGPASSWORD", "guest")
    with pytest.raises(
        StorageError, match=r"this user may not do that\. If the tables are of an older schema"
    ):
        PostgresStore().list()


def test_a_broken_connection_is_opened_again(store, database):
    """The server may close a connection at any time."""
    store.save(a_log("s"))
    database.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'leftoff'"
    )
    assert store.list() == ["s"]
    assert store.save(a_log("t")) == "t"


def test_sending_twice_has_no_effect(store, database):
    """An older log that is sent late does not replace a newer one."""
    moment = next_timestamp_ns()
    store.save_as_of(a_log("s", "first"), moment)
    store.save_as_of(a_log("s", "first"), moment)
    store.save(a_log("s", "second"))
    store.save_as_of(a_log("s", "first"), moment)
    assert store.load("s").mission_summary == "second"
    assert database.execute("select count(*) from leftoff_logs").fetchone() == (1,)


def test_a_damaged_row_is_named(store, database):
    """The error names the log when it is loaded."""
    store.save(a_log("s"))
    database.execute("update leftoff_logs set body = left(body, 30)")
    with pytest.raises(DocumentError, match="log s: incomplete, or changed since"):
        store.load("s")


def test_unusual_characters_are_kept(store):
    """NUL, quotes, percent signs, question marks and other scripts are kept."""
    mission = "\0 '; drop table leftoff_logs; -- %s ? \\ 日本語 🎉 \u2028"
    store.save(a_log("s", mission))
    assert store.load("s").mission_summary == mission


def test_the_check_names_the_database(store):
    """The check names the host and the database, never the password."""
    store.save(a_log("s"))
    assert store.check() == "PostgreSQL 127.0.0.1/postgres: reached, 1 log"


# Troubles


def words(store):
    with pytest.raises(StorageError) as trouble:
        store.list()
    message = str(trouble.value)
    assert message.startswith("PostgreSQL: ")
    assert message.endswith(".")
    assert "\n" not in message
    return message


def test_a_wrong_password_is_reported(postgres, monkeypatch):
    """The message does not show it."""
    monkeypatch.setenv("PGPASSWORD", "wrong-wrong")
    message = words(PostgresStore())
    assert "the password or the user is wrong" in message
    assert "wrong-wrong" not in message
    monkeypatch.delenv("PGPASSWORD")
    assert "the password or the user is wrong" in words(PostgresStore())


def test_an_unknown_database_is_reported(postgres):
    assert "there is no such database" in words(PostgresStore("dbname=nowhere"))


def test_a_missing_network_is_reported(postgres):
    assert "no answer. Is the server up, and the network?" in words(PostgresStore("port=9"))


def test_an_unknown_host_is_reported(postgres):
    """A name that does not resolve."""
    assert "the host is not known" in words(PostgresStore("host=nowhere.invalid", allow_unverified=True))


def test_a_server_on_another_machine_needs_a_valid_certificate(postgres):
    """The test server has no TLS: under the name of another machine it is refused, unless the user allows it."""
    far = "host=far.example hostaddr=127.0.0.1"
    assert "offers no encryption" in words(PostgresStore(far))
    assert PostgresStore(far, allow_unverified=True).list() is not None


# Options


def test_the_options_make_the_store(database):
    """Options that are missing come from the environment."""
    configured = postgres_store.open_from_environment().with_options({"dsn": "application_name=other"})
    configured.save(a_log("s"))
    assert PostgresStore().list() == ["s"]


def test_a_service_of_the_user_s_files_names_the_database(database, postgres, tmp_path, monkeypatch):
    """The service file works as for every other program."""
    file = tmp_path / "services"
    file.write_text(
        f"[logs]\nhost=127.0.0.1\nport={postgres.port}\ndbname=postgres\nuser=leftoff\n", encoding="utf-8"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    for name in ("PGHOST", "PGPORT", "PGUSER", "PGDATABASE"):
        monkeypatch.delenv(name)
    store = postgres_store.open_from_environment().with_options(
        {"service": "logs", "allow_unverified": "yes"}
    )
    store.save(a_log("s"))
    assert store.list() == ["s"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dsn": "host=h password=x"}, "it contains a password"),
        ({"dsn": "postgresql://u:x@h/d"}, "it contains a password"),
        ({"dsn": "host='"}, "not understood"),
        ({"dsn": "host=h", "service": "s"}, "both name a database"),
        ({"password": "x"}, "credentials do not belong into leftoff's configuration"),
        ({"dns": "x"}, "Did you mean dsn?"),
    ],
)
def test_invalid_options_are_reported(options, words):
    """Invalid options are reported before any connection is made."""
    with pytest.raises(ConfigError, match=re.escape(words)):
        postgres_store.open_from_environment().with_options(options).list()


@pytest.mark.parametrize(
    ("dsn", "environment"),
    [
        ("host=127.db.example.org", {}),
        ("host=localhost hostaddr=203.0.113.7", {}),
        ("host=localhost,far.example", {}),
        ("", {"PGHOST": "localhost", "PGHOSTADDR": "203.0.113.7"}),
        ("", {"PGHOST": "localhost", "PGSERVICE": "logs"}),
        ("host=localhost service=logs", {}),
        ("hostaddr=203.0.113.7", {"PGHOST": "/run/postgresql"}),
    ],
)
def test_every_host_that_may_be_another_machine_is_verified(dsn, environment, monkeypatch):
    """A name that only looks like this machine, an address beside the name, a service that could name any."""
    assert "sslmode=verify-full" in conninfo(dsn, environment, monkeypatch)


@pytest.mark.parametrize(
    ("dsn", "environment"),
    [
        ("", {}),
        ("host=localhost", {}),
        ("host=127.0.0.2", {}),
        ("host=::1", {}),
        ("host=/run/postgresql", {}),
        ("host=localhost hostaddr=127.0.0.1", {}),
        ("", {"PGHOST": "127.0.0.1"}),
    ],
)
def test_this_machine_needs_no_certificate(dsn, environment, monkeypatch):
    """The connection does not leave the machine."""
    assert "sslmode" not in conninfo(dsn, environment, monkeypatch)


def conninfo(dsn, environment, monkeypatch):
    for name in ("PGHOST", "PGHOSTADDR", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return postgres_store.Server(dsn, allow_unverified=False)._conninfo(psycopg)


@pytest.mark.parametrize(
    "dsn",
    ["host=h password='hunter2", "postgresql://u:hunter2@[h/d", "hunter2", "host=h sslpassword=hunter2"],
)
def test_a_password_in_a_dsn_is_never_shown(dsn):
    """The rest of the dsn may be wrong in any way."""
    with pytest.raises(ConfigError) as refused:
        PostgresStore(dsn).list()
    assert "hunter2" not in str(refused.value)
    assert "storage_options.dsn" in str(refused.value)


def test_a_silent_server_is_tried_only_once(postgres, monkeypatch):
    """The server accepts the connection and never answers, so there is one time-out."""
    monkeypatch.setattr(postgres_store, "_CONNECT_SECONDS", 2)
    connections = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        taker = threading.Thread(target=take_until_closed, args=(silent, connections))
        taker.start()
        try:
            with pytest.raises(UnreachableError, match="no answer"):
                PostgresStore(f"port={silent.getsockname()[1]}").list()
        finally:
            silent.shutdown(socket.SHUT_RDWR)
            taker.join()
            for each in connections:
                each.close()
    assert len(connections) == 1


def take_until_closed(silent, connections):
    while True:
        try:
            connections.append(silent.accept()[0])
        except OSError:
            return


class Swallowing(CuttingProxy):
    """Lets the login pass, and then takes whatever is asked without a word."""

    def __init__(self, port):
        super().__init__(port)
        self.swallowed = 0

    def _shovel(self, one, other):
        across = {one: other, other: one}
        while True:
            for ready in select.select([one, other], [], [])[0]:
                data = ready.recv(65536)
                if not data:
                    return
                if b"leftoff_schema" in data:
                    self.swallowed += 1
                else:
                    across[ready].sendall(data)


def test_a_server_that_stops_answering_is_given_up(postgres, monkeypatch):
    """A second attempt would take as long again, so there is only one."""
    monkeypatch.setattr(postgres_store, "_HANG_UP_SECONDS", 1.0)
    monkeypatch.setattr(postgres_store, "_CHECK_SECONDS", 0.1)
    with Swallowing(postgres.port) as proxy:
        with pytest.raises(UnreachableError, match="no answer"):
            PostgresStore(f"host=127.0.0.1 port={proxy.port}").list()
        assert proxy.swallowed == 1


def test_the_watchdog_ends_with_its_connection(store):
    before = {*threading.enumerate()}
    store.list()
    (watcher,) = {*threading.enumerate()} - before
    store._database._drop()
    watcher.join(timeout=60)
    assert not watcher.is_alive()
    assert store.list() == []
