"""Sessions and texts are forgotten in the remote too."""

import json
import sqlite3
import threading
import uuid
from contextlib import closing

import pytest

from leftoff.forget.forget_remote import RemoteTask, forget_remote
from leftoff.forget.matcher import Matcher
from leftoff.platform import locks
from leftoff.storage.outbox import SENDING_LOCK
from leftoff.storage.s3_client import Bucket
from leftoff.storage.s3_store import S3Store
from leftoff.workspace import Workspace
from tests.support.machines import Machine
from tests.support.servers import BUCKET, S3Server

WORDS = "the secret plan «Ö»"


@pytest.fixture
def machine(tmp_path):
    machine_of_test = Machine(tmp_path / "m", "shop")
    machine_of_test.configure(storage="sqlite")
    machine_of_test.create_repository()
    for session_id in ("session-to-go", "session-to-stay"):
        machine_of_test.save(session_id, mission_summary=f"{session_id}: {WORDS}")
    machine_of_test.send()
    return machine_of_test


def file_of(machine):
    return machine.home / ".local" / "share" / "leftoff" / "logs.sqlite"


def remote(machine):
    return {
        each["session_id"]: each["mission"]
        for each in json.loads(machine.leftoff("log", "list", "--remote", "--json", check=False).stdout)
    }


def test_a_session_is_deleted_in_the_remote(machine):
    """Only that session is deleted, and no byte of it is left in the store's file."""
    machine.save("session-to-go", mission_summary="once more, unsent")
    output = machine.leftoff("forget", "session-to-go", "--yes").stdout
    assert "Deleted or masked 1 log in the remote." in output
    assert machine.waiting() == []
    assert [*remote(machine)] == ["session-to-stay"]
    assert b"session-to-go" not in file_of(machine).read_bytes()


def test_a_text_is_masked_in_every_log_of_the_remote(machine):
    """The store's file is sound and does not hold it."""
    output = machine.leftoff("forget", "--text", WORDS, "--yes").stdout
    assert "Deleted or masked 2 logs in the remote." in output
    assert {*remote(machine)} == {"session-to-go", "session-to-stay"}
    assert all(WORDS not in mission for mission in remote(machine).values())
    assert WORDS.encode() not in file_of(machine).read_bytes()


def test_an_unreachable_remote_is_reported(machine):
    """The exit code is 1."""
    machine.configure(storage="s3", storage_options={"bucket": "b", "endpoint_url": "http://127.0.0.1:9"})
    machine.environment |= {"AWS_ACCESS_KEY_ID": "x" * 16, "AWS_SECRET_ACCESS_KEY": "y" * 20}
    ended = machine.leftoff("forget", "session-to-go", "--yes", check=False)
    assert ended.returncode == 1
    assert "The remote may still hold it: s3://b/leftoff" in ended.stdout


def another(tmp_path, store, name="other"):
    """Another project, in the same store."""
    machine_of_test = Machine(tmp_path / name, name)
    machine_of_test.configure(storage="sqlite", storage_options={"path": str(store)})
    machine_of_test.create_repository()
    machine_of_test.run("git", "commit", "-q", "--amend", "-m", f"the beginning of {name}")
    machine_of_test.run("git", "remote", "set-url", "origin", f"git@git.example.org:{name}/{name}.git")
    return machine_of_test


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
    """Programs may use the same session ids in different projects."""
    shop, bank = two_projects
    assert "1 log in the remote" in shop.leftoff("forget", "session-1", "--yes").stdout
    assert remote(shop) == {}
    assert remote(bank) == {"session-1": f"bank: {WORDS}"}


def test_a_text_is_masked_in_every_project(two_projects):
    """Two logs of one name in two projects are two logs."""
    shop, bank = two_projects
    assert "2 logs in the remote" in shop.leftoff("forget", "--text", WORDS, "--yes").stdout
    assert remote(shop) == {"session-1": "shop: [forgotten]"}
    assert remote(bank) == {"session-1": "bank: [forgotten]"}


def test_a_session_with_a_uuid_is_deleted_in_every_project(two_projects):
    """A UUID identifies one session in all projects."""
    shop, bank = two_projects
    session_id = str(uuid.uuid4())
    bank.save(session_id, mission_summary="x")
    bank.send()
    shop.leftoff("forget", session_id, "--yes")
    assert [*remote(bank)] == ["session-1"]


def test_other_logs_in_the_remote_lose_the_id_of_a_forgotten_session(two_projects):
    """A UUID is masked in the logs of every project, any other id only in its own project."""
    shop, bank = two_projects
    session_id = str(uuid.uuid4())
    for machine in two_projects:
        machine.save("another", mission_summary=f"after {session_id} and session-1")
        machine.send()
    shop.leftoff("forget", session_id, "--yes")
    # This store is a file that the bank's log is in.
    shop.leftoff("forget", "session-1", "--yes", check=False)
    assert remote(shop)["another"] == "after [forgotten] and [forgotten]"
    assert remote(bank)["another"] == "after [forgotten] and session-1"


