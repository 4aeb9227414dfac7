"""A word, and the path of a project, are planted wherever leftoff keeps anything; after forgetting, no byte of them is left."""

import os
import re
import shutil
import socket
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from leftoff.archive.archive import archive_finished
from leftoff.chat.saved_chats import list_chats, remember_list
from leftoff.cli import main
from leftoff.platform import clock, paths
from leftoff.platform.log import write_line
from leftoff.sessions import learned_windows
from leftoff.testing.builders import Story, call
from leftoff.workspace import Workspace
from tests.forget.traces import letters, traces
from tests.support.fixtures import Home
from tests.support.live_session import LiveSession
from tests.support.machines import Machine
from tests.support.servers import BUCKET, PostgresServer, S3Server

PLACE = "zanzibarplace"  # in the path of the project
WORD = "quolthrix"
NAME = "Quol-Thrix"  # as people write it
SPELLINGS = f"{NAME}; QUOL-THRIX; quol-thrix; Quol  Thrix; quolthrix; Quol\nThrix"
SESSION = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
DELETED = "2d54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b33"  # its agent no longer has it
OTHER = "1c54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b22"
CHAT = "helper_20260106_120000"
SETTINGS = {"archive": {"enabled": True}, "resume_logs": {"auto_generate": True}}


class Planted:
    """A machine with two projects; of the first, every kind of thing that leftoff keeps was written by leftoff itself."""

    def __init__(self, folder: Path, environment: dict[str, str] | None = None, **settings: object) -> None:
        self.machine = Machine(folder, PLACE, environment=environment)
        self.machine.configure(**(SETTINGS | settings))
        self.machine.create_repository()
        self.other = folder / f"{PLACE}-2"  # begins like the first
        self.other.mkdir()
        (self.other / ".git").mkdir()
        with self.machine.on_this_machine():
            self._write_sessions()
            self._write_documents()
            self._run_hooks()
            os.chdir(self.other)
            self._run("log", "save", OTHER)
            self._run("pin", f"never change {self.machine.root}/src")
            os.chdir(self.machine.root)
            self._run("search", "turtle")
            self._run("sessions")
        self.machine.send()
        self.machine.save("session-2", mission_summary=f"waits: {SPELLINGS} at {self.machine.root}")

    @property
    def folders(self) -> list[Path]:
        with self.machine.on_this_machine():
            own = [paths.data_folder(), paths.state_folder(), paths.config_folder()]
        return [*own, self.machine.root / ".leftoff", self.other / ".leftoff"]

    def traces_of(self, *words: str) -> list[str]:
        return [path for word in words for path in traces(word, self.folders)]

    @contextmanager
    def inside(self, folder: Path) -> Iterator[None]:
        """Within the block, the working folder is this one: the name of a socket must be short."""
        before = Path.cwd()
        os.chdir(folder)
        yield
        os.chdir(before)

    def forget(self, *what: str, check: bool = True) -> str:
        return self.machine.leftoff("forget", *what, "--yes", check=check).stdout

    def _run(self, *arguments: str) -> None:
        assert main.run(arguments) in {0, 3}, arguments

    def _write_sessions(self) -> None:
        home, root = Home(self.machine.home, self.machine.root), str(self.machine.root)
        slug = re.sub(r"[^A-Za-z0-9]", "-", root)
        ran = call("shell", {"command": f"cat {root}/notes.txt"}, f"about {NAME}")
        first = Story(session_id=SESSION, project=root, model="claude-sonnet-4-5")
        first.asked(f"Work on {SPELLINGS}").replied("I will.", ran, used=1_000)
        gone = Story(session_id=DELETED, project=root).asked(f"Earlier: {NAME}").replied("Yes.", used=100)
        other = (
            Story(session_id=OTHER, project=str(self.other))
            .asked("Feed the turtle")
            .replied("Fed.", used=100)
        )
        self.transcript = home.claude(first, folder=slug)
        deleted, others = home.claude(gone, folder=slug), home.claude(other, folder="-other")
        for session in (SESSION, DELETED):
            self._run("log", "save", session)
        self._run("search", NAME)
        archive_finished(Workspace.open(), clock.now())
        self._run("trim", str(self.transcript), "--threshold", "1")
        deleted.unlink()
        self.others = others

    def _write_documents(self) -> None:
        root = self.machine.root
        self._run("pin", f"the codename is {NAME}, see {root}/plan.md")
        self._run("pause", "start")
        self._run("pause", "record", "user_message", f"about {SPELLINGS}")
        self._run("pause", "finalize")
        (snapshot,) = (root / ".leftoff" / "sessions").glob("session-*.json")
        self.pause_id = snapshot.stem
        self._run("pause", "start")
        self._run("pause", "record", "user_message", NAME)
        self._run("pause", "discard")
        self._run("pause", "start")
        self._run("pause", "record", "user_message", NAME)
        self._run("pause", "list")
        self._run("project", "init", "Heron")
        self._run("project", "save", "--decision", f"{NAME} stays")
        chats = root / ".leftoff" / "chats"
        chats.mkdir(parents=True)
        (chats / f"{CHAT}.md").write_text(
            f"# Helper Conversation\n\n**Session ID:** {CHAT}\n**Date:** 2026-01-06T12:00:00+00:00\n\n{SPELLINGS}\n",
            encoding="utf-8",
        )
        remember_list(chats, list_chats(chats).chats)
        write_line(f"{root}: something about {NAME} in {SESSION}")
        learned_windows.save_window("claude", SESSION, 200_000)
        self.machine.save("session-1", mission_summary=f"{SPELLINGS} at {root}")

    def _run_hooks(self) -> None:
        live = LiveSession(self.machine.home, session_id=str(uuid.uuid4()))
        live.turn(150_000, prompt=f"Go on with {NAME}")
        self.live_id = live.session_id
        for event in ("SessionStart", "UserPromptSubmit", "Stop"):
            live.hook(event, source="startup", prompt=f"more {NAME}")
        live.turn(185_000, prompt=f"Nearly full, {NAME}")
        live.hook("UserPromptSubmit", prompt=f"and {NAME}")
        live.hook("Stop")


