"""The end of a session: it is noted at once and saved in the background, and nothing is lost if that is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from leftoff.errors import StorageError
from leftoff.live import fast, saving
from leftoff.platform import clock, locks
from leftoff.sessions import live_state
from leftoff.sessions.live_state import LiveState
from tests.support.live_session import LiveSession, agent_context, wait_for

pytestmark = pytest.mark.usefixtures("interactive_user")
HOOK = (sys.executable, "-I", "-S", fast.__file__)
END = {"reason": "prompt_input_exit"}
IN_CONTAINER = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


class EndedSession(LiveSession):
    """A session whose events reach the installed hook, in processes of their own."""

    def __init__(self, home: Path, agent_id: str = "claude") -> None:
        super().__init__(home, agent_id, clock.uuid4())
        self.begin()
        self.turn(50_000)
        self.run_hook("Stop")

    def begin(self, source: str = "startup") -> dict:
        return self.hook("SessionStart", source=source)

    def run_hook(self, name: str, *wrapper: str, **fields: object) -> str:
        event = {
            "session_id": self.session_id,
            "transcript_path": str(self.transcript),
            "cwd": str(Path.cwd()),
            "hook_event_name": name,
        }
        done = subprocess.run(
            [*wrapper, *HOOK, self.agent.id],
            input=json.dumps(event | fields),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert done.stderr == ""
        return done.stdout

    def kill_task(self) -> None:
        """Kill the background task that has been started at the end of this session."""
        wait_for(self.tasks)
        for pid in self.tasks():
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not self.tasks())

    def tasks(self) -> list[int]:
        listing = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)
        lines = (line.split(maxsplit=1) for line in listing.stdout.splitlines())
        return [
            int(pid) for pid, args in lines if args.endswith(f"hook {self.agent.id} end {self.session_id}")
        ]

    @property
    def lock(self) -> Path:
        """The lock that the background task needs; it waits while a test holds it."""
        return live_state.task_lock(live_state.path_of(self.agent.id, self.session_id))

    @property
    def note(self) -> Path:
        return live_state.end_note(self.agent.id, self.session_id)

    @property
    def log(self) -> Path:
        return Path.cwd() / ".leftoff" / "resume-logs" / f"session-{self.session_id}.json"


class AskedSession(EndedSession):
    """One that was asked a question only, and answered it."""

    def turn(self, used: int, *, prompt: str = "What is the capital of France?") -> None:
        self.story.asked(prompt).replied("Paris.", used=used)
        self.write()


@pytest.fixture(params=["claude", "codex"])
def ended(request: pytest.FixtureRequest, isolated_home: Path) -> EndedSession:
    return EndedSession(isolated_home, request.param)


@pytest.fixture
def killed(ended: EndedSession) -> EndedSession:
    """A session whose background task was killed before it could save anything."""
    with locks.hold(ended.lock):
        ended.run_hook("SessionEnd", **END)
        ended.kill_task()
    return ended


def test_the_hook_of_the_end_waits_for_nothing_and_the_rest_follows(ended: EndedSession) -> None:
    with locks.hold(ended.lock):  # the background task can't do anything yet, so the hook did not wait for it
        assert ended.run_hook("SessionEnd", **END) == ""
        assert ended.note.exists()
        assert not ended.log.exists()
    wait_for(lambda: not ended.note.exists())
    assert json.loads(ended.log.read_text(encoding="utf-8"))["metadata"]["ended"] == END["reason"]
    assert ended.state.ended == END["reason"]


def test_after_a_kill_the_next_session_saves_what_was_due(killed: EndedSession, isolated_home: Path) -> None:
    """The reason of the end survives too."""
    assert not killed.log.exists()
    following = LiveSession(isolated_home, killed.agent.id, clock.uuid4())
    following.hook("SessionStart", source="startup")
    wait_for(lambda: not killed.note.exists())
    assert json.loads(killed.log.read_text(encoding="utf-8"))["metadata"]["ended"] == END["reason"]
    assert killed.state.ended == END["reason"]


def test_an_end_that_could_not_be_saved_is_saved_by_the_next_session(ended: EndedSession) -> None:
    """There was something in the way, or the disk was full; the reason of the end survives."""
    shutil.rmtree(ended.log.parent, ignore_errors=True)
    ended.log.parent.parent.mkdir(exist_ok=True)
    ended.log.parent.touch()
    ended.run_hook("SessionEnd", **END)
    wait_for(lambda: not ended.tasks())
    assert ended.note.exists()
    ended.log.parent.unlink()
    saving.end_session(ended.state)
    assert json.loads(ended.log.read_text(encoding="utf-8"))["metadata"]["ended"] == END["reason"]
    assert not ended.note.exists()


def test_the_end_in_a_worktree_is_saved_by_a_session_in_the_main_checkout(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worktree may have been removed meanwhile."""
    main = Path.cwd()
    author = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    for command in (["init", "-q"], [*author, "commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", *command], check=True)
    subprocess.run(["git", "worktree", "add", "-q", "beside"], check=True, capture_output=True)
    monkeypatch.chdir(main / "beside")
    ended = EndedSession(isolated_home)
    with locks.hold(ended.lock):
        ended.run_hook("SessionEnd", **END)
        ended.kill_task()
    monkeypatch.chdir(main)
    subprocess.run(["git", "worktree", "remove", "--force", "beside"], check=True)
    LiveSession(isolated_home, session_id=clock.uuid4()).hook("SessionStart", source="startup")
    wait_for(lambda: not ended.note.exists(), 20)
    assert json.loads(ended.log.read_text(encoding="utf-8"))["metadata"]["ended"] == END["reason"]


