"""The measures of the stores for several machines, against the plain drivers on the same real servers.

``python -m leftoff.flows.bench_stores ENDPOINT ROUNDS`` prints one JSON object: seconds of each round, ours and theirs by turns.
Theirs is what anybody would write with boto3 and psycopg by hand: the log as JSON under its session's name, overwritten by the next,
read and made a log again, and the names listed. For S3 there is a second one that does by hand the work that is asked of our
store: objects that are never overwritten, under names that sort by time, of which the newest is looked for and old ones are taken
away. Ours is what the sender and the reader of another machine do, which is more than either: see the rows.
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
_FEWEST_ROUNDS = 7  # a loaded machine makes any one of them odd
_PROJECT = ProjectIdentity(name="bench")
# Of a session's objects theirs keeps three to six; ours has six on average.
_KEPT = 3
_MOST = 6
_OURS = "ours"


class _Compared(NamedTuple):
    """A row to be: the store, who else does it, the row's words, and what ours does for its time that theirs does not."""

    store: str
    theirs: str
    what: str
    against: str
    beyond: str


_ROWS = (
    _Compared(
        store="s3",
        theirs="by time",
        what="S3: save, load and list logs",
        against="plain boto3: put by time, list, get newest, list all",
        beyond="passes over half an object, keeps projects apart, and a late send below a newer log",
    ),
    _Compared(
        store="s3",
        theirs="overwriting",
        what="S3: the same, never overwriting",
        against="plain boto3 that overwrites: put, get, list",
        beyond="never overwrites, asks which is the newest, passes over half an object, keeps projects apart",
    ),
    _Compared(
        store="postgres",
        theirs="upsert",
        what="PostgreSQL: save, load and list logs",
        against="plain psycopg: upsert, select",
        beyond="checks the hash, keeps a late send below a newer log and projects apart",
    ),
)


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
    seconds: dict[str, dict[str, list[float]]] = json.loads(done.stdout)
    for row in _ROWS:
        ours, theirs = seconds[row.store][_OURS], seconds[row.store][row.theirs]
        ratio = median(one / other for one, other in zip(ours, theirs, strict=True))
        note = f"{median(ours) / _OPERATIONS * 1000:.0f} ms; ours {row.beyond}"
        yield Measured(row.what, row.against, ratio, GOAL, note)


def main() -> None:
    """The rounds, in a process whose environment names the servers."""
    endpoint, rounds = sys.argv[1], int(sys.argv[2])
    bucket = Bucket(name=BUCKET, prefix="ours", endpoint_url=endpoint)
    stores = {
        "s3": {
            _OURS: _ours(S3Store(bucket)),
            "overwriting": _plain_s3(endpoint),
            "by time": _plain_s3_by_time(endpoint),
        },
        "postgres": {_OURS: _ours(PostgresStore()), "upsert": _plain_postgres()},
    }
    found: dict[str, dict[str, list[float]]] = {}
    for name, sides in stores.items():
        _round(sides)  # what is loaded and connected once is so now
        turns = [_round(sides) for _ in range(rounds)]
        found[name] = {side: [turn[side] for turn in turns] for side in sides}
    sys.stdout.write(json.dumps(found))


def _round(sides: Mapping[str, Callable[[ResumeLog], None]]) -> dict[str, float]:
    """Seconds of each side. They take turns with each log: what else the machine does then meets them alike."""
    seconds = dict.fromkeys(sides, 0.0)
    for log in [_log(number) for number in range(_OPERATIONS)]:
        for side, work in sides.items():
            begun = time.perf_counter()
            work(log)
            seconds[side] += time.perf_counter() - begun
    return seconds


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


def _plain_s3_by_time(endpoint: str) -> Callable[[ResumeLog], None]:
    client: Any = importlib.import_module("boto3").client("s3", endpoint_url=endpoint)

    def keys(prefix: str) -> list[str]:
        page = client.list_objects_v2(Bucket=BUCKET, Prefix=prefix)
        return [each["Key"] for each in page["Contents"]]

    def work(log: ResumeLog) -> None:
        folder = f"by-time/{log.session_id}/"
        key = f"{folder}{next_moment():020d}.json"
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
