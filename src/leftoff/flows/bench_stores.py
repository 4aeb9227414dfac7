"""The measures of the stores for several machines, against the plain drivers doing the same work on the same real servers.

``python -m leftoff.flows.bench_stores ENDPOINT ROUNDS`` prints one JSON object: seconds of each round, ours and theirs. Theirs
is what anybody would write with boto3 and psycopg by hand: the log as JSON under its session's name, overwritten by the next, read and
made a log again, and the names listed. Ours is what the sender and the reader of another machine do, which is more: see the rows.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median
from typing import Any, NamedTuple

from leftoff.errors import ProcessError
from leftoff.flows.bench_servers import BUCKET, PostgresServer, S3Server, are_here
from leftoff.model.context_metrics import ContextMetrics
from leftoff.model.project_identity import METADATA_KEY, ProjectIdentity
from leftoff.model.resume_log import ResumeLog
from leftoff.stores.packed import next_moment
from leftoff.stores.postgres import PostgresStore
from leftoff.stores.s3 import S3Store
from leftoff.stores.s3_objects import Bucket
from leftoff.stores.table import TableStore
from leftoff.system import paths, process

GOAL = 1.5
_OPERATIONS = 20  # of each kind in a round
_SESSIONS = 5
_FEWEST_ROUNDS = 5  # a loaded machine makes any one of them odd
_PROJECT = ProjectIdentity(name="bench")
# What ours does for that time and theirs does not.
_BEYOND = {
    "s3": "ours never overwrites, passes over half an object, keeps three versions and projects apart",
    "postgres": "ours checks the hash, keeps a late send below a newer log and projects apart",
}


class Measured(NamedTuple):
    """One measure as a row: our time against theirs, the goal, and our milliseconds for one save and one load."""

    what: str
    against: str
    ratio: float
    limit: float
    note: str


def measures(rounds: int) -> Iterator[Measured]:
    """Both stores; nothing where there are no servers to start (they come with the ``dev`` extra)."""
    if not are_here():
        return
    kept = {name: value for name, value in paths.environment().items() if not name.startswith(("AWS_", "PG"))}
    with S3Server() as s3, PostgresServer() as postgres:
        done = process.run(
            [sys.executable, "-m", "leftoff.flows.bench_stores", s3.url, str(max(rounds, _FEWEST_ROUNDS))],
            timeout_seconds=600,
            environment=kept | s3.environment | postgres.environment,
        )
    if done.exit_code:
        raise ProcessError(f"The measure of the stores failed: {done.complaint}.")
    pairs: dict[str, list[tuple[float, float]]] = json.loads(done.stdout)
    for key, what, against in (
        ("s3", "S3: save, load and list logs", "plain boto3: put, get, list"),
        ("postgres", "PostgreSQL: save, load and list logs", "plain psycopg: upsert, select"),
    ):
        ratio = median(ours / theirs for ours, theirs in pairs[key])
        one = median(ours for ours, _ in pairs[key]) / _OPERATIONS
        yield Measured(what, against, ratio, GOAL, f"{one * 1000:.0f} ms; {_BEYOND[key]}")


def main() -> None:
    """The rounds, in a process whose environment names the servers."""
    endpoint, rounds = sys.argv[1], int(sys.argv[2])
    bucket = Bucket(name=BUCKET, prefix="ours", endpoint_url=endpoint)
    sides = {
        "s3": (_ours(S3Store(bucket)), _plain_s3(endpoint)),
        "postgres": (_ours(PostgresStore()), _plain_postgres()),
    }
    found: dict[str, list[tuple[float, float]]] = {}
    for name, (ours, theirs) in sides.items():
        _timed(ours), _timed(theirs)  # what is loaded and connected once is so now
        found[name] = [(_timed(ours), _timed(theirs)) for _ in range(rounds)]
    sys.stdout.write(json.dumps(found))


def _timed(work: Callable[[ResumeLog], None]) -> float:
    logs = [_log(number) for number in range(_OPERATIONS)]
    begun = time.perf_counter()
    for log in logs:
        work(log)
    return time.perf_counter() - begun


def _ours(store: S3Store | TableStore) -> Callable[[ResumeLog], None]:
    mine = store.for_project(_PROJECT.key)

    def work(log: ResumeLog) -> None:
        mine.load(store.save_as_of(log, next_moment()))
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
    """A log of some 20 KB."""
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
