"""Every built-in backend keeps every promise: SQLite in a file, S3 and PostgreSQL on real servers."""

import sqlite3
import subprocess
import sys
import uuid
from contextlib import closing

import psycopg
import pytest

from leftoff.storage.postgres_store import PostgresStore
from leftoff.storage.s3_client import Bucket
from leftoff.storage.s3_store import S3Store
from leftoff.storage.sqlite_store import SqliteStore
from leftoff.testing.store_promises import SharedStorePromises


class TestSqlite(SharedStorePromises):
    def make_store(self, folder):
        return SqliteStore(folder / "deep" / "logs.sqlite")

    def spoil(self, store, identifier):
        with closing(sqlite3.connect(store.path)) as connection, connection:
            connection.execute(
                "update leftoff_logs set body = substr(body, 1, 40) where session_id = ?", (identifier,)
            )


@pytest.mark.server
class TestS3(SharedStorePromises):
    @pytest.fixture(autouse=True)
    def _server(self, s3):
        self.server = s3

    def make_store(self, folder):
        self.bucket = Bucket(name="logs", prefix=uuid.uuid4().hex, endpoint_url=self.server.url)
        return S3Store(self.bucket)

    def spoil(self, store, identifier):
        """Cut an object as a server does that is killed in the middle of a write."""
        (version,) = store._of_session(identifier)
        path = self.server.folder / "data" / self.bucket.name / version.key
        path.write_bytes(path.read_bytes()[:40])


@pytest.mark.server
class TestPostgres(SharedStorePromises):
    @pytest.fixture(autouse=True)
    def _server(self, postgres):
        self.server = postgres

    def make_store(self, folder):
        with psycopg.connect(autocommit=True) as connection:
            connection.execute("drop table if exists leftoff_logs, leftoff_schema")
        return PostgresStore()

    def spoil(self, store, identifier):
        with psycopg.connect(autocommit=True) as connection:
            connection.execute(
                "update leftoff_logs set body = left(body, 40) where session_id = %s", (identifier,)
            )


def test_an_unused_driver_is_not_loaded(without_coverage):
    """The stores are made by their names without boto3 or psycopg being loaded."""
    code = (
        "import sys; from leftoff import plugins\n"
        "for name in ('s3', 'postgres', 'sqlite'): plugins.make('storage', name)\n"
        "print(sorted({'boto3', 'botocore', 'psycopg'} & {*sys.modules}))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout == "[]\n"
