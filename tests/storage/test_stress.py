"""Many writers, servers that are killed and come back, connections that are cut: nothing is lost and nothing doubled."""

import json
import subprocess
import sys
import time
import uuid
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from leftoff.platform import paths
from leftoff.storage.postgres_store import PostgresStore
from leftoff.storage.s3_client import Bucket
from leftoff.storage.s3_store import S3Store
from tests.storage.cutting_proxy import CuttingProxy
from tests.support.servers import PostgresServer, S3Server

WRITER = Path(__file__).with_name("stress_writer.py")


def storm(kind, server, prefix, *, writers, operations, kills):
    """Let them write while the server falls over and connections break; what must be there, and what was done."""
    each = operations // writers
    done, expected = Counter(), {}
    with CuttingProxy(server.port) as proxy:
        address = f"http://127.0.0.1:{proxy.port}" if kind == "s3" else str(proxy.port)
        children = [
            subprocess.Popen(
                [sys.executable, str(WRITER), kind, address, prefix, str(number), str(each), "7"],
                env=paths.environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for number in range(writers)
        ]
        try:
            while any(child.poll() is None for child in children):
                time.sleep(0.7)
                proxy.cut()
                if done["server killed"] < kills:
                    server.kill()
                    server.start()
                    done["server killed"] += 1
            for child in children:
                out, err = child.communicate()
                assert child.returncode == 0, err[-2000:]
                report = json.loads(out)
                for session_id, (mission, moment, saves) in report["expected"].items():
                    before = expected.get(session_id, ("", 0, 0))
                    newest = max((moment, mission), (before[1], before[0]))
                    expected[session_id] = newest[1], newest[0], saves + before[2]
                done.update(report["done"])
        finally:
            for child in children:
                child.kill()
                child.communicate()
        done["connection cut"] = proxy.cuts
    return expected, done


def check(store, expected):
    listed = store.list()
    assert len(listed) == len({*listed})
    assert {*listed} == {*expected}, "nothing is lost, nothing comes back"
    for session_id, (mission, _, _) in expected.items():
        assert store.load(session_id).mission_summary == mission


def table(kind, done):
    return f"{kind}: " + ", ".join(f"{count:,} {what}" for what, count in sorted(done.items()))


def s3_storm(monkeypatch, **size):
    prefix = uuid.uuid4().hex
    with S3Server() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        expected, done = storm("s3", server, prefix, **size)
        store = S3Store(Bucket(name="logs", prefix=prefix, endpoint_url=server.url))
        check(store, expected)
        check_objects(store._versions(), expected)
    return done


def check_objects(versions, expected):
    """Every object is one save, none is duplicated or invented, and the last few of each session are all there."""
    assert len({(each.session_id, each.moment) for each in versions}) == len(versions), "nothing is doubled"
    kept = Counter(each.session_id for each in versions)
    for session_id, (_, moment, saves) in expected.items():
        assert min(saves, 3) <= kept[session_id] <= saves, session_id
        assert max(each.moment for each in versions if each.session_id == session_id) == moment


def postgres_storm(monkeypatch, **size):
    with PostgresServer() as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        expected, done = storm("postgres", server, "", **size)
        check(PostgresStore(), expected)
        with psycopg.connect(autocommit=True) as connection:
            (rows,) = connection.execute("select count(*) from leftoff_logs").fetchone()
        assert rows == len(expected)
    return done


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize("storming", [s3_storm, postgres_storm], ids=["s3", "postgres"])
def test_a_few_writers_survive_one_crash(storming, monkeypatch, without_coverage):
    done = storming(monkeypatch, writers=3, operations=90, kills=1)
    assert done["save"] + done["load"] + done["delete"] == 90
    assert done["server killed"] == 1


@pytest.mark.stress
@pytest.mark.parametrize("storming", [s3_storm, postgres_storm], ids=["s3", "postgres"])
def test_eight_writers_and_five_thousand_operations_survive_crashes(
    storming, monkeypatch, without_coverage, capsys
):
    done = storming(monkeypatch, writers=8, operations=5_000, kills=20)
    assert done["save"] + done["load"] + done["delete"] == 5_000
    assert done["trouble"] > 0, "else nothing was tried"
    with capsys.disabled():
        sys.stdout.write(f"\n{table(storming.__name__, done)}\n")
