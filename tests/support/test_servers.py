"""Test servers end with the process that started them and leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from leftoff.platform import paths
from tests.support.servers import PostgresServer, S3Server

pytestmark = pytest.mark.server

PARENT = """
import sys
from tests.support.servers import PostgresServer, S3Server
server = {"s3": S3Server, "postgres": PostgresServer}[sys.argv[1]]().__enter__()
print(server.folder, server._child.pid, flush=True)
sys.stdin.read()
"""


def wait_until(condition, what):
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline, f"waited too long: {what}"
        time.sleep(0.05)


def is_alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["s3", "postgres"])
@pytest.mark.parametrize("ending_signal", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_a_server_ends_with_the_process_that_started_it(kind, ending_signal):
    """The server's folder is removed too, however the process ended."""
    starter = subprocess.Popen(
        [sys.executable, "-c", PARENT, kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=paths.environment(),
        text=True,
    )
    try:
        folder, group = starter.stdout.readline().split()
        assert Path(folder).is_dir()
        assert is_alive(int(group))
        starter.send_signal(ending_signal)
        starter.wait(timeout=60)
        wait_until(lambda: not Path(folder).exists(), "its folder is gone")
        wait_until(lambda: not is_alive(int(group)), "the server is gone")
    finally:
        starter.kill()
        starter.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [S3Server, PostgresServer], ids=["s3", "postgres"])
def test_a_killed_server_can_be_restarted_and_leaves_nothing(kind):
    """After it is closed, neither its folder nor its shared memory is left."""
    with kind() as server:
        server.kill()
        server.start()
        if kind is PostgresServer:
            with psycopg.connect(
                host="127.0.0.1",
                port=server.port,
                user="leftoff",
                password=server.environment["PGPASSWORD"],
                dbname="postgres",
            ) as connection:
                assert connection.execute("show dynamic_shared_memory_type").fetchone() == ("mmap",)
        server.kill()
        segment = server.shared_memory()
    assert not server.folder.exists()
    assert (segment is not None) is (kind is PostgresServer)
    table = Path("/proc/sysvipc/shm")  # of Linux
    assert not table.exists() or f" {segment} " not in table.read_text("ascii")