def test_a_running_pause_survives_the_kill(isolated_home: Path) -> None:
    """The next session finalises it."""
    paused = EndedSession(isolated_home)
    paused.turn(185_000)
    paused.run_hook("Stop")
    assert paused.state.pause_id
    with locks.hold(paused.lock):
        paused.run_hook("SessionEnd", **END)
        paused.kill_task()
    LiveSession(isolated_home, session_id=clock.uuid4()).hook("SessionStart", source="startup")
    wait_for(lambda: not paused.note.exists())
    (snapshot,) = (Path.cwd() / ".leftoff" / "sessions").glob("session-*.json")
    assert END["reason"] in snapshot.read_text(encoding="utf-8")


def test_a_question_whose_end_was_not_saved_is_not_announced(isolated_home: Path) -> None:
    """There is nothing to continue. That of work is announced."""
    running = LiveSession(isolated_home, session_id=clock.uuid4())
    for kind, is_announced in ((AskedSession, False), (EndedSession, True)):
        ended = kind(isolated_home)
        with locks.hold(ended.lock):
            ended.run_hook("SessionEnd", **END)
            ended.kill_task()
        running.hook("UserPromptSubmit", prompt="Hello.")
        saving.catch_up(running.state)
        assert ended.log.exists()
        assert bool(running.state.to_user) is is_announced


def test_an_end_that_cannot_be_saved_stops_nothing_else(
    killed: EndedSession, isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session that has begun is told, and its first prompt does not wait for ever."""

    def fail(_state: LiveState) -> None:
        raise StorageError("no room")

    following = LiveSession(isolated_home, killed.agent.id, clock.uuid4())
    following.hook("UserPromptSubmit", prompt="Hello.")
    live_state.change(
        killed.agent.id, following.session_id, lambda state: (state._replace(catching_up=True), None)
    )
    monkeypatch.setattr(saving, "end_session", fail)
    saving.catch_up(following.state)
    assert not following.state.catching_up
    assert killed.note.exists()


def test_continue_right_after_a_kill_hands_over_the_work(killed: EndedSession, isolated_home: Path) -> None:
    following = LiveSession(isolated_home, killed.agent.id, clock.uuid4())
    following.hook("SessionStart", source="startup")
    restored = following.hook("UserPromptSubmit", prompt="continue")
    assert killed.session_id in agent_context(restored)


def test_continue_while_the_end_is_being_saved_waits_for_it(ended: EndedSession, isolated_home: Path) -> None:
    with locks.hold(ended.lock):
        ended.run_hook("SessionEnd", **END)
        following = LiveSession(isolated_home, ended.agent.id, clock.uuid4())
        assert following.message_to_user("SessionStart", source="startup") == ""
    assert ended.session_id in agent_context(following.hook("UserPromptSubmit", prompt="continue"))


def test_a_session_whose_end_is_only_noted_is_not_running(ended: EndedSession, isolated_home: Path) -> None:
    with locks.hold(ended.lock):
        ended.run_hook("SessionEnd", **END)
        following = LiveSession(isolated_home, ended.agent.id, clock.uuid4())
        assert "running" not in following.message_to_user("SessionStart", source="startup")


def test_a_session_that_is_resumed_before_its_end_was_saved_has_not_ended(killed: EndedSession) -> None:
    killed.begin("resume")
    assert not killed.note.exists()
    assert killed.state.ended is None
    subprocess.run(
        [sys.executable, "-m", "leftoff", "hook", killed.agent.id, "end", killed.session_id], check=True
    )
    assert killed.state.ended is None
    assert not killed.log.exists()


def test_what_follows_a_cleared_session_is_known_before_its_end_was_saved(isolated_home: Path) -> None:
    cleared = EndedSession(isolated_home)
    following = LiveSession(isolated_home, session_id=clock.uuid4())
    with locks.hold(cleared.lock):
        cleared.run_hook("SessionEnd", reason="clear")
        following.hook("SessionStart", source="clear")
        following.turn(1_000)
        lineage = subprocess.run(
            [sys.executable, "-m", "leftoff", "lineage", following.session_id, "--json"],
            capture_output=True,
            check=True,
        )
    chain = [(each["session_id"], each["derivation"]) for each in json.loads(lineage.stdout)["chain"]]
    assert chain == [(cleared.session_id, None), (following.session_id, "cleared-from")]


def test_in_a_container_that_ends_with_the_client_the_hook_waits(isolated_home: Path) -> None:
    """Whatever still runs when process 1 ends is killed. On a busy machine the hook may have waited too short a time."""
    if (
        not shutil.which("unshare")
        or subprocess.run([*IN_CONTAINER, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("this system has no containers for ordinary users")

    def is_saved() -> bool:
        ended = EndedSession(isolated_home)
        ended.run_hook("SessionEnd", *IN_CONTAINER, "sh", "-c", '"$@"; true', "client", **END)
        return ended.log.exists() and not ended.note.exists()

    assert any(is_saved() for _ in range(5))


def test_the_background_holds_no_file_of_the_client(isolated_home: Path) -> None:
    """A client that waits until its pipes are closed must not wait for us."""
    ended = EndedSession(isolated_home)
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    with locks.hold(ended.lock):
        event = {"hook_event_name": "SessionEnd", "session_id": ended.session_id} | END
        subprocess.run([*HOOK, "claude"], input=json.dumps(event).encode(), pass_fds=[writing], check=True)
        os.close(writing)
        wait_for(ended.tasks)
        assert os.read(reading, 1) == b""
        os.close(reading)
        ended.kill_task()