def test_a_longer_id_that_begins_alike_stays(machine):
    """Other ids are kept in the remote and in local files."""
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


def test_a_broken_log_blocks_no_other(machine):
    """A broken log is deleted if it holds the text; one of a newer leftoff is named."""
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


def test_what_only_the_remote_holds_is_forgotten(machine):
    """A session of another machine, and a text; where there is nothing, that is said."""
    for path in machine.root.glob(".leftoff/resume-logs/session-*"):
        path.unlink()
    assert "2 logs in the remote" in machine.leftoff("forget", "--text", WORDS, "--yes").stdout
    assert "1 log in the remote" in machine.leftoff("forget", "session-to-go", "--yes").stdout
    assert [*remote(machine)] == ["session-to-stay"]
    ended = machine.leftoff("forget", "session-to-go", "--yes", check=False)
    assert ended.returncode == 3
    assert "neither does the remote" in ended.stderr


def test_forgetting_waits_for_the_sender(machine):
    """Otherwise a log that is being sent would arrive after it was erased."""
    lock = machine.state_folder / "outbox" / SENDING_LOCK
    done = []
    with locks.hold(lock, timeout_seconds=60):
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


def test_a_text_in_the_id_of_a_log_is_reported(machine):
    """A text in the id of a log cannot be masked."""
    ended = machine.leftoff("forget", "--text", "session-to-go", "--yes", check=False)
    assert "leftoff forget session-to-go erases it" in ended.stdout


@pytest.mark.slow
@pytest.mark.server
def test_every_version_in_a_bucket_is_masked(tmp_path):
    """Each keeps its time; a broken one that holds the text is deleted."""
    with S3Server() as server:
        machine = Machine(tmp_path / "m", "shop", environment=server.environment)
        machine.configure(storage="s3", storage_options={"bucket": BUCKET, "endpoint_url": server.url})
        machine.create_repository()
        with machine.on_this_machine():
            store = S3Store(Bucket(name=BUCKET, endpoint_url=server.url))
            for mission in (WORDS, f"again {WORDS}", "clean"):
                machine.save("session-1", mission_summary=mission)
                machine.send()
            before = store._of_session("session-1")
            broken = server.folder / "data" / BUCKET / before[0].key
            broken.write_bytes(broken.read_bytes()[:-20])
            output = machine.leftoff("forget", "--text", WORDS, "--yes").stdout
            after = store._of_session("session-1")
            assert store.load("session-1").mission_summary == "clean"
        assert "2 logs in the remote" in output
        assert [each.moment for each in after] == [each.moment for each in before[1:]]
        kept = b"".join(path.read_bytes() for path in (server.folder / "data").rglob("*.json"))
        assert WORDS.encode() not in kept


GUEST = """
import json, os
from pathlib import Path
from leftoff.core.resume_log import ResumeLog

class Store:
    # A guest that calls its logs as it likes, and keeps nothing apart.
    folder = Path(__file__).parent
    def save(self, log):
        half = self.folder / f"{log.session_id}.{os.getpid()}"
        half.write_text(json.dumps(log.to_dict()))
        half.replace(self.folder / f"{log.session_id}.json")  # a sender in the background may write it too
        return f"{log.session_id}.json"
    def load(self, identifier):
        return ResumeLog.from_dict(json.loads((self.folder / identifier).read_text()))
    def list(self):
        return sorted(path.name for path in self.folder.glob("*.json"))
    def delete(self, identifier):
        (self.folder / identifier).unlink()
        return True
"""


def test_logs_of_a_plugin_are_recognised_by_their_content(machine, tmp_path):
    """The identifiers that a plugin lists are not relied on."""
    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "forgetting_guest.py").write_text(GUEST, encoding="utf-8")
    machine.environment["PYTHONPATH"] += f":{lib}"
    machine.configure(storage="forgetting_guest:Store")
    for session_id in ("session-1", "session-10"):
        machine.save(session_id, mission_summary=WORDS)
    machine.send()
    (lib / "broken.json").write_text("{", encoding="utf-8")
    with machine.on_this_machine():
        matcher = Matcher(session_ids=["session-1"])
        task = RemoteTask(
            project=machine.root, session_ids=["session-1"], matcher=matcher, everywhere=Matcher()
        )
        forgot = forget_remote(task, Workspace.open(machine.root))
        assert forgot.erased == 1
        assert "JSONDecodeError" in forgot.trouble  # one that cannot be looked at may name it
        words = Matcher([WORDS])
        task = RemoteTask(project=machine.root, matcher=words, everywhere=words, is_text=True)
        forgot = forget_remote(task, Workspace.open(machine.root))
    assert forgot.erased == 1 + 2  # and in the store of the settings before
    assert "JSONDecodeError" in forgot.trouble
    assert sorted(path.name for path in lib.glob("*.json")) == ["broken.json", "session-10.json"]
    assert "[forgotten]" in (lib / "session-10.json").read_text(encoding="utf-8")
