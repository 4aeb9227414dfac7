"""Programs that nobody waits for, programs on our own terminal, and processes that give way."""

import subprocess
import sys
import time

import pytest

from leftoff.errors import LockTimeoutError, ProcessError
from leftoff.system import locks, process


def test_a_detached_program_has_a_session_of_its_own_and_none_of_our_files(tmp_path):
    """It goes on when we end, and nobody waits for what it writes."""
    done = tmp_path / "done"
    code = f"import os, sys, time; time.sleep(0.3); open({str(done)!r}, 'w').write(f'{{os.getsid(0) == os.getpid()}}')"
    begun = time.monotonic()
    process.detach([sys.executable, "-c", code], folder=tmp_path)
    assert time.monotonic() - begun < 0.3
    while not done.exists() or not done.read_text():
        assert time.monotonic() - begun < 20
        time.sleep(0.02)
    assert done.read_text() == "True"


def test_what_cannot_be_started_is_said():
    """By name."""
    for start in (
        lambda: process.detach(["/nowhere/x"]),
        lambda: process.attend(["/nowhere/x"], folder=None),
    ):
        with pytest.raises(ProcessError, match="/nowhere/x: could not be started"):
            start()


def test_an_attended_program_ends_with_its_own_code(tmp_path):
    """In the folder that it was started for."""
    (tmp_path / "here").touch()
    assert process.attend(["sh", "-c", "test -e here && exit 7"], folder=tmp_path) == 7


def test_a_humble_process_gives_way_and_ends_by_itself():
    """Whatever it is doing."""
    code = (
        "from leftoff.system import process\n"
        "import os, time\n"
        "process.humble(most_seconds=1)\n"
        "print(os.nice(0), flush=True)\n"
        "time.sleep(30)"
    )
    begun = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert int(ended.stdout) >= 10
    assert ended.returncode != 0
    assert time.monotonic() - begun < 15


def test_a_process_in_a_hurry_waits_less_for_every_lock(tmp_path):
    """But for those who say how long themselves."""
    try:
        locks.hurry(0.05)
        with locks.held(tmp_path / ".lock"):
            begun = time.monotonic()
            with pytest.raises(LockTimeoutError), locks.held(tmp_path / ".lock"):
                pass
            assert time.monotonic() - begun < 1
            with pytest.raises(LockTimeoutError), locks.held(tmp_path / ".lock", timeout_seconds=0.3):
                pass
            assert time.monotonic() - begun >= 0.3
    finally:
        locks.hurry(locks.DEFAULT_TIMEOUT_SECONDS)