@pytest.fixture
def planted(tmp_path):
    return Planted(tmp_path / "m", storage="sqlite")


def test_a_forgotten_project_leaves_no_trace(planted):
    """Not its path, ids or words: in no file, page or compressed block, and not in the store."""
    before = {part for path in planted.traces_of(WORD, PLACE) for part in Path(path).parts}
    assert before >= {
        *("archive", "library.sqlite3", "logs.sqlite", "pins", "register.jsonl", "outbox"),
        *("extractions", "watch", "pauses", "leftoff.log", "discarded-pauses.jsonl"),
        *("last-list.json", "last-chats.json", "resume-logs", "sessions", "chats"),
    }
    ids = [each.replace("-", "") for each in (SESSION, DELETED, planted.live_id, planted.pause_id)]
    output = planted.forget("--project")
    assert planted.traces_of(WORD, *ids, CHAT.replace("_", "")) == []
    # The other project's path begins like that of the forgotten one.
    assert planted.traces_of(f"{PLACE}src", f"{PLACE}leftoff", f"{PLACE}notes", f"{PLACE}plan") == []
    assert str(planted.machine.root) not in planted.machine.leftoff("pins", check=False).stdout
    assert "Every file of leftoff and every log in the remote was read again: none holds it." in output


def test_a_forgotten_project_is_gone_and_others_stay(planted):
    """Its pins no longer hold, and the other project's log, pin and session are there."""
    state = next(planted.machine.root.rglob("_resume.md"))
    output = planted.forget("--project")
    assert f"stay (only ids of sessions are masked in them):\n    {state}\n" in output
    assert f"{NAME} stays" in state.read_text("utf-8")
    new = str(uuid.uuid4())
    with planted.machine.on_this_machine():
        Home(planted.machine.home, planted.machine.root).claude(
            Story(session_id=new, project=str(planted.machine.root))
            .asked("A new task")
            .replied("ok", used=100)
        )
    planted.machine.leftoff("log", "save", new)
    log = planted.machine.root / ".leftoff" / "resume-logs" / f"session-{new}.md"
    assert NAME not in log.read_text("utf-8")
    assert "A new task" in planted.machine.leftoff("search", "new task").stdout
    planted.machine.root = planted.other
    assert planted.machine.leftoff("pins").stdout.strip() == "1  never change [forgotten]/src"
    assert (planted.other / ".leftoff" / "resume-logs" / f"session-{OTHER}.md").exists()
    assert "Feed the turtle" in planted.machine.leftoff("search", "turtle").stdout


