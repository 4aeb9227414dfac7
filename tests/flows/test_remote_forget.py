"""What is to be forgotten is gone from the remote too."""

import json
import sqlite3
import threading
import uuid
from contextlib import closing

import pytest

from leftoff.flows.bench_servers import BUCKET, S3Server
from leftoff.flows.remote_forget import forget_remote
from leftoff.stores.outbox import LOCK_NAME
from leftoff.stores.s3 import S3Store
from leftoff.stores.s3_objects import Bucket
from leftoff.system import locks
from tests.machines import Machine

WORDS = "the secret plan «Ö»"


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path / "m", "shop")
    made.configure(storage="sqlite")
    made.begin()
    for session_id in ("session-to-go", "session-to-stay"):
        made.save(session_id, mission_summary=f"{session_id}: {WORDS}")
    made.send()
    return made


def file_of(machine):
    return machine.home / ".local" / "share" / "leftoff" / "logs.sqlite"


def remote(machine):
    return {
        each["session_id"]: each["mission"]
        for each in json.loads(machine.leftoff("log", "list", "--remote", "--json").stdout)
    }


def test_a_forgotten_session_is_deleted_there(machine):
    """Only that one, and not a byte of it is left in the store's file."""
    machine.save("session-to-go", mission_summary="once more, unsent")
    said = machine.leftoff("forget", "session-to-go", "--yes").stdout
    assert "1 logs in the remote were deleted or masked." in said
    assert machine.waiting() == []
    assert [*remote(machine)] == ["session-to-stay"]
    assert b"session-to-go" not in file_of(machine).read_bytes()


def test_a_forgotten_text_is_masked_there(machine):
    """In every log; the store's file is sound, and does not hold it."""
    said = machine.leftoff("forget", "--text", WORDS, "--yes").stdout
    assert "2 logs in the remote were deleted or masked." in said
    assert {*remote(machine)} == {"session-to-go", "session-to-stay"}
    assert all(WORDS not in mission for mission in remote(machine).values())
    assert WORDS.encode() not in file_of(machine).read_bytes()


def test_a_remote_that_does_not_answer_is_said(machine):
    """And nothing is called proven."""
    machine.configure(storage="s3", storage_options={"bucket": "b", "endpoint_url": "http://127.0.0.1:9"})
    machine.environment |= {"AWS_ACCESS_KEY_ID": "x" * 16, "AWS_SECRET_ACCESS_KEY": "y" * 20}
    ended = machine.leftoff("forget", "session-to-go", "--yes", check=False)
    assert ended.returncode == 1
    assert "The remote may still hold it: s3://b/leftoff" in ended.stdout


def another(tmp_path, store, name="other"):
    """Another project, in the same store."""
    made = Machine(tmp_path / name, name)
    made.configure(storage="sqlite", storage_options={"path": str(store)})
    made.begin()
    made.run("git", "commit", "-q", "--amend", "-m", f"the beginning of {name}")
    made.run("git", "remote", "set-url", "origin", f"git@git.example.org:{name}/{name}.git")
    return made


@pytest.fixture
def two_projects(tmp_path):
    """Two projects of one store; each has a session that it calls session-1."""
    store = tmp_path / "shared.sqlite"
    made = another(tmp_path, store, "shop"), another(tmp_path, store, "bank")
    for machine in made:
        machine.save("session-1", mission_summary=f"{machine.root.name}: {WORDS}")
        machine.send()
    return made


def test_a_session_of_the_same_name_in_another_project_stays(two_projects):
    """Programs number their sessions as they like."""
    shop, bank = two_projects
    assert "1 logs in the remote" in shop.leftoff("forget", "session-1", "--yes").stdout
    assert remote(shop) == {}
    assert remote(bank) == {"session-1": f"bank: {WORDS}"}


