"""``leftoff run`` starts the agent again in the session that a hook named, with the same flags and folder."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from leftoff.agents import claude, codex
from leftoff.errors import LeftoffError
from leftoff.platform import paths
from leftoff.resume import next_session
from leftoff.resume.next_session import run_agent

NEXT = "7d1c0a52-93c4-4d0e-8a53-0c2f3f1f5a10"
# Takes the agent's place: records how it was called, and names the next session once, as a hook would.
FAKE_AGENT = """#!/bin/sh
echo "$0 $@ in $PWD" >> "{log}"
if [ ! -e "{once}" ]; then
  touch "{once}"
  printf '{{"schema":1,"agent":"{agent}","session_id":"{session}"}}' > "$LEFTOFF_BATON"
fi
exit 7
"""


@pytest.fixture
def fake_agent(tmp_path, monkeypatch):
    """Put programs in the agents' place; return a function that adds one and knows how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    log = tmp_path / "calls"

    def put(name, *, followed_by="claude", session=NEXT):
        text = FAKE_AGENT.format(log=log, once=tmp_path / "once", agent=followed_by, session=session)
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)

    monkeypatch.setenv("PATH", f"{folder}:{paths.environment()['PATH']}")
    put.calls = lambda: [
        line.removeprefix(f"{folder}/") for line in log.read_text(encoding="utf-8").splitlines()
    ]
    return put


def test_the_agent_is_started_again_with_the_same_flags(fake_agent):
    """The prompt is passed once; what chose the first session is left out; the last exit code is returned."""
    fake_agent("claude")
    messages = []
    flags = ["--model", "opus", "--resume", "old", "--verbose", "Fix the lock"]
    assert run_agent("claude", flags, Path.cwd(), messages.append) == 7
    assert fake_agent.calls() == [
        f"claude --model opus --resume old --verbose Fix the lock in {Path.cwd()}",
        f"claude --resume {NEXT} --model opus --verbose in {Path.cwd()}",
    ]
    assert messages == ["Continuing in session 7d1c0a52."]
    assert [*(paths.state_folder() / "batons").iterdir()] == []


def test_another_agent_is_started_without_the_flags(fake_agent):
    """Another agent has other flags."""
    fake_agent("codex")
    fake_agent("claude", followed_by="codex")
    run_agent("claude", ["--model", "opus"], Path.cwd(), lambda _: None)
    assert fake_agent.calls()[1] == f"codex resume {NEXT} in {Path.cwd()}"


@pytest.mark.parametrize("session", ["../../etc", ""])
def test_an_invalid_next_session_is_ignored(fake_agent, session):
    """The file may have been written by another program."""
    fake_agent("claude", session=session)
    with pytest.raises(LeftoffError):
        run_agent("claude", [], Path.cwd(), lambda _: None)


def test_a_missing_program_is_named(monkeypatch):
    """A missing program and an unknown agent are both named."""
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        LeftoffError, match=r"^claude: could not be started: it is not installed, or not on your PATH\.$"
    ):
        run_agent("claude", [], Path.cwd(), lambda _: None)
    with pytest.raises(LeftoffError, match="No agent is called"):
        run_agent("nobody", [], Path.cwd(), lambda _: None)


def test_the_next_session_is_written_only_under_leftoff_run(monkeypatch, tmp_path):
    """The file must be in leftoff's own folder."""
    assert not next_session.write_next_session("claude", NEXT)
    place = next_session.new_file()
    monkeypatch.setenv(next_session.VARIABLE, str(place))
    assert next_session.write_next_session("claude", NEXT)
    assert next_session.read_and_delete(place) == next_session.NextSession(agent="claude", session_id=NEXT)
    assert next_session.read_and_delete(place) is None
    place.write_text("{torn", encoding="utf-8")
    assert next_session.read_and_delete(place) is None
    monkeypatch.setenv(next_session.VARIABLE, str(tmp_path / "elsewhere"))
    with pytest.raises(LeftoffError, match="leads out"):
        next_session.write_next_session("claude", NEXT)


@pytest.mark.parametrize(
    ("agent", "flags", "kept"),
    [
        (claude, ["-c", "--add-dir", "a", "b", "--model=opus"], ["--add-dir", "a", "b", "--model=opus"]),
        (claude, ["--session-id", "x", "--", "prompt"], []),
        (claude, ["a prompt", "-"], []),
        (codex, ["resume", "--last", "-m", "gpt-6-sol"], ["-m", "gpt-6-sol"]),
        (codex, ["-c", "a=b", "--search", "go on"], ["-c", "a=b", "--search"]),
    ],
)
def test_flags_that_hold_for_any_session_are_kept(agent, flags, kept):
    """Prompts, subcommands and flags that name another session are dropped."""
    assert [*agent.here().run_again_command(NEXT, flags)][-len(kept) or 99 :] == kept
    assert agent.here().run_command(flags)[1:] == tuple(flags)


@pytest.mark.parametrize(
    ("agent", "flags"),
    [
        ("claude", ["-p", "Fix it"]),
        ("claude", ["--print", "Fix it"]),
        ("codex", ["exec", "Fix it"]),
        ("codex", ["e", "x"]),
    ],
)
def test_a_headless_run_is_not_continued(fake_agent, agent, flags):
    """Without its prompt, a headless run would wait for one or fail."""
    fake_agent(agent, followed_by=agent)
    messages = []
    assert run_agent(agent, flags, Path.cwd(), messages.append) == 7
    assert len(fake_agent.calls()) == 1
    assert messages == []


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143), ("KILL", 137)])
def test_an_agent_ended_by_a_signal_gives_the_shells_exit_code(fake_agent, tmp_path, name, code):
    """An agent that was killed is not started again."""
    fake_agent("claude")
    (tmp_path / "once").touch()
    program = tmp_path / "bin" / "claude"
    text = program.read_text(encoding="utf-8").replace("exit 7", f"kill -{name} $$")
    program.write_text(text, encoding="utf-8")
    assert run_agent("claude", [], Path.cwd(), lambda _: None) == code
    (tmp_path / "once").unlink()
    assert run_agent("claude", [], Path.cwd(), lambda _: None) == code
    assert len(fake_agent.calls()) == (3 if name == "INT" else 2)


def test_ending_leftoff_ends_the_agent_that_it_started(tmp_path):
    """SIGTERM is passed on; no process is left, and nothing is started again."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho $$ > pid.new\nmv pid.new pid\nexec sleep 600\n", encoding="utf-8")
    program.chmod(0o755)
    environment = paths.environment() | {"PATH": f"{program.parent}:{paths.environment()['PATH']}"}
    command = [sys.executable, "-m", "leftoff", "run", "claude"]
    ours = subprocess.Popen(command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL)
    agent = None
    try:
        for _ in range(3000):
            if (tmp_path / "pid").exists() or ours.poll() is not None:
                break
            time.sleep(0.02)
        agent = int((tmp_path / "pid").read_text(encoding="utf-8"))
        ours.send_signal(signal.SIGTERM)
        assert ours.wait(timeout=60) == 143
        with pytest.raises(ProcessLookupError):
            os.kill(agent, 0)
        agent = None
    finally:
        ours.kill()
        ours.wait()
        if agent is not None:
            with suppress(ProcessLookupError):
                os.kill(agent, signal.SIGKILL)