def test_a_search_elsewhere_does_not_bring_a_forgotten_project_back(planted):
    """Its agent still has the session and names a folder after the project, but nothing else is read in."""
    planted.forget("--project")
    planted.machine.root = planted.other
    planted.machine.leftoff("search", "turtle")
    assert planted.traces_of(WORD, f"{PLACE}leftoff", SESSION.replace("-", "")) == []


def test_a_forgotten_session_leaves_no_trace(planted):
    """Its id is nowhere, and its project is still known."""
    assert planted.traces_of(SESSION.replace("-", "")) != []
    assert "none holds it" in planted.forget(SESSION)
    assert planted.traces_of(SESSION.replace("-", "")) == []
    assert NAME in planted.machine.leftoff("pins").stdout
    assert DELETED in planted.machine.leftoff("log", "list", "--json").stdout


def test_a_forgotten_text_leaves_no_trace_here_or_in_sqlite(planted):
    """In no spelling, file, page or compressed block; the user's own resume state is cleaned too."""
    assert any(path.endswith("logs.sqlite") for path in planted.traces_of(WORD))
    output = planted.forget("--text", NAME)
    assert planted.traces_of(WORD) == []
    assert traces(WORD, [planted.machine.root / "02-projects"]) == []
    assert "every log in the remote was read again: none holds it" in output
    assert "[forgotten]" in planted.machine.leftoff("pins").stdout


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize("what", [("--text", NAME), ("--project",)])
def test_nothing_is_left_in_a_bucket(tmp_path, what):
    """In no spelling, and in no version."""
    with S3Server() as server:
        options = {"bucket": BUCKET, "endpoint_url": server.url}
        planted = Planted(tmp_path / "m", server.environment, storage="s3", storage_options=options)
        assert traces(WORD, [server.folder / "data"]) != []
        assert "every log in the remote was read again: none holds it" in planted.forget(*what)
        assert traces(WORD, [server.folder / "data"]) == []
        assert planted.traces_of(WORD) == []


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize("what", [("--text", NAME), ("--project",)])
def test_nothing_is_left_in_a_table_of_postgresql(tmp_path, what):
    """In no spelling; only the engine's own log and dead rows may hold it."""
    with PostgresServer() as server:
        planted = Planted(tmp_path / "m", server.environment, storage="postgres")
        with planted.machine.on_this_machine(), psycopg.connect("", autocommit=True) as connection:
            query = "select string_agg(leftoff_logs::text, ' ') from leftoff_logs"
            assert letters(connection.execute(query).fetchone()[0]).count(WORD.encode()) > 5
            assert "every log in the remote was read again: none holds it" in planted.forget(*what)
            assert WORD.encode() not in letters(str(connection.execute(query).fetchone()[0]))
        assert planted.traces_of(WORD) == []


def test_an_sqlite_store_that_the_settings_no_longer_name_is_cleaned(planted):
    """It is a file of leftoff's own."""
    planted.machine.configure(storage="files")
    planted.forget("--text", NAME)
    assert planted.traces_of(WORD) == []


