"""The measures of the stores, once round on real servers; and what their servers leave behind."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from leftoff.flows import bench_servers
from leftoff.flows.bench_stores import GOAL, measures
from leftoff.system import paths

UNFINISHED = """
from leftoff.flows.bench_servers import PostgresServer

class Unfinished(PostgresServer):
    def making(self, secret):
        begin = f"mkdir {self.folder}/data && echo 18 > {self.folder}/data/PG_VERSION && exec sleep 600"
        return ["/bin/sh", "-c", begin]

server = Unfinished()
print(server.folder, flush=True)
server.__enter__()
"""


def wait_until(condition, what):
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.05)


@pytest.mark.server
def test_both_stores_are_measured_against_their_drivers():
    """As ratios, each with the goal: S3 against who does the same by hand, and against who overwrites."""
    rows = [*measures(1)]
    assert [(row.what, row.against) for row in rows] == [
        ("S3: save, load and list logs", "plain boto3: put by time, list, get newest, list all"),
        ("S3: the same, never overwriting", "plain boto3 that overwrites: put, get, list"),
        ("PostgreSQL: save, load and list logs", "plain psycopg: upsert, select"),
    ]
    assert all(row.ratio > 0 and row.limit == GOAL and " ms; ours " in row.note for row in rows)


def test_a_server_that_cannot_start_says_why(tmp_path):
    """And leaves nothing behind."""

    class Unable(bench_servers.S3Server):
        def command(self):
            return ["/bin/sh", "-c", "echo no such thing >&2; exit 3"]

    server = Unable()
    with pytest.raises(bench_servers.ProcessError, match="no such thing"):
        server.__enter__()
    assert not server.folder.exists()
    assert bench_servers.are_here()
    assert paths.environment().get("AWS_ACCESS_KEY_ID") is None


@pytest.mark.server
def test_a_database_that_cannot_be_made_says_why():
    """And leaves nothing behind."""

    class Unable(bench_servers.PostgresServer):
        def making(self, secret):
            return ["/bin/sh", "-c", "echo no room for it >&2; exit 3"]

    server = Unable()
    with pytest.raises(bench_servers.ProcessError, match="initdb failed: no room for it"):
        server.__enter__()
    assert not server.folder.exists()


@pytest.mark.server
def test_a_database_that_is_still_being_made_leaves_nothing():
    """Whoever makes it is killed in the middle."""
    starter = subprocess.Popen(
        [sys.executable, "-c", UNFINISHED],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=paths.environment(),
        text=True,
    )
    try:
        folder = Path(starter.stdout.readline().strip())
        wait_until((folder / "data" / "PG_VERSION").exists, "it is being made")
        starter.kill()
        starter.wait(timeout=60)
        wait_until(lambda: not folder.exists(), "its folder is gone")
    finally:
        starter.kill()
        starter.communicate()


def test_a_bucket_s_folder_is_where_everything_temporary_is():
    """So it goes with the rest, whatever happens."""
    server = bench_servers.S3Server()
    try:
        assert server.folder.parent == Path(tempfile.gettempdir())
    finally:
        server.close()
    assert not server.folder.exists()
