"""Sessions that run in a background process of the agent, which keeps them for a while after the user has left."""

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leftoff.live import saving
from leftoff.platform import process
from leftoff.sessions import live_state
from tests.support.live_session import OTHER, SESSION, LiveSession, agent_context, wait_for

pytestmark = [
    pytest.mark.usefixtures("interactive_user"),
    pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="counts screens in /proc"),
]
SLEEP = "import time; time.sleep(300)"


@pytest.fixture
def left(isolated_home, monkeypatch):
    """A session of a daemon that is between two turns; its log is not saved yet."""
    monkeypatch.setattr(saving, "_CATCH_UP_SECONDS", 60.0)  # this machine may be busy
    session = LiveSession(isolated_home, "codex", OTHER)
    session.hook("SessionStart", source="startup")
    wait_for(lambda: not session.state.catching_up)
    session.turn(50_000)
    session.hook("Stop")
    with subprocess.Popen([sys.executable, "-c", SLEEP, "app-server"]) as daemon:
        runs_in(session, daemon.pid)
        yield session
        daemon.kill()


def runs_in(session: LiveSession, pid: int) -> None:
    begun = process.process_start(pid)
    live_state.change(
        session.agent.id,
        session.session_id,
        lambda state: (state._replace(client_pid=pid, client_begun=begun), None),
    )


def test_a_session_that_was_left_is_continued_before_its_end_is_reported(isolated_home, left):
    """Its end is reported a minute after the user has left."""
    live = LiveSession(isolated_home, "codex", SESSION)
    assert "another session is running" not in live.message_to_user("SessionStart", source="startup")
    response = live.hook("UserPromptSubmit", prompt="continue")
    assert f"# Session Resume Log: {left.session_id}" in agent_context(response)


def test_a_session_that_is_at_work_is_not_offered(isolated_home, left):
    """The user may leave in the middle of a turn, which the daemon finishes."""
    with left.transcript.open("a", encoding="utf-8") as file:
        file.write('{"type": "event_msg", "payload": {"type": "task_started"}}\n')
    live = LiveSession(isolated_home, "codex", SESSION)
    assert "another session is running" in live.message_to_user("SessionStart", source="startup")
    assert agent_context(live.hook("UserPromptSubmit", prompt="continue")) == ""


def test_a_session_that_has_a_screen_is_not_offered(isolated_home, tmp_path, left):
    """Every session of the daemon in this project has one."""
    client = tmp_path / "bin" / "codex"
    client.parent.mkdir()
    client.symlink_to(Path(sys.executable).resolve())
    controller, terminal = pty.openpty()
    with subprocess.Popen([client, "-c", SLEEP], stdin=terminal) as screen:
        while process.command_of(screen.pid)[:1] != (str(client),):
            time.sleep(0.01)
        live = LiveSession(isolated_home, "codex", SESSION)
        assert "another session is running" in live.message_to_user("SessionStart", source="startup")
        screen.kill()
    os.close(controller)
    os.close(terminal)


def test_a_client_that_is_its_own_screen_runs_its_session(isolated_home, left):
    """Without a daemon the process ends with the screen."""
    runs_in(left, os.getpid())
    live = LiveSession(isolated_home, "codex", SESSION)
    assert "another session is running" in live.message_to_user("SessionStart", source="startup")
