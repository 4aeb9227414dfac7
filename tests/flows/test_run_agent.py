"""``leftoff run``: the agent is followed by the session that a hook named, with the same flags and in the same folder."""

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
from leftoff.flows import baton
from leftoff.flows.run_agent import run_agent
from leftoff.system import paths

NEXT = "7d1c0a52-93c4-4d0e-8a53-0c2f3f1f5a10"
# Stands in for the agent: notes how it was called, and passes the baton as a hook in it would, once.
STAND_IN = """#!/bin/sh
echo "$0 $@ in $PWD" >> "{log}"
if [ ! -e "{once}" ]; then
  touch "{once}"
  printf '{{"schema":1,"agent":"{agent}","session_id":"{session}"}}' > "$LEFTOFF_BATON"
fi
exit 7
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Puts programs in the agents' place; gives a function that tells how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    log = tmp_path / "calls"

    def put(name, *, followed_by="claude", session=NEXT):
        text = STAND_IN.format(log=log, once=tmp_path / "once", agent=followed_by, session=session)
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)

    monkeypatch.setenv("PATH", f"{folder}:{paths.environment()['PATH']}")
    put.calls = lambda: [
        line.removeprefix(f"{folder}/") for line in log.read_text(encoding="utf-8").splitlines()
    ]
    return put


def test_it_goes_on_by_itself_with_the_same_flags(stand_in):
    """The prompt is said once; what chose the first session is left out; the last exit code is ours."""
    stand_in("claude")
    said = []
    flags = ["--model", "opus", "--resume", "old", "--verbose", "Fix the lock"]
    assert run_agent("claude", flags, Path.cwd(), said.append) == 7
    assert stand_in.calls() == [
        f"claude --model opus --resume old --verbose Fix the lock in {Path.cwd()}",
        f"claude --resume {NEXT} --model opus --verbose in {Path.cwd()}",
    ]
    assert said == ["Going on in session 7d1c0a52."]
    assert [*(paths.state_folder() / "batons").iterdir()] == []


def test_another_agent_has_flags_of_its_own(stand_in):
    """A handoff to it goes on without ours."""
    stand_in("codex")
    stand_in("claude", followed_by="codex")
    run_agent("claude", ["--model", "opus"], Path.cwd(), lambda _: None)
    assert stand_in.calls()[1] == f"codex resume {NEXT} in {Path.cwd()}"


@pytest.mark.parametrize("session", ["../../etc", ""])
def test_what_is_no_session_is_not_gone_on_in(stand_in, session):
    """A baton that nobody of ours has passed."""
    stand_in("claude", session=session)
    with pytest.raises(LeftoffError):
        run_agent("claude", [], Path.cwd(), lambda _: None)


def test_a_program_that_is_not_there_is_said(monkeypatch):
    """And no agent is made up."""
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        LeftoffError, match=r"^claude: could not be started: it is not installed, or not on your PATH\.$"
    ):
        run_agent("claude", [], Path.cwd(), lambda _: None)
    with pytest.raises(LeftoffError, match="No agent is called"):
        run_agent("nobody", [], Path.cwd(), lambda _: None)


def test_a_baton_is_passed_only_where_somebody_waits(monkeypatch, tmp_path):
    """And only in our own folder."""
    assert not baton.passed_on("claude", NEXT)
    place = baton.new_baton()
    monkeypatch.setenv(baton.VARIABLE, str(place))
    assert baton.passed_on("claude", NEXT)
    assert baton.taken(place) == baton.Baton(agent="claude", session_id=NEXT)
    assert baton.taken(place) is None
    place.write_text("{torn", encoding="utf-8")
    assert baton.taken(place) is None
    monkeypatch.setenv(baton.VARIABLE, str(tmp_path / "elsewhere"))
    with pytest.raises(LeftoffError, match="leads out"):
        baton.passed_on("claude", NEXT)


@pytest.mark.parametrize(
    ("agent", "given", "kept"),
    [
        (claude, ["-c", "--add-dir", "a", "b", "--model=opus"], ["--add-dir", "a", "b", "--model=opus"]),
        (claude, ["--session-id", "x", "--", "prompt"], []),
        (claude, ["a prompt", "-"], []),
        (codex, ["resume", "--last", "-m", "gpt-6-sol"], ["-m", "gpt-6-sol"]),
        (codex, ["-c", "a=b", "--search", "go on"], ["-c", "a=b", "--search"]),
    ],
)
def test_flags_that_hold_for_any_session_are_kept(agent, given, kept):
    """No prompt, no subcommand, nothing that names another session."""
    assert [*agent.here().run_again_command(NEXT, given)][-len(kept) or 99 :] == kept
    assert agent.here().run_command(given)[1:] == tuple(given)


@pytest.mark.parametrize(
    ("agent", "flags"),
    [
        ("claude", ["-p", "Fix it"]),
        ("claude", ["--print", "Fix it"]),
        ("codex", ["exec", "Fix it"]),
        ("codex", ["e", "x"]),
    ],
)
def test_what_answers_once_and_ends_is_not_gone_on_with(stand_in, agent, flags):
    """There is nobody to go on: without its prompt it would wait for one, or fail."""
    stand_in(agent, followed_by=agent)
    said = []
    assert run_agent(agent, flags, Path.cwd(), said.append) == 7
    assert len(stand_in.calls()) == 1
    assert said == []


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143), ("KILL", 137)])
def test_an_agent_that_a_signal_ended_gives_the_code_that_shells_give(stand_in, tmp_path, name, code):
    """And one that somebody killed is not started again."""
    stand_in("claude")
    (tmp_path / "once").touch()
    program = tmp_path / "bin" / "claude"
    text = program.read_text(encoding="utf-8").replace("exit 7", f"kill -{name} $$")
    program.write_text(text, encoding="utf-8")
    assert run_agent("claude", [], Path.cwd(), lambda _: None) == code
    (tmp_path / "once").unlink()
    assert run_agent("claude", [], Path.cwd(), lambda _: None) == code
    assert len(stand_in.calls()) == (3 if name == "INT" else 2)


def test_whoever_ends_leftoff_ends_the_agent_that_it_started(tmp_path):
    """SIGTERM is handed on; nothing is left behind, and nothing is started again."""
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
