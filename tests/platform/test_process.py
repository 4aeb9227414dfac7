"""Running other programs: they end in time, with all that they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from leftoff.errors import ProcessError
from leftoff.platform import process

PYTHON = sys.executable


def test_what_a_program_says_comes_back() -> None:
    """Standard output, standard error and the exit code are returned byte for byte."""
    code = "import sys; sys.stdout.buffer.write(b'\\xff\\0out'); sys.stderr.write('a\\nlast words\\n'); sys.exit(3)"
    ended = process.run([PYTHON, "-c", code], timeout_seconds=30)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (3, b"\xff\0out", b"a\nlast words\n")
    assert ended.complaint == "last words"
    assert process.FinishedProcess(exit_code=4, stdout=b"", stderr=b" \n").complaint == "exit code 4"


def test_it_gets_input_folder_and_environment(tmp_path: Path) -> None:
    """The program gets no terminal and no variable that was not given."""
    code = "import os, sys; print(sys.stdin.read(), os.getcwd(), os.environ.get('A'), os.environ.get('HOME'))"
    ended = process.run(
        [PYTHON, "-c", code], timeout_seconds=30, folder=tmp_path, stdin=b"in", environment={"A": "1"}
    )
    assert ended.stdout.decode().split() == ["in", str(tmp_path), "1", "None"]
    assert process.run([PYTHON, "-c", "print(input())"], timeout_seconds=30).exit_code == 1


def test_much_in_and_much_out_do_not_block_each_other() -> None:
    """Twenty megabytes go both ways through the same program."""
    data = os.urandom(1 << 20) * 20
    code = "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
    assert process.run([PYTHON, "-c", code], timeout_seconds=60, stdin=data).stdout == data


def test_a_program_may_ignore_its_input() -> None:
    """A program may end before all of its input was written."""
    assert process.run([PYTHON, "-c", "pass"], timeout_seconds=30, stdin=b"x" * (1 << 22)).exit_code == 0


@pytest.mark.parametrize("command", [["no-such-program"], ["/"], ["a\0b"], ["\ud800"]])
def test_a_program_that_cannot_be_started_is_an_error(command: list[str]) -> None:
    """A missing program, a folder, a name that no system takes."""
    with pytest.raises(ProcessError, match="could not be started"):
        process.run(command, timeout_seconds=5)


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    """A missing folder raises a ProcessError."""
    with pytest.raises(ProcessError, match="could not be started"):
        process.run([PYTHON, "-c", ""], timeout_seconds=5, folder=tmp_path / "nowhere")


# A shell, because it starts within a short limit on a busy machine.
_FAMILY = ["sh", "-c", "sleep 600 > /dev/null & echo $$ $! > pids; wait"]


def test_a_time_out_ends_children_and_grandchildren(process_has_ended: Callable[[int], bool]) -> None:
    """No process is left, and the message says how long was waited."""
    with pytest.raises(ProcessError, match=r"no answer within 1 s; it was ended\."):
        process.run(_FAMILY, timeout_seconds=1)
    for pid in Path("pids").read_text(encoding="utf-8").split():
        assert process_has_ended(int(pid))


def test_a_daemon_that_holds_the_pipes_cannot_hold_us() -> None:
    """A grandchild that left the group keeps standard output open: the time-out is kept all the same."""
    code = (
        "import os, time\n"
        "daemon = os.fork()\n"
        "if not daemon: os.setsid()\n"
        "else: open('pid', 'w').write(str(daemon))\n"
        "time.sleep(600)"
    )
    began = time.monotonic()
    try:
        with pytest.raises(ProcessError, match="no answer within 1 s"):
            process.run([PYTHON, "-I", "-S", "-c", code], timeout_seconds=1)
        assert time.monotonic() - began < 60
    finally:
        os.kill(int(Path("pid").read_text(encoding="utf-8")), signal.SIGKILL)


def test_ctrl_c_ends_the_program_too(process_has_ended: Callable[[int], bool]) -> None:
    """The child has a group of its own and gets no Ctrl-C; it must not outlive us all the same."""
    code = f"from leftoff.platform import process\nprocess.run({_FAMILY!r}, timeout_seconds=600)\n"
    parent = subprocess.Popen([PYTHON, "-c", code], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while not (Path("pids").exists() and Path("pids").stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.02)
    parent.send_signal(signal.SIGINT)
    assert b"KeyboardInterrupt" in parent.communicate(timeout=60)[1]
    for pid in Path("pids").read_text(encoding="utf-8").split():
        assert process_has_ended(int(pid))