def test_a_text_is_masked_in_each_project_and_none_loses_its_log(two_projects):
    """The two logs of one name are two logs."""
    shop, bank = two_projects
    assert "2 logs in the remote" in shop.leftoff("forget", "--text", WORDS, "--yes").stdout
    assert remote(shop) == {"session-1": "shop: [forgotten]"}
    assert remote(bank) == {"session-1": "bank: [forgotten]"}


def test_an_agent_s_session_is_gone_wherever_it_is_filed(two_projects):
    """Its id names one in the world: whoever asks, from whichever project."""
    shop, bank = two_projects
    session_id = str(uuid.uuid4())
    bank.save(session_id, mission_summary="x")
    bank.send()
    shop.leftoff("forget", session_id, "--yes")
    assert [*remote(bank)] == ["session-1"]


def test_other_logs_there_do_not_name_a_forgotten_session_any_more(two_projects):
    """A session of an agent in no project, one that a program numbered only in its own."""
    shop, bank = two_projects
    session_id = str(uuid.uuid4())
    for machine in two_projects:
        machine.save("another", mission_summary=f"after {session_id} and session-1")
        machine.send()
    shop.leftoff("forget", session_id, "--yes")
    shop.leftoff(
        "forget", "session-1", "--yes", check=False
    )  # this store is a file that the bank's log is in
    assert remote(shop)["another"] == "after [forgotten] and [forgotten]"
    assert remote(bank)["another"] == "after [forgotten] and session-1"


def test_a_longer_id_that_begins_alike_stays(machine):
    """In the remote, in the local files, and in what they say."""
    for session_id in ("session-1", "session-10", "my-session-1", "session-1.5"):
        machine.save(session_id, mission_summary=f"after session-1, this is {session_id}\nsession-1")
    machine.send()
    machine.leftoff("forget", "session-1", "--yes")
    left = {"session-10", "my-session-1", "session-1.5"}
    assert left <= {*remote(machine)}
    assert "session-1" not in remote(machine)
    for session_id in left:
        assert remote(machine)[session_id] == f"after [forgotten], this is {session_id}\n[forgotten]"
        path = machine.root / ".leftoff" / "resume-logs" / f"session-{session_id}.json"
        log = json.loads(path.read_text(encoding="utf-8"))
        assert log["session_id"] == session_id
        assert log["mission_summary"] == f"after [forgotten], this is {session_id}\n[forgotten]"


def test_one_broken_log_does_not_end_it(machine):
    """It is dropped if it holds the text, and what cannot be read by us is named; the others are masked."""
    machine.save("a-newer-one", mission_summary=WORDS)
    machine.save("z-whole", mission_summary=WORDS)
    machine.send()
    with closing(sqlite3.connect(file_of(machine))) as connection, connection:
        connection.execute(
            "update leftoff_logs set body = substr(body, 1, 500) where session_id = 'session-to-go'"
        )
        connection.execute(
            "update leftoff_logs set body = replace(body, '\"schema\": 1', '\"schema\": 99') where session_id = 'a-newer-one'"
        )
    ended = machine.leftoff("forget", "--text", WORDS, "--yes", check=False)
    assert ended.returncode == 1
    assert "newer leftoff" in ended.stdout
    there = remote(machine)
    assert there["z-whole"] == "[forgotten]"
    assert there["session-to-stay"] == "session-to-stay: [forgotten]"
    assert "session-to-go" not in there


def test_what_only_the_remote_holds_is_forgotten_there(machine):
    """A session of another machine, a text that no file of this one holds; and nothing at all is said to be nothing."""
    for path in machine.root.glob(".leftoff/resume-logs/session-*"):
        path.unlink()
    assert "2 logs in the remote" in machine.leftoff("forget", "--text", WORDS, "--yes").stdout
    assert "1 logs in the remote" in machine.leftoff("forget", "session-to-go", "--yes").stdout
    assert [*remote(machine)] == ["session-to-stay"]
    ended = machine.leftoff("forget", "session-to-go", "--yes", check=False)
    assert ended.returncode == 3
    assert "neither does the remote" in ended.stderr


