"""A save never waits for a server: its log waits in the outbox and is sent when the server answers."""

import json
import sys
import time

import pytest

import leftoff
from leftoff.core.metrics import ContextMetrics
from leftoff.core.project_identity import ProjectIdentity
from leftoff.core.resume_log import ResumeLog
from leftoff.platform import locks
from leftoff.resume_logs.save import edit_log
from leftoff.storage import outbox
from leftoff.storage.outbox import SENDING_LOCK, send_all
from leftoff.storage.repository import LogRepository
from leftoff.storage.sqlite_store import SqliteStore
from leftoff.workspace import Workspace, identity_of
from tests.support.machines import Machine
from tests.support.servers import BUCKET, PostgresServer, S3Server

NOWHERE = {"bucket": "logs", "endpoint_url": "http://127.0.0.1:9"}
KEYS = {"AWS_ACCESS_KEY_ID": "NOBODYNOBODYNOBO", "AWS_SECRET_ACCESS_KEY": "x" * 20, "AWS_REGION": "us-east-1"}


@pytest.fixture
def machine(tmp_path):
    """One whose server does not answer."""
    made = Machine(tmp_path / "m", "shop", environment=KEYS)
    made.configure(storage="s3", storage_options=NOWHERE)
    made.create_repository()
    return made


def doctor(machine):
    found = json.loads(machine.leftoff("doctor", "--json", check=False).stdout)
    return {each["what"]: each for each in found}


# What the doctor finds about the storage that is named, as an ordinary user whose outbox is shut.
_EXAMINED = """
import json, os, sys
from pathlib import Path
folder = Path(sys.argv[1])
homes = {name: str(folder) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")}
os.environ |= homes | {"LEFTOFF_STORAGE": sys.argv[2]}
os.chdir(folder)
from leftoff.diagnose.doctor import check_storage
from leftoff.workspace import Workspace
from importlib import metadata
from leftoff.storage import outbox, sqlite_store
drop()
outbox.user_outbox().folder.mkdir(parents=True)
outbox.user_outbox().folder.chmod(0)
for each in check_storage(Workspace.open(folder)):
    print(json.dumps(each.to_dict()))
outbox.user_outbox().folder.chmod(0o700)
"""


def wait_until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_save_succeeds_when_the_server_does_not_answer(machine):
    """The local copy is saved, the log waits, and the doctor says why."""
    path = machine.save("s", mission_summary="Ship it")
    assert path.is_file()
    assert len(machine.waiting()) == 1
    machine.run(sys.executable, "-P", "-m", "leftoff.storage.outbox")
    own_log = machine.state_folder / "leftoff.log"  # of the one that the save has started, or of ours
    wait_until(
        lambda: own_log.exists() and "1 log not sent yet" in own_log.read_text("utf-8"), "it was tried"
    )
    assert len(machine.waiting()) == 1
    found = doctor(machine)
    assert found["storage"]["state"] == "broken"
    assert "no answer. Is the server up, and the network?" in found["storage"]["detail"]
    assert found["outbox"]["detail"].startswith(
        "1 log waits to be sent: s3://logs/leftoff at http://127.0.0.1:9: no answer."
    )


def test_waiting_logs_go_to_the_remote_of_the_current_settings(machine, tmp_path):
    """Any command that uses the remote sends them, but only the newest log of each session."""
    for mission in ("first", "second"):
        machine.save("s", mission_summary=mission)
    machine.save("t", mission_summary="other")
    assert len(machine.waiting()) == 2
    machine.configure(storage="sqlite", storage_options={"path": str(tmp_path / "logs.sqlite")})
    listed = json.loads(machine.leftoff("log", "list", "--remote", "--json").stdout)
    assert [(each["session_id"], each["mission"]) for each in listed] == [("t", "other"), ("s", "second")]
    assert machine.waiting() == []
    assert "outbox" not in doctor(machine)


def test_the_start_of_a_session_sends_waiting_logs(machine, tmp_path):
    """A separate process sends them, and the hook neither prints nor waits."""
    machine.save("s", mission_summary="Ship it")
    machine.configure(storage="sqlite", storage_options={"path": str(tmp_path / "logs.sqlite")})
    event = {
        "hook_event_name": "SessionStart",
        "source": "startup",
        "session_id": "11111111-2222-4333-8444-555555555555",
        "cwd": str(machine.root),
        "transcript_path": str(machine.home / "none.jsonl"),
    }
    code = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-P', '-m', 'leftoff', 'hook', 'claude'], input=sys.argv[1].encode()).returncode)"
    machine.run(sys.executable, "-c", code, json.dumps(event))
    wait_until(lambda: not machine.waiting(), "the outbox is sent")


