"""Measures of the S3 and PostgreSQL stores against the plain drivers on the same real servers.

``python -m bench.stores ENDPOINT ROUNDS`` prints one JSON object: seconds per round, ours and theirs in turn. Theirs is what one
would write by hand with boto3 and psycopg: the log as JSON under its session's name, overwritten by the next one, read back and
listed. For S3 a second one does what our store does: it never overwrites, names objects by time, finds the newest and deletes old
ones. Ours is what the sender and the reader on another machine do, which is more than either: see the rows.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from statistics import median
from typing import Any, NamedTuple

from bench.measuring import run_child
from leftoff.core.metrics import ContextMetrics
from leftoff.core.project_identity import METADATA_KEY, ProjectIdentity
from leftoff.core.resume_log import ResumeLog
from leftoff.platform import paths
from leftoff.storage.postgres_store import PostgresStore
from leftoff.storage.s3_client import Bucket
from leftoff.storage.s3_store import S3Store
from leftoff.storage.sqlite_store import TableStore
from leftoff.storage.store_base import next_timestamp_ns
from tests.support.servers import BUCKET, PostgresServer, S3Server, are_installed

GOAL = 1.5
_OPERATIONS = 20  # of each kind in a round
_SESSIONS = 5
_FEWEST_ROUNDS = 7  # a loaded machine makes any one of them odd
_PROJECT = ProjectIdentity(name="bench")
# Of a session's objects theirs keeps three to six; ours has six on average.
_KEPT = 3
_MOST = 6
_OURS = "ours"


class _Comparison(NamedTuple):
    """The store, the other side, the row's texts, and what ours does in addition."""

    store: str
    theirs: str
    what: str
    against: str
    beyond: str


_ROWS = (
    _Comparison(
        store="s3",
        theirs="by time",
        what="S3: save, load and list logs",
        against="plain boto3: put by time, list, get newest, list all",
        beyond="passes over half an object, keeps projects apart, and a late send below a newer log",
    ),
    _Comparison(
        store="s3",
        theirs="overwriting",
        what="S3: the same, never overwriting",
        against="plain boto3 that overwrites: put, get, list",
        beyond="never overwrites, asks which is the newest, passes over half an object, keeps projects apart",
    ),
    _Comparison(
        store="postgres",
        theirs="upsert",
        what="PostgreSQL: save, load and list logs",
        against="plain psycopg: upsert, select",
        beyond="checks the hash, keeps a late send below a newer log and projects apart",
    ),
)


class StoreFigures(NamedTuple):
    """One measure as a row: ratio, goal, and our milliseconds for one save and one load."""

    what: str
    against: str
    ratio: float
    limit: float
    note: str


def measures(rounds: int) -> Iterator[StoreFigures]:
    """Yield the measures of both stores; none without servers to start (they come with the ``dev`` extra)."""
    if not are_installed():
        return
    kept = {name: value for name, value in paths.environment().items() if not name.startswith(("AWS_", "PG"))}
    with S3Server() as s3, PostgresServer() as postgres:
        environment = kept | s3.environment | postgres.environment
        seconds: dict[str, dict[str, list[float]]] = run_child(
            "bench.stores", s3.url, max(rounds, _FEWEST_ROUNDS), environment=environment
        )
    for row in _ROWS:
        ours, theirs = seconds[row.store][_OURS], seconds[row.store][row.theirs]
        ratio = median(one / other for one, other in zip(ours, theirs, strict=True))
        note = f"{median(ours) / _OPERATIONS * 1000:.0f} ms; ours {row.beyond}"
        yield StoreFigures(row.what, row.against, ratio, GOAL, note)


def main() -> None:
    """Run the rounds in a process whose environment names the servers."""
    endpoint, rounds = sys.argv[1], int(sys.argv[2])
    bucket = Bucket(name=BUCKET, prefix="ours", endpoint_url=endpoint)
    stores = {
        "s3": {
            _OURS: _leftoff_store(S3Store(bucket)),
            "overwriting": _plain_s3(endpoint),
            "by time": _plain_s3_by_time(endpoint),
        },
        "postgres": {_OURS: _leftoff_store(PostgresStore()), "upsert": _plain_postgres()},
    }
    found: dict[str, dict[str, list[float]]] = {}
    for name, sides in stores.items():
        _round(sides)  # what is loaded and connected once is so now
        turns = [_round(sides) for _ in range(rounds)]
        found[name] = {side: [turn[side] for turn in turns] for side in sides}
    sys.stdout.write(json.dumps(found))


