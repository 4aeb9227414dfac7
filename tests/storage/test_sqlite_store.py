"""The SQLite file: private, shared by processes, and brought up to date."""

import os
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from leftoff.errors import ConfigError, StorageError
from leftoff.platform import paths
from leftoff.storage import sqlite_store
from leftoff.storage.sqlite_store import MIGRATIONS, SqliteStore
from leftoff.storage.store_base import next_timestamp_ns
from leftoff.testing.store_promises import a_log


@pytest.fixture
def store(tmp_path):
    return SqliteStore(tmp_path / "logs.sqlite")


def schema(store):
    with closing(sqlite3.connect(store.path)) as connection:
        return connection.execute("pragma user_version").fetchone()[0]


def test_only_this_user_can_read_the_file(store):
    """The file is private whatever the umask."""
    before = os.umask(0)
    try:
        store.save(a_log("s"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert schema(store) == len(MIGRATIONS)


def test_a_file_of_a_newer_leftoff_is_left_alone(store):
    """The error says to upgrade leftoff."""
    store.save(a_log("s"))
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("pragma user_version = 99")
    before = store.path.read_bytes()
    with pytest.raises(
        StorageError, match=r"made by a newer leftoff \(schema 99, this one knows 1\)\. Upgrade leftoff\."
    ):
        store.save(a_log("t"))
    assert store.path.read_bytes() == before


def test_a_file_that_is_not_a_database_is_reported(store):
    store.path.write_bytes(b"something else entirely, long enough to be looked at" * 10)
    with pytest.raises(StorageError, match="not a SQLite file, or a damaged one"):
        store.list()


def test_a_failed_migration_changes_nothing(store):
    """The next leftoff finds what was there before."""

    def fail(connection):
        connection.execute("create table half (x)")
        connection.execute("nonsense")

    with pytest.raises(StorageError, match="syntax error"):
        SqliteStore(store.path, (*MIGRATIONS, fail)).save(a_log("s"))
    store.save(a_log("s"))
    with closing(sqlite3.connect(store.path)) as connection:
        names = {row[0] for row in connection.execute("select name from sqlite_master")}
    assert "half" not in names


def test_sending_twice_has_no_effect(store):
    """An older log that is sent late does not replace a newer one."""
    moment = next_timestamp_ns()
    store.save_as_of(a_log("s", "first"), moment)
    store.save(a_log("s", "second"))
    store.save_as_of(a_log("s", "first"), moment)
    assert store.load("s").mission_summary == "second"
    assert store.check().endswith("logs.sqlite: reached, 1 log")


def test_the_options_name_the_file(tmp_path, isolated_home):
    """The path is absolute or below home; the default is in the data folder."""
    made = sqlite_store.open_user_store()
    assert made.path == paths.data_folder() / "logs.sqlite"
    assert made.with_options({}) is made
    assert made.with_options({"path": "~/x.sqlite"}).path == isolated_home / "x.sqlite"
    assert made.with_options({"path": str(tmp_path / "y")}).path == Path(tmp_path / "y")
    for options, words in (
        ({"path": "x.sqlite"}, "is not absolute"),
        ({"paht": "/x"}, "Did you mean path?"),
    ):
        with pytest.raises(ConfigError, match=re.escape(words)):
            made.with_options(options)


def test_a_file_that_cannot_be_written_is_reported(unprivileged_folder, run_python):
    """The error gives the reason, also if another program locks the file."""
    ended = run_python(
        """
import sys, sqlite3
from pathlib import Path
from leftoff.errors import StorageError
from leftoff.storage import sqlite_store as sqlite
from leftoff.testing.store_promises import a_log
drop()
path = Path(sys.argv[1]) / "logs" / "logs.sqlite"
store = sqlite.SqliteStore(path)
store.save(a_log("s"))
path.chmod(0o400)
path.parent.chmod(0o500)
try:
    store.save(a_log("t"))
except StorageError as error:
    print(error)
path.parent.chmod(0o700)
path.chmod(0o600)
sqlite._BUSY_SECONDS = 0.1
holder = sqlite3.connect(path)
holder.execute("begin exclusive")
try:
    store.list()
except StorageError as error:
    print(error)
""",
        unprivileged_folder,
    )
    unwritable, held = ended.stdout.splitlines()
    assert unwritable.endswith("the file cannot be opened for writing.")
    assert "another program has held the file" in held


def test_names_that_are_not_session_ids_are_not_listed(tmp_path):
    """Every name that is listed can be loaded."""
    store = SqliteStore(tmp_path / "logs.sqlite")
    store.save(a_log("s"))
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(
            "insert into leftoff_logs select project, '../evil', saved_ns, sha256, body from leftoff_logs"
        )
    assert store.list() == ["s"]