def test_saving_loads_no_driver(machine):
    """Saving loads no module that speaks to servers."""
    code = (
        "import sys; from leftoff import ResumeLogGenerator as G\n"
        "g = G(); g.save_resume_log(g.generate_from_session_state('s', {}))\n"
        "print(sorted({'boto3', 'botocore', 'psycopg', 'ssl', 'urllib.request'} & {*sys.modules}))\n"
    )
    assert machine.run(sys.executable, "-c", code).stdout == "[]\n"


def test_invalid_options_lose_no_log(machine):
    """The options are reported by the save and by the doctor, and no log waits for an invalid store."""
    machine.configure(storage="s3", storage_options={"bucket": "b", "secret": "x"})
    assert machine.save("s").is_file()
    assert machine.waiting() == []
    found = doctor(machine)
    assert "credentials do not belong into leftoff's configuration" in found["storage"]["detail"]


def test_waiting_logs_without_a_remote_are_reported(machine):
    """Logs may wait although the storage was set back to files."""
    machine.save("s")
    machine.configure()
    found = doctor(machine)
    assert found["storage"]["detail"] == "files: logs stay on this machine"
    assert found["outbox"]["detail"] == "1 log waits to be sent, but storage names nowhere to send it"


@pytest.mark.parametrize("storage", ["files", "sqlite", "no-such-store"])
def test_an_unreadable_outbox_is_reported_by_the_doctor(unprivileged_folder, run_python, storage):
    """With any storage, the doctor continues and says what to type."""
    found = [
        json.loads(line) for line in run_python(_EXAMINED, unprivileged_folder, storage).stdout.splitlines()
    ]
    assert [each["what"] for each in found] == ["storage", "outbox"]
    folder = unprivileged_folder / "leftoff" / "outbox"
    assert (found[1]["state"], found[1]["fix"]) == ("broken", f"chmod u+rwx {folder}")
    assert f"{folder}: the logs that wait to be sent cannot be read: no permission." in found[1]["detail"]


def test_a_broken_entry_is_set_aside_and_blocks_no_other(machine, tmp_path):
    machine.save("bad")
    (bad,) = machine.waiting()
    bad.write_text("{", encoding="utf-8")
    machine.save("good")
    machine.configure(storage="sqlite", storage_options={"path": str(tmp_path / "logs.sqlite")})
    machine.send()
    assert machine.waiting() == []
    assert bad.with_suffix(".broken").is_file()
    listed = json.loads(machine.leftoff("log", "list", "--remote", "--json").stdout)
    assert [each["session_id"] for each in listed] == ["good"]


def test_an_unreadable_entry_blocks_no_other(machine, tmp_path):
    """A folder in the place of a file, or a broken one that cannot be put aside: named, and the rest is sent."""
    for session_id in ("folder", "stuck", "good"):
        machine.save(session_id)
    by_name = {path.name.split(".")[1]: path for path in machine.waiting()}
    by_name["folder"].unlink()
    by_name["folder"].mkdir()
    by_name["stuck"].write_text("{", encoding="utf-8")
    (by_name["stuck"].with_suffix(".broken") / "inside").mkdir(parents=True)
    machine.configure(storage="sqlite", storage_options={"path": str(tmp_path / "logs.sqlite")})
    ended = machine.leftoff("log", "list", "--remote", "--json")
    assert [each["session_id"] for each in json.loads(ended.stdout)] == ["good"]
    found = doctor(machine)
    assert found["storage"]["state"] == "ok"
    assert found["outbox"]["detail"].startswith(
        f"2 logs wait to be sent: {by_name['folder']}: cannot be read"
    )


def test_a_log_that_is_too_large_is_reported_with_what_to_do(machine, tmp_path):
    """The large log waits, the others are sent, and the doctor says what to type."""
    machine.configure(storage="sqlite", storage_options={"path": str(tmp_path / "logs.sqlite")})
    with machine.on_this_machine():
        repository = LogRepository.open(Workspace.open(machine.root))
        metrics = ContextMetrics(total_budget=1, used_tokens=1)
        outbox.queue_log(ResumeLog("large", metrics, mission_summary="x" * 5_000_001), repository)
        outbox.queue_log(ResumeLog("small", metrics), repository)
    machine.send()
    (waiting,) = machine.waiting()
    assert ".large." in waiting.name
    message = doctor(machine)["outbox"]["detail"]
    assert "larger than 5 MB" in message
    assert "shorten it with leftoff log edit large, or erase the session with leftoff forget large" in message


