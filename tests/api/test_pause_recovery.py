"""A pause that another process left behind is finalised, discarded or continued."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

import leftoff
from leftoff.errors import UsageError

LEAVE = (
    "import leftoff; m = leftoff.IncrementalPauseManager(); m.start_incremental_pause(0.9, {})\n"
    "m.append_action('user_message', {'message': 'last words'}, 0.91)\n"
)


@pytest.fixture
def orphan():
    """A pause whose process has ended."""
    subprocess.run([sys.executable, "-c", LEAVE], check=True)
    return leftoff.IncrementalPauseManager()


def test_nothing_to_recover_is_nothing():
    assert leftoff.recover_orphaned_pause() is None
    assert not (Path.cwd() / ".leftoff").exists()


def test_without_a_terminal_a_dead_process_s_pause_is_finalised_as_of_its_last_action(orphan, capsys):
    """Nothing is asked, and the pause ends at the time of its last action."""
    last = orphan.get_recorded_actions()[-1].timestamp
    time.sleep(0.01)
    path = leftoff.recover_orphaned_pause()
    state = json.loads(path.read_text("utf-8"))
    assert (state["paused_at"], state["reason"]) == (last, "recovered")
    assert state["user_messages"][0]["message"] == "last words"
    assert capsys.readouterr().out == ""
    assert not orphan.is_pause_active()


def test_without_a_terminal_a_living_process_s_pause_is_left_alone():
    """The pause belongs to a process that is still recording."""
    manager = leftoff.IncrementalPauseManager()
    manager.start_incremental_pause(0.9, {})
    assert leftoff.recover_orphaned_pause() is None
    assert len(manager.get_recorded_actions()) == 1


@pytest.mark.parametrize(
    ("choice", "active", "is_kept"), [("f", False, True), ("discard", False, False), ("c", True, False)]
)
def test_the_three_choices(orphan, choice, active, is_kept):
    """Each choice can be a letter or a word."""
    assert (leftoff.recover_orphaned_pause(Path.cwd(), choice) is not None) == is_kept
    assert orphan.is_pause_active() == active


def test_continuing_makes_us_the_recorder(orphan):
    """The pause is no longer orphaned, and it records the next action."""
    leftoff.recover_orphaned_pause(choice="continue")
    orphan.append_action("tool_call", {"tool": "Read"}, 0.95)
    assert leftoff.recover_orphaned_pause() is None
    assert [each.type for each in orphan.get_recorded_actions()][-2:] == ["system_event", "tool_call"]


def test_a_choice_that_does_not_exist_is_refused(orphan):
    """An unknown choice is refused before anything is done."""
    with pytest.raises(UsageError, match=r"f \(finalize\), d \(discard\), c \(continue\)"):
        leftoff.recover_orphaned_pause(choice="x")
    assert orphan.is_pause_active()


@pytest.mark.parametrize(("typed", "active"), [("f", False), ("d", False), ("c", True), ("", True)])
def test_on_a_terminal_the_user_is_asked(orphan, typed, active):
    """The question shows what was found and three choices; any answer but f and d continues the pause."""
    output = on_a_terminal("import leftoff; leftoff.recover_orphaned_pause()", typed)
    assert "Found incomplete pause session: session-" in output
    assert "  - 2 actions recorded" in output
    assert "  - Started: 20" in output
    assert "Finalize (f), discard (d), or continue (c)? " in output
    assert orphan.is_pause_active() == active


def on_a_terminal(code: str, typed: str) -> str:
    """What a piece of Python says to a terminal where that is typed."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stdin=theirs, stdout=theirs, stderr=theirs) as child:
        os.close(theirs)
        os.write(ours, f"{typed}\n".encode())
        output = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the terminal is gone when its last user is
                break
            if not piece:
                break
            output += piece
        assert child.wait(timeout=60) == 0, output.decode()
    os.close(ours)
    return output.decode().replace("\r\n", "\n")