def _round(sides: Mapping[str, Callable[[ResumeLog], None]]) -> dict[str, float]:
    """Return the seconds of each side, which take turns with each log, so that a busy machine slows both."""
    seconds = dict.fromkeys(sides, 0.0)
    for log in [_log(number) for number in range(_OPERATIONS)]:
        for side, work in sides.items():
            started = time.perf_counter()
            work(log)
            seconds[side] += time.perf_counter() - started
    return seconds


def _leftoff_store(store: S3Store | TableStore) -> Callable[[ResumeLog], None]:
    mine = store.for_project(_PROJECT.key)

    def work(log: ResumeLog) -> None:
        mine.load(store.save_as_of(log, next_timestamp_ns()))
        mine.list()

    return work


def _plain_s3(endpoint: str) -> Callable[[ResumeLog], None]:
    client: Any = importlib.import_module("boto3").client("s3", endpoint_url=endpoint)

    def work(log: ResumeLog) -> None:
        key = f"theirs/{log.session_id}.json"
        client.put_object(Bucket=BUCKET, Key=key, Body=json.dumps(log.to_dict()).encode())
        body = client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        ResumeLog.from_dict(json.loads(body))
        page = client.list_objects_v2(Bucket=BUCKET, Prefix="theirs/")
        sorted(page["Contents"], key=lambda each: each["LastModified"], reverse=True)

    return work


def _plain_s3_by_time(endpoint: str) -> Callable[[ResumeLog], None]:
    client: Any = importlib.import_module("boto3").client("s3", endpoint_url=endpoint)

    def keys(prefix: str) -> list[str]:
        page = client.list_objects_v2(Bucket=BUCKET, Prefix=prefix)
        return [each["Key"] for each in page["Contents"]]

    def work(log: ResumeLog) -> None:
        folder = f"by-time/{log.session_id}/"
        key = f"{folder}{next_timestamp_ns():020d}.json"
        client.put_object(Bucket=BUCKET, Key=key, Body=json.dumps(log.to_dict()).encode())
        there = keys(folder)
        ResumeLog.from_dict(json.loads(client.get_object(Bucket=BUCKET, Key=there[-1])["Body"].read()))
        if len(there) > _MOST:
            old = [{"Key": each} for each in there[:-_KEPT]]
            client.delete_objects(Bucket=BUCKET, Delete={"Objects": old, "Quiet": True})
        # In order of their names, so of each session the last one stays.
        newest = {each.split("/")[1]: each.split("/")[2] for each in keys("by-time/")}
        sorted(newest, key=newest.__getitem__, reverse=True)

    return work


def _plain_postgres() -> Callable[[ResumeLog], None]:
    connection: Any = importlib.import_module("psycopg").connect(autocommit=True)
    connection.execute("create table theirs (id text primary key, saved bigint, body text)")
    moments = iter(range(10**9))

    def work(log: ResumeLog) -> None:
        connection.execute(
            "insert into theirs values (%s, %s, %s) on conflict (id) do update set saved = excluded.saved, body = excluded.body",
            (log.session_id, next(moments), json.dumps(log.to_dict())),
        )
        (body,) = connection.execute("select body from theirs where id = %s", (log.session_id,)).fetchone()
        ResumeLog.from_dict(json.loads(body))
        connection.execute("select id from theirs order by saved desc").fetchall()

    return work


def _log(number: int) -> ResumeLog:
    """Return a log of about 20 KB."""
    words = (
        "The limiter in src/limits/bucket.py counts per user and window: RateLimiter.allow asks Redis once."
    )
    log = ResumeLog(
        session_id=f"bench-{number % _SESSIONS}",
        context_metrics=ContextMetrics(total_budget=167_000, used_tokens=150_000),
        mission_summary=words,
        metadata={METADATA_KEY: _PROJECT.to_dict()},
    )
    return replace(
        log,
        accomplishments=[f"{words} (part {part})" for part in range(80)],
        key_findings=[f"{words} (finding {part} of {number})" for part in range(80)],
    )


if __name__ == "__main__":
    main()