@pytest.mark.server
def test_a_server_that_was_down_gets_all_logs_later(tmp_path):
    """Logs that were saved while the server was down are in the bucket afterwards."""
    with S3Server() as server:
        machine = Machine(tmp_path / "m", "shop", environment=server.environment)
        machine.configure(storage="s3", storage_options={"bucket": BUCKET, "endpoint_url": server.url})
        machine.create_repository()
        server.kill()
        machine.save("s", mission_summary="Ship it")
        machine.send()
        assert len(machine.waiting()) == 1
        server.start()
        listed = json.loads(machine.leftoff("log", "list", "--remote", "--json").stdout)
        assert [each["session_id"] for each in listed] == ["s"]
        assert machine.waiting() == []


@pytest.mark.server
def test_a_wrong_password_keeps_the_log_waiting(tmp_path):
    """The doctor reports one clear sentence, and nothing is lost."""
    with PostgresServer() as server:
        machine = Machine(tmp_path / "m", "shop", environment=server.environment | {"PGPASSWORD": "wrong"})
        machine.configure(storage="postgres")
        machine.create_repository()
        machine.save("s", mission_summary="Ship it")
        found = doctor(machine)
        assert found["storage"]["detail"] == (
            "postgres: PostgreSQL: the password or the user is wrong. Check PGUSER, PGPASSWORD or ~/.pgpass."
        )
        assert len(machine.waiting()) == 1
        machine.environment |= server.environment
        assert doctor(machine)["storage"]["state"] == "ok"
        assert machine.waiting() == []
        listed = json.loads(machine.leftoff("log", "list", "--remote", "--json").stdout)
        assert [each["session_id"] for each in listed] == ["s"]


GUEST = """
import json
from pathlib import Path
from leftoff.core.resume_log import ResumeLog

class Store:
    # A store with keys of its own, and errors of its own.
    folder = Path(__file__).parent / "kept"
    def save(self, log):
        if not self.folder.is_dir():
            raise ConnectionError("the guest has no network")
        (self.folder / f"key-of-{log.session_id}.json").write_text(json.dumps(log.to_dict()))
        return f"key-of-{log.session_id}.json"
    def load(self, identifier):
        path = self.folder / identifier
        return ResumeLog.from_dict(json.loads(path.read_text())) if path.exists() else None
    def list(self):
        if not self.folder.is_dir():
            raise ConnectionError("the guest has no network")
        return sorted(path.name for path in self.folder.iterdir())
    def delete(self, identifier):
        return False
"""


def test_errors_and_identifiers_of_a_plugin_are_handled(machine, tmp_path):
    """A plugin is loaded by its dotted path, its errors have its name, and it may name logs as it likes."""
    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "guest_store.py").write_text(GUEST, encoding="utf-8")
    machine.environment["PYTHONPATH"] += f":{lib}"
    machine.configure(storage="guest_store:Store")
    machine.save("session-1", mission_summary="Ship it")
    found = doctor(machine)
    assert "guest_store.Store failed" in found["storage"]["detail"]
    assert "the guest has no network" in found["storage"]["detail"]
    ended = machine.leftoff("log", "list", "--remote", check=False)
    assert ended.returncode == 1
    assert "the guest has no network" in ended.stderr
    (lib / "kept").mkdir()
    # One, where the process that the save began to send with came through meanwhile.
    assert doctor(machine)["storage"]["detail"] in {
        f"guest_store:Store: reached, {n}" for n in ("0 logs", "1 log")
    }
    assert machine.waiting() == []
    for path in (machine.root / ".leftoff" / "resume-logs").glob("session-*"):
        path.unlink()
    data = json.loads(machine.leftoff("resume", "session-1", "--remote", "--json").stdout)
    assert data["mission"] == "Ship it"


def test_a_save_succeeds_when_the_outbox_cannot_be_written(machine):
    """There is a file in place of its folder; the error is reported, and the local copy is saved."""
    machine.state_folder.mkdir(parents=True)
    (machine.state_folder / "outbox").write_text("in the way", encoding="utf-8")
    with machine.on_this_machine():
        generator = leftoff.ResumeLogGenerator()
        path = generator.save_resume_log(generator.generate_from_session_state("s", {}))
        assert path.is_file()
        assert any("a file is where a folder should be" in str(each) for each in generator.troubles)


def test_no_sender_is_started_without_waiting_logs_or_a_remote(machine):
    with machine.on_this_machine():
        settings = Workspace.open().settings
        assert outbox.start_sending(settings) is None
        outbox.queue_log(
            ResumeLog("s", ContextMetrics(total_budget=1, used_tokens=1)),
            LogRepository.open(Workspace.open(machine.root)),
        )
        assert outbox.start_sending(settings) is not None
        machine.configure()
        assert outbox.start_sending(Workspace.open().settings) is None


