"""One writer of the stress test: saves, loads and deletes logs of its own, again until each is known to have worked.

Some sessions are shared by all writers: those are only saved, and the last save of any writer must be there. It is a program:
kind of store, its address, number of the writer, operations, seed. It prints what must be there in the end: of each session the
mission, its moment, and how many different saves there were since it was last deleted.
"""

import json
import random
import sys
import time
from collections import Counter

from leftoff.errors import StorageError
from leftoff.storage.postgres_store import PostgresStore
from leftoff.storage.s3_client import Bucket
from leftoff.storage.s3_store import S3Store
from leftoff.storage.store_base import next_timestamp_ns
from leftoff.testing.store_promises import a_log

PATIENCE_SECONDS = 120.0


def store_at(kind: str, address: str, prefix: str):
    if kind == "s3":
        return S3Store(Bucket(name="logs", prefix=prefix, endpoint_url=address))
    return PostgresStore(f"port={address}")


def main() -> None:
    kind, address, prefix, number, operations, seed = sys.argv[1:]
    chance = random.Random(int(seed) * 100 + int(number))
    store = store_at(kind, address, prefix)
    done: Counter[str] = Counter()
    expected: dict[str, tuple[str, int, int]] = {}
    for operation in range(int(operations)):
        is_shared = chance.random() < 0.15
        session_id = f"all-{chance.randrange(5)}" if is_shared else f"w{number}-{chance.randrange(20)}"
        what = "save" if is_shared else chance.choices(["save", "load", "delete"], [6, 3, 1])[0]
        done[what] += 1
        mission, moment, saves = expected.get(session_id, (None, 0, 0))
        if what == "save":
            # Its moment is fixed once, as in the outbox: however often it is sent, it is one save.
            mission, moment = f"{number}/{operation} " + "x" * chance.randrange(4000), next_timestamp_ns()
            again(lambda: store.save_as_of(a_log(session_id, mission), moment), done)  # noqa: B023
            expected[session_id] = mission, moment, saves + 1
        elif what == "load":
            found = again(lambda: store.load(session_id), done)  # noqa: B023
            loaded = None if found is None else found.mission_summary
            assert loaded == mission, describe_mismatch(store, session_id, loaded, mission, moment)
        else:
            again(lambda: store.delete(session_id), done)  # noqa: B023
            expected.pop(session_id, None)
    sys.stdout.write(json.dumps({"expected": expected, "done": done}))


def describe_mismatch(store, session_id, loaded, mission, moment):
    """Describe what was loaded, what was expected, and which objects exist."""
    there = [
        f"{each.moment}-{each.sha256[:6]}" for each in getattr(store, "_of_session", lambda _: ())(session_id)
    ]
    return (
        f"{session_id}: loaded {str(loaded)[:12]!r}, saved {str(mission)[:12]!r} at {moment}; there: {there}"
    )


def again(attempt, done):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return attempt()
        except StorageError:
            done["trouble"] += 1
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    main()
