"""leftoff hook as agents call it: always exit code 0, an answer or nothing, and trouble as one line in our own log."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leftoff.live import saving
from leftoff.platform import locks, log
from leftoff.sessions import live_state
from tests.support.live_session import SESSION, LiveSession, wait_for

pytestmark = pytest.mark.measured


def hook(*arguments, raw=b"", command="hook", **options):
    """The full program in a process of its own."""
    command = [sys.executable, "-P", "-m", "leftoff", command, *arguments]
    return subprocess.run(command, input=raw, capture_output=True, check=False, timeout=60, **options)


def event(live, name, **fields):
    common = {"session_id": SESSION, "transcript_path": str(live.transcript), "cwd": str(Path.cwd())}
    return json.dumps(common | {"hook_event_name": name} | fields).encode()


@pytest.mark.parametrize(
    ("arguments", "raw"),
    [
        (("nobody",), b"{}"),
        (("claude",), b""),
        (("claude",), b"not JSON"),
        (("claude",), b'{"hook_event_name": "Stop", "session_id": "../../x"}'),
        (("claude", "no-such-task", "s"), b""),
        (("claude", "fold", "../x"), b""),
        (("claude", "fold"), b""),
    ],
)
def test_whatever_is_wrong_the_exit_code_is_0_and_our_log_says_why(isolated_home, arguments, raw):
    """2 would block the agent, and words of ours would be shown as a failure."""
    ended = hook(*arguments, raw=raw)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    assert len(log.log_path().read_text("utf-8").splitlines()) == 1


def test_a_folder_that_is_gone_causes_no_error(isolated_home):
    """The folder is not created again."""
    gone = isolated_home / "gone" / "project"
    hook_event = {"hook_event_name": "Stop", "session_id": "s", "cwd": str(gone)}
    ended = hook("claude", raw=json.dumps(hook_event).encode())
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    assert not log.log_path().exists()
    assert not gone.parent.exists()


@pytest.mark.parametrize("arguments", [[], ["--foo"], ["claude", "--foo", "x", "y", "z"], ["--json"], ["-x"]])
@pytest.mark.parametrize("name", ["hook", "statusline"])
def test_no_argument_makes_it_fail(isolated_home, name, arguments):
    """An agent takes 2 for a veto, whatever its settings have us called with."""
    command = [sys.executable, "-P", "-m", "leftoff", name, *arguments]
    ended = subprocess.run(command, input=b"", capture_output=True, check=False, timeout=60)
    assert ended.returncode == 0, ended


@pytest.mark.parametrize("name", ["hook", "statusline"])
def test_help_still_helps(isolated_home, name):
    command = [sys.executable, "-P", "-m", "leftoff", name, "--help"]
    ended = subprocess.run(command, input=b"", capture_output=True, check=False, timeout=60)
    assert ended.returncode == 0
    assert b"Example:" in ended.stdout


def test_an_answer_is_printed_and_nothing_else(isolated_home):
    """Standard output holds only the JSON for the agent."""
    live = LiveSession(isolated_home)
    live.turn(120_000)
    ended = hook("claude", raw=event(live, "PostToolBatch"))
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert "Caution" in json.loads(ended.stdout)["systemMessage"]
    assert not log.log_path().exists()


def test_a_switch_makes_it_silent(isolated_home, monkeypatch):
    """``LEFTOFF_DISABLE=1`` is set for every agent that leftoff starts itself."""
    live = LiveSession(isolated_home)
    live.turn(120_000)
    monkeypatch.setenv("LEFTOFF_DISABLE", "1")
    assert hook("claude", raw=event(live, "PostToolBatch")).stdout == b""
    assert live.state.said == "ok"


def test_the_mod_is_told_of_the_switch_so_that_it_says_nothing(monkeypatch):
    monkeypatch.setenv("LEFTOFF_DISABLE", "1")
    ended = hook("claude", command="in-place")
    assert json.loads(ended.stdout) == {"declined": "LEFTOFF_DISABLE is set", "silent": True}


def test_help_is_given_to_people():
    for words in (("--help",), ("-h",)):
        ended = hook(*words)
        assert ended.returncode == 0
        assert b"exit code is always" in ended.stdout


def test_half_a_package_harms_nothing(tmp_path):
    """An upgrade in the middle: the module behind the hook is gone."""
    source = Path(live_state.__file__).parents[1]
    package = tmp_path / "half" / "leftoff"
    package.mkdir(parents=True)
    for name in ("__init__.py", "__main__.py", "version.py"):
        (package / name).write_bytes((source / name).read_bytes())
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "leftoff", "hook", "claude"],
        input=b"{}",
        capture_output=True,
        check=False,
        env={"PYTHONPATH": str(package.parent), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


def test_a_full_disk_and_a_held_lock_cost_a_tenth_of_a_second(isolated_home):
    """A warning that cannot be remembered is not shown, because it would be repeated at every event."""
    live = LiveSession(isolated_home)
    live.turn(120_000)
    assert hook("claude", raw=event(live, "Stop")).stdout
    live.turn(145_000)
    own = live_state.path_of("claude", SESSION)
    with locks.hold(own.with_name(f".{own.name}.lock")):
        ended = hook("claude", raw=event(live, "Stop"))
    assert (ended.returncode, ended.stdout) == (0, b"")
    logged = log.log_path().read_text("utf-8")
    assert "LockTimeoutError" in logged
    assert "another process has been writing here for 0.1 s." in logged
    limited = [
        "sh",
        "-c",
        'ulimit -f 0; exec "$@"',
        "sh",
        sys.executable,
        "-P",
        "-m",
        "leftoff",
        "hook",
        "claude",
    ]
    ended = subprocess.run(limited, input=event(live, "Stop"), capture_output=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, b"")
    assert b"Warning" in hook("claude", raw=event(live, "Stop")).stdout


def test_detached_work_is_done_one_at_a_time(isolated_home):
    """A process that finds another at work leaves the task to it, or waits, depending on the task."""
    live = LiveSession(isolated_home)
    live.turn(50_000)
    live.hook("Stop")
    own = live_state.path_of("claude", SESSION)
    with locks.hold(own.with_name(f".{own.name}.task.lock")):
        assert hook("claude", "fold", SESSION).returncode == 0
        assert live.state.folded_bytes == 0
    hook("claude", "fold", SESSION)
    assert live.state.folded_bytes == live.transcript.stat().st_size


def test_detached_work_survives_who_asked_for_it_and_holds_nothing_of_it(isolated_home):
    """The agent's pipe is closed at once; the log is there a moment later."""
    live = LiveSession(isolated_home)
    live.turn(50_000)
    live.hook("Stop")
    code = f"from leftoff.live import saving; saving.start_task('claude', 'save', {SESSION!r})"
    begun = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, check=True, timeout=60
    )
    assert (ended.stdout, ended.stderr) == (b"", b"")
    assert time.monotonic() - begun < 60
    wait_for(lambda: [*(Path.cwd() / ".leftoff" / "resume-logs").glob("session-*.json")])
    assert {*saving.TASKS} == {"first-turn", "fold", "save", "end", "catch-up"}


def test_of_many_hooks_at_once_one_says_it(isolated_home):
    """Each has remembered it before it speaks; those that cannot remember it are silent."""
    live = LiveSession(isolated_home)
    live.turn(120_000)
    command = [sys.executable, "-P", "-m", "leftoff", "hook", "claude"]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(6)
    ]
    for each in running:
        assert each.stdin is not None
        each.stdin.write(event(live, "PostToolBatch"))
        each.stdin.close()
        each.stdin = None
    outputs = [each.communicate(timeout=60)[0] for each in running]
    assert sum(b"Caution" in words for words in outputs) == 1
    assert [each.returncode for each in running] == [0] * 6