def test_a_library_that_a_killed_process_was_building_is_deleted(planted):
    """It may hold anything, in compressed blocks too."""
    library = planted.machine.home / ".local" / "share" / "leftoff" / "library"
    draft = library / "library.new.sqlite3"
    shutil.copy(library / "library.sqlite3", draft)
    planted.forget("--text", NAME)
    assert not draft.exists()
    assert planted.traces_of(WORD) == []


def test_logs_of_the_project_from_another_machine_stay_and_are_counted(tmp_path):
    """They may be somebody else's."""
    store = {"storage": "sqlite", "storage_options": {"path": str(tmp_path / "shared.sqlite")}}
    mine, theirs = (Machine(tmp_path / each, f"{each}-shop") for each in ("mine", "theirs"))
    mine.configure(**store)
    mine.create_repository()
    theirs.configure(**store)
    theirs.clone(mine)
    for machine in (mine, theirs):
        machine.save(f"session-{machine.root.name}", mission_summary="x")
        machine.send()
    output = mine.leftoff("forget", "--project", "--yes").stdout
    assert "1 logs of this project that were written elsewhere stay in the remote" in output
    listed = theirs.leftoff("log", "list", "--remote", "--json").stdout
    assert "session-theirs-shop" in listed
    assert "session-mine-shop" not in listed


LYING = """
class Store:
    # Says that it saves.
    logs = {}
    def save(self, log):
        return self.logs.setdefault(log.session_id, log).session_id
    def load(self, identifier):
        return self.logs.get(identifier)
    def list(self):
        return [*self.logs]
    def delete(self, identifier):
        return False
"""


def test_a_remote_that_still_holds_it_is_reported(tmp_path):
    """What the store says that it did is not relied on: every log is read again."""
    (tmp_path / "lying_store.py").write_text(LYING, encoding="utf-8")
    machine = Machine(tmp_path / "m", "shop")
    machine.environment["PYTHONPATH"] += f":{tmp_path}"
    machine.configure(storage="lying_store:Store")
    machine.create_repository()
    machine.save("session-1", mission_summary=NAME)
    machine.send()
    for what in (("session-1",), ("--text", NAME)):
        ended = machine.leftoff("forget", *what, "--yes", check=False)
        assert ended.returncode == 1
        assert "The remote may still hold it: Log session-1: it still holds it" in ended.stdout


def test_a_project_inside_a_forgotten_one_stays(tmp_path):
    """It has documents, pins and a register of its own."""
    machine = Machine(tmp_path / "m", "outer")
    machine.create_repository()
    inner = machine.root / "inner"
    (inner / ".git").mkdir(parents=True)
    machine.leftoff("pin", "of the outer one")
    machine.save("outer-log", mission_summary="x")
    machine.root = inner
    machine.leftoff("pin", "of the inner one")
    machine.save("inner-log", mission_summary=f"see {inner}/a.py and {inner.parent}/b.py")
    machine.root = inner.parent
    assert "none holds it" in machine.leftoff("forget", "--project", "--yes").stdout
    machine.root = inner
    assert "of the inner one" in machine.leftoff("pins").stdout
    log = (inner / ".leftoff" / "resume-logs" / "session-inner-log.md").read_text("utf-8")
    assert f"see {inner}/a.py and [forgotten]/b.py" in log
    assert "inner-log" in machine.leftoff("log", "list", "--json").stdout
    register = machine.home / ".local" / "share" / "leftoff" / "register.jsonl"
    assert str(inner) in register.read_text("utf-8")
    assert "outer-log" not in register.read_text("utf-8")


def test_pins_stay_where_worktrees_share_them(tmp_path):
    """That is said."""
    machine = Machine(tmp_path / "m", "shop")
    machine.create_repository()
    machine.run("git", "worktree", "add", "-q", str(tmp_path / "m" / "second"))
    machine.leftoff("pin", "of both")
    machine.save("session-1", mission_summary="x")
    planned = machine.leftoff("forget", "--project", "--yes", check=False).stdout
    assert "pins, chats, manual pauses and documents of other worktrees stay" in planned
    machine.root = tmp_path / "m" / "second"
    assert "of both" in machine.leftoff("pins").stdout


