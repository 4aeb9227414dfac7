"""Whether the process that once wrote something is still there."""

import os
import subprocess
import sys

from leftoff.system import liveness


def test_this_process_is_alive():
    """By its number and by when it began."""
    pid, begun = liveness.own()
    assert pid == os.getpid()
    assert liveness.is_alive(pid, begun)
    assert liveness.is_alive(pid, None)


def test_a_number_that_was_given_away_again_is_not_the_same_process():
    """It began at another time."""
    pid, begun = liveness.own()
    assert not liveness.is_alive(pid, f"{begun}0")


def test_a_process_that_has_ended_is_not_alive():
    """Also before anybody has waited for it."""
    child = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    begun = liveness.begun(child.pid)
    assert child.stdout is not None
    child.stdout.read()  # it has closed everything; now it ends
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not liveness.is_alive(child.pid, begun)
    child.communicate()
    assert not liveness.is_alive(child.pid, begun)
    assert not liveness.is_alive(child.pid, None)


def test_numbers_that_no_process_has():
    """Groups, everybody, and numbers beyond all systems."""
    for pid in (0, -1, 2**22 + 7, 10**30):
        assert not liveness.is_alive(pid, None)
    assert liveness.begun(2**22 + 7) is None


def test_somebody_else_s_process_is_alive(run_python):
    """We may not signal it, but it is there."""
    code = "from leftoff.system import liveness; drop(); print(liveness.is_alive(1, None))"
    assert run_python(code).stdout == "True\n"


def test_a_system_without_proc_is_asked_otherwise():
    """In its own words."""
    assert liveness._asked_elsewhere(os.getpid())
    assert liveness._asked_elsewhere(2**22 + 7) is None