def test_one_sender_runs_at_a_time(machine, tmp_path):
    """A second sender says so and changes nothing."""
    store = SqliteStore(tmp_path / "logs.sqlite")
    machine.save("s")
    with (
        machine.on_this_machine(),
        locks.hold(machine.state_folder / "outbox" / SENDING_LOCK, timeout_seconds=60),
    ):
        sent = send_all(store, lock_seconds=0.0)
    assert (sent.sent, sent.waiting, sent.trouble) == (0, 1, "another process is sending just now")
    with machine.on_this_machine():
        assert send_all(store, lock_seconds=60).trouble is None
    assert store.list() == ["s"]


def test_a_deleted_project_is_identified_by_its_name(tmp_path):
    """The name of a folder is known even if it is gone."""
    assert identity_of(tmp_path / "gone") == ProjectIdentity(name="gone")


def test_invalid_settings_are_logged_by_the_sender(machine):
    """The error is in leftoff's own log, and nothing is lost."""
    machine.save("s")
    machine.configure(storage="nothing-of-the-kind")
    machine.run(sys.executable, "-P", "-m", "leftoff.storage.outbox")
    assert "nothing was sent: There is nothing called" in (machine.state_folder / "leftoff.log").read_text(
        "utf-8"
    )
    assert len(machine.waiting()) == 1


REFUSING = """
import json
from pathlib import Path
from leftoff.core.resume_log import ResumeLog

class Store:
    # Takes whatever is not called refused-…
    folder = Path(__file__).parent
    def save(self, log):
        if log.session_id.startswith("refused"):
            raise ValueError("not this one")
        (self.folder / f"{log.session_id}.json").write_text(json.dumps(log.to_dict()))
        return log.session_id
    def load(self, identifier):
        return None
    def list(self):
        return sorted(path.stem for path in self.folder.glob("*.json"))
    def delete(self, identifier):
        return False
"""


def test_a_refused_log_blocks_no_other(machine, tmp_path):
    """The refused log keeps waiting and is named."""
    lib = tmp_path / "lib"
    lib.mkdir()
    (lib / "refusing_store.py").write_text(REFUSING, encoding="utf-8")
    machine.environment["PYTHONPATH"] += f":{lib}"
    machine.configure(storage="refusing_store:Store")
    for session_id in ("refused-1", "taken-1", "refused-2", "taken-2"):
        machine.save(session_id)
    machine.run(sys.executable, "-P", "-m", "leftoff.storage.outbox")
    wait_until(lambda: len(machine.waiting()) == 2, "two are sent")
    assert {path.stem for path in lib.glob("*.json")} == {"taken-1", "taken-2"}
    assert "not this one" in doctor(machine)["outbox"]["detail"]


def test_many_saves_start_one_sender(machine):
    """A running sender continues until nothing waits."""
    folder = machine.state_folder / "outbox"
    folder.mkdir(parents=True)
    with machine.on_this_machine():
        settings = Workspace.open().settings
        with locks.hold(folder / SENDING_LOCK, timeout_seconds=60):
            started = []
            for number in range(6):
                machine.save(f"s{number}")
                started.append(outbox.start_sending(settings))
            assert started == [None] * 6
            assert not (folder / ".sender").exists()
        assert outbox.start_sending(settings) is not None


def test_logs_added_during_sending_are_sent_too(machine, tmp_path):
    """Adding logs starts no second sender."""
    machine.save("first")

    class Slow(SqliteStore):
        def save_as_of(self, resume_log, saved_ns):
            if resume_log.session_id == "first":
                machine.save("second")
            return super().save_as_of(resume_log, saved_ns)

    store = Slow(tmp_path / "logs.sqlite")
    with machine.on_this_machine():
        sent = send_all(store, lock_seconds=60)
    assert (sent.sent, sent.waiting) == (2, 0)
    assert {*store.list()} == {"first", "second"}


def test_a_log_that_was_edited_is_sent_again(machine, tmp_path):
    """Other machines see the edited log."""
    machine.configure(storage="sqlite", storage_options={"path": str(tmp_path / "logs.sqlite")})
    machine.save("s", mission_summary="Ship it", next_steps=["Write the test"])
    machine.send()
    with machine.on_this_machine():
        edit_log(
            "s",
            Workspace.open(machine.root),
            lambda text: text.replace("Write the test", "Write two tests"),
            lambda _: True,
        )
    machine.send()
    listed = json.loads(machine.leftoff("log", "list", "--remote", "--json").stdout)
    assert [each["next_step"] for each in listed] == ["Write two tests"]