def test_in_home_only_its_own_documents_are_forgotten(planted):
    """All other projects, transcripts and folders of leftoff may be below it."""
    project = planted.machine.home / "project"
    (project / ".git").mkdir(parents=True)
    for root, words in ((project, "of a project"), (planted.machine.home, "of none")):
        planted.machine.root = root
        planted.machine.leftoff("pin", f"{words}, see {planted.machine.home}/notes")
        planted.machine.save(f"session-{root.name}", mission_summary=f"a log {words}")
    kept = planted.folders[:3]
    planted.machine.leftoff("search", "turtle")
    before = [path for path in traces(WORD, kept) if "outbox" not in path]  # it is being sent
    planted.forget("--project")
    assert "leftoff pin " in planted.machine.leftoff("pins", check=False).stdout
    assert traces("alogofnone", kept) == []
    assert [path for path in traces(WORD, kept) if "outbox" not in path] == before
    planted.machine.root = project
    assert f"of a project, see {planted.machine.home}/notes" in planted.machine.leftoff("pins").stdout
    assert "a log of a project" in planted.machine.leftoff("search", "project log").stdout
    assert "Feed the turtle" in planted.machine.leftoff("search", "turtle").stdout


def test_a_plan_names_what_would_be_deleted_and_what_would_be_cleaned(planted):
    """A dry run does not sound as if anything had been done."""
    shown = planted.machine.leftoff("forget", "--text", NAME, "--dry-run").stdout
    assert "  to be removed from these files:\n" in shown
    assert "  cleaned:" not in shown
    shown = planted.machine.leftoff("forget", SESSION, "--dry-run").stdout
    to_delete = shown.partition("to be deleted:")[2].partition("to be removed")[0]
    assert f"session-{SESSION}.md\n" in to_delete
    assert shown.count(f"session-{SESSION}.md\n") == 1


SPECIAL = (
    "zz",
    "zz.md",
    "zz.json",
    "zz.jsonl",
    "zz.gz",
    "zz.md.gz",
    "zz.md.patch",
    "zz.sqlite",
    "zz.tar.zst",
    "zz.log",
)


def test_pipes_sockets_and_devices_never_block(planted):
    """In any folder of leftoff's, under any name; a child process shows it, because a hang would stop all tests."""
    folders = {
        path
        for each in planted.folders
        if each.is_dir()
        for path in (each, *each.rglob("*"))
        if path.is_dir()
    }
    for folder in folders:
        for name in SPECIAL:
            os.mkfifo(folder / name)
            (folder / f"link-{name}").symlink_to("/dev/zero")
        with socket.socket(socket.AF_UNIX) as server, planted.inside(folder):
            server.bind("zz.socket.json")
    for what in (("--text", NAME), (SESSION,), ("--project",)):
        for how in ("--dry-run", "--yes"):
            ended = planted.machine.run(sys.executable, "-m", "leftoff", "forget", *what, how, check=False)
            assert ended.returncode in {0, 1}, ended.stderr
            assert "bug in leftoff" not in ended.stderr
    assert planted.traces_of(WORD) == []


def test_a_file_that_is_too_large_is_named_and_the_rest_is_done(planted):
    """It may hold the text, so the exit code is 1."""
    large = planted.machine.root / ".leftoff" / "resume-logs" / "session-large.json"
    large.touch()
    os.truncate(large, 1 << 40)
    ended = planted.machine.leftoff("forget", "--text", NAME, "--yes", check=False)
    assert ended.returncode == 1
    assert f"could not be read, so they may hold it:\n    {large}: " in ended.stdout
    large.unlink()
    assert planted.traces_of(WORD) == []
