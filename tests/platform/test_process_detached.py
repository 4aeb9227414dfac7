"""Detached programs, programs on this terminal, and processes of low priority."""

import subprocess
import sys

import pytest

from leftoff.errors import ProcessError
from leftoff.platform import process
from tests.support.live_session import wait_for


def test_a_detached_program_has_its_own_session_and_no_inherited_files(tmp_path, monkeypatch):
    """The program keeps running when its parent ends, and its output is not waited for."""
    go, done = tmp_path / "go", tmp_path / "done"
    code = (
        "import os, time\n"
        "while not os.path.exists('go'): time.sleep(0.01)\n"
        "open('done', 'w').write(f'{os.getsid(0) == os.getpid()}')"
    )
    monkeypatch.chdir(tmp_path)
    process.start_detached([sys.executable, "-c", code])
    assert not done.exists()
    go.touch()
    wait_for(lambda: done.exists() and done.read_text())
    assert done.read_text() == "True"


def test_a_program_that_cannot_be_started_is_an_error():
    """The error names the program."""
    for start in (
        lambda: process.start_detached(["/nowhere/x"]),
        lambda: process.run_interactive(["/nowhere/x"], folder=None),
    ):
        with pytest.raises(ProcessError, match="/nowhere/x: could not be started"):
            start()


def test_an_interactive_program_returns_its_exit_code(tmp_path):
    """The program runs in the given folder."""
    (tmp_path / "here").touch()
    assert process.run_interactive(["sh", "-c", "test -e here && exit 7"], folder=tmp_path) == 7


def test_a_background_process_has_low_priority_and_ends_automatically():
    """The process ends after its time limit, whatever it is doing."""
    code = (
        "from leftoff.platform import process\n"
        "import os, time\n"
        "process.run_in_background(most_seconds=1)\n"
        "print(os.nice(0), flush=True)\n"
        "time.sleep(600)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert int(ended.stdout) >= 10
    assert ended.returncode != 0
