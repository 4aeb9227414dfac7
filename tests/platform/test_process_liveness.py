"""Whether the process that once wrote something is still there."""

import os
import subprocess
import sys

from leftoff.platform import process


def test_this_process_is_alive():
    """A process is identified by its number and its start time."""
    pid, begun = process.own_process()
    assert pid == os.getpid()
    assert process.is_alive(pid, begun)
    assert process.is_alive(pid, None)


def test_a_number_that_was_given_away_again_is_not_the_same_process():
    """A reused process number belongs to a process with another start time."""
    pid, begun = process.own_process()
    assert not process.is_alive(pid, f"{begun}0")


def test_a_process_that_has_ended_is_not_alive():
    """A zombie, whose parent has not waited for it yet, counts as ended."""
    child = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    begun = process.process_start(child.pid)
    assert child.stdout is not None
    child.stdout.read()  # it has closed everything; now it ends
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not process.is_alive(child.pid, begun)
    child.communicate()
    assert not process.is_alive(child.pid, begun)
    assert not process.is_alive(child.pid, None)


def test_numbers_that_no_process_has():
    """Process groups and impossible numbers are not alive."""
    for pid in (0, -1, 2**22 + 7, 10**30):
        assert not process.is_alive(pid, None)
    assert process.process_start(2**22 + 7) is None


def test_another_users_process_is_alive(run_python):
    """The process exists although it may not be signalled."""
    code = "from leftoff.platform import process; drop(); print(process.is_alive(1, None))"
    assert run_python(code).stdout == "True\n"


def test_a_system_without_proc_is_asked_otherwise():
    """Without ``/proc``, the start time comes from ``ps``."""
    assert process._ask_ps(os.getpid(), "lstart=")
    assert process._ask_ps(2**22 + 7, "lstart=") == ""
