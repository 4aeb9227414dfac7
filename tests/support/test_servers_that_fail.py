"""Test servers that cannot start or are ended too early: what they report, and that they leave nothing behind."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from leftoff.platform import paths
from tests.support import servers

UNFINISHED = """
from tests.support.servers import PostgresServer

class Unfinished(PostgresServer):
    def initdb_command(self, secret):
        begin = f"mkdir {self.folder}/data && echo 18 > {self.folder}/data/PG_VERSION && exec sleep 600"
        return ["/bin/sh", "-c", begin]

server = Unfinished()
print(server.folder, flush=True)
server.__enter__()
"""


def wait_until(condition, what):
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline, f"waited too long: {what}"
        time.sleep(0.05)


def test_a_failing_start_is_reported(tmp_path):
    """The error contains the program's output, and the folder is removed."""

    class Unable(servers.S3Server):
        def command(self):
            return ["/bin/sh", "-c", "echo no such thing >&2; exit 3"]

    server = Unable()
    with pytest.raises(servers.ProcessError, match="no such thing"):
        server.__enter__()
    assert not server.folder.exists()
    assert servers.are_installed()
    assert paths.environment().get("AWS_ACCESS_KEY_ID") is None


@pytest.mark.server
def test_a_failing_initdb_is_reported():
    """The error contains the program's output, and the folder is removed."""

    class Unable(servers.PostgresServer):
        def initdb_command(self, secret):
            return ["/bin/sh", "-c", "echo no room for it >&2; exit 3"]

    server = Unable()
    with pytest.raises(servers.ProcessError, match="initdb failed: no room for it"):
        server.__enter__()
    assert not server.folder.exists()


@pytest.mark.server
def test_an_interrupted_initdb_leaves_nothing():
    """The process that creates the database is killed while initdb runs."""
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


def test_the_bucket_is_in_the_temporary_folder():
    """The folder is removed with everything else in it."""
    server = servers.S3Server()
    try:
        assert server.folder.parent == Path(tempfile.gettempdir())
    finally:
        server.close()
    assert not server.folder.exists()