def test_who_forgets_waits_for_who_sends(machine):
    """Else what is on its way would arrive after it was erased."""
    lock = machine.state_folder / "outbox" / LOCK_NAME
    done = []
    with locks.held(lock, timeout_seconds=60):
        waiting = threading.Thread(
            target=lambda: done.append(machine.leftoff("forget", "session-to-go", "--yes").returncode)
        )
        waiting.start()
        waiting.join(timeout=1.0)
        assert done == []
        assert "session-to-go" in file_of(machine).read_bytes().decode("utf-8", "replace")
    waiting.join(timeout=60)
    assert done == [0]
    assert [*remote(machine)] == ["session-to-stay"]


def test_a_text_in_what_a_log_is_filed_by_is_said(machine):
    """It cannot be masked there."""
    ended = machine.leftoff("forget", "--text", "session-to-go", "--yes", check=False)
    assert "leftoff forget session-to-go erases it" in ended.stdout


@pytest.mark.server
def test_every_version_that_a_bucket_keeps_is_masked(tmp_path):
    """Not only the newest; each keeps its moment, and a broken one that holds the text is gone."""
    with S3Server() as server:
        machine = Machine(tmp_path / "m", "shop", environment=server.environment)
        machine.configure(storage="s3", storage_options={"bucket": BUCKET, "endpoint_url": server.url})
        machine.begin()
        with machine.world():
            store = S3Store(Bucket(name=BUCKET, endpoint_url=server.url))
            for mission in (WORDS, f"again {WORDS}", "clean"):
                machine.save("session-1", mission_summary=mission)
                machine.send()
            before = store._of_session("session-1")
            broken = server.folder / "data" / BUCKET / before[0].key
            broken.write_bytes(broken.read_bytes()[:-20])
            said = machine.leftoff("forget", "--text", WORDS, "--yes").stdout
            after = store._of_session("session-1")
            assert store.load("session-1").mission_summary == "clean"
        assert "2 logs in the remote" in said
        assert [each.moment for each in after] == [each.moment for each in before[1:]]
        kept = b"".join(path.read_bytes() for path in (server.folder / "data").rglob("*.json"))
        assert WORDS.encode() not in kept


GUEST = """
import json
from pathlib import Path
from leftoff.model.resume_log import ResumeLog

class Store:
    # A guest that calls its logs as it likes, and keeps nothing apart.
    folder = Path(__file__).parent
    def save(self, log):
        (self.folder / f"{log.session_id}.json").write_text(json.dumps(log.to_dict()))
        return f"{log.session_id}.json"
    def load(self, identifier):
        return ResumeLog.from_dict(json.loads((self.folder / identifier).read_text()))
    def list(self):
        return sorted(path.name for path in self.folder.glob("*.json"))
    def delete(self, identifier):
        (self.folder / identifier).unlink()
        return True
"""


def test_a_guest_is_asked_by_what_its_logs_say(machine, tmp_path):
    """Its names only tell where to look."""
    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "forgetting_guest.py").write_text(GUEST, encoding="utf-8")
    machine.environment["PYTHONPATH"] += f":{lib}"
    machine.configure(storage="forgetting_guest:Store")
    for session_id in ("session-1", "session-10"):
        machine.save(session_id, mission_summary=WORDS)
    machine.send()
    (lib / "broken.json").write_text("{", encoding="utf-8")
    with machine.world():
        forgot = forget_remote(["session-1"], None, "-", machine.root, machine.root)
        assert forgot.erased == 1
        assert "JSONDecodeError" in forgot.trouble  # one that cannot be looked at may name it
        forgot = forget_remote([], WORDS, "[gone]", machine.root, machine.root)
    assert forgot.erased == 1
    assert "JSONDecodeError" in forgot.trouble
    assert sorted(path.name for path in lib.glob("*.json")) == ["broken.json", "session-10.json"]
    assert "[gone]" in (lib / "session-10.json").read_text(encoding="utf-8")
