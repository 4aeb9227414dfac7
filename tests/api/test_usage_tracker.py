"""Usage that the caller reports, added up against a budget."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import leftoff
from leftoff.errors import DocumentError, StorageError
from leftoff.pause.usage_state import load_usage
from leftoff.platform import paths


def test_usage_is_added_up():
    """Input and output count towards 200,000 tokens; cached tokens are counted separately."""
    tracker = leftoff.ContextUsageTracker()
    tracker.update_usage(input_tokens=50_000, output_tokens=15_000)
    state = tracker.update_usage(100_000, 20_000, cache_creation=7, cache_read=9)
    assert (state.cumulative_input_tokens, state.cumulative_output_tokens) == (150_000, 35_000)
    assert (state.cache_creation_tokens, state.cache_read_tokens) == (7, 9)
    assert state.percentage_used == 92.5
    assert (state.threshold_reached, state.auto_pause_active) == ("auto_pause", True)
    assert state.session_id.startswith("session-")
    assert state.last_updated.endswith("Z")
    assert state.__dict__["percentage_used"] == 92.5
    assert tracker.get_current_state() == state


@pytest.mark.parametrize(
    ("tokens", "threshold", "pauses"),
    [
        (139_999, None, False),
        (140_000, "caution", False),
        (170_000, "warning", False),
        (179_999, "warning", False),
        (180_000, "auto_pause", True),
        (190_000, "critical", True),
        (400_000, "critical", True),
    ],
)
def test_the_documented_thresholds(tokens, threshold, pauses):
    """The thresholds are 70, 85, 90 and 95 percent, and reaching one exactly counts."""
    tracker = leftoff.ContextUsageTracker()
    tracker.update_usage(tokens, 0)
    assert tracker.check_thresholds() == threshold
    assert tracker.should_auto_pause() is pauses


def test_the_budget_and_the_marks_are_settings(monkeypatch):
    """A threshold can also be given as remaining tokens."""
    monkeypatch.setenv("LEFTOFF_BUDGET_TOTAL", "1000")
    monkeypatch.setenv("LEFTOFF_THRESHOLDS_AUTO_PAUSE", "90")
    tracker = leftoff.ContextUsageTracker()
    assert tracker.update_usage(909, 0).threshold_reached == "warning"
    assert tracker.update_usage(1, 0).threshold_reached == "auto_pause"


def test_below_all_thresholds_every_answer_is_none():
    """State, check and summary agree on what no threshold is."""
    tracker = leftoff.ContextUsageTracker()
    state = tracker.update_usage(1_000, 0)
    summary = tracker.get_usage_summary()
    assert state.threshold_reached is None
    assert (
        tracker.check_thresholds() is tracker.check_thresholds(state) is summary["threshold_reached"] is None
    )


@pytest.mark.parametrize("name", ["input_tokens", "output_tokens", "cache_creation", "cache_read"])
def test_a_wrong_count_is_named_as_the_caller_wrote_it(name):
    """The error names the argument, not a field of the state."""
    arguments = {"input_tokens": 0, "output_tokens": 0} | {name: -1}
    with pytest.raises(ValueError, match=f"^{name} is -1: "):
        leftoff.ContextUsageTracker().update_usage(**arguments)


def test_a_fresh_state_says_since_when_it_counts():
    """The time of the last update is that of the beginning until there is an update."""
    tracker = leftoff.ContextUsageTracker()
    began = tracker.get_current_state().last_updated
    assert began.endswith("Z")
    assert tracker.update_usage(1, 1).last_updated >= began


@pytest.mark.parametrize(
    "arguments", [(-1, 0), (0, -1), (0, 0, -1), (0, 0, 0, -1), (1.5, 0), ("1", 0), (True, 0)]
)
def test_negative_numbers_and_no_numbers_are_a_value_error(arguments):
    """Invalid token counts raise a ValueError and change nothing."""
    tracker = leftoff.ContextUsageTracker()
    before = tracker.get_current_state()
    with pytest.raises(ValueError, match="Token counts cannot be negative"):
        tracker.update_usage(*arguments)
    assert tracker.get_current_state() == before


def test_a_reset_starts_from_zero_as_a_new_session():
    """The new session has a new id, or the one that is given."""
    tracker = leftoff.ContextUsageTracker()
    first = tracker.update_usage(190_000, 0)
    fresh = tracker.reset_session()
    assert (fresh.percentage_used, fresh.threshold_reached) == (0.0, None)
    assert fresh.session_id != first.session_id
    assert tracker.reset_session("build-7").session_id == "build-7"
    assert tracker.reset_session().session_id == "build-7"
    assert leftoff.ContextUsageTracker(session_id="build-7").get_current_state().total_tokens == 0


def test_the_summary_tells_what_remains():
    """The remaining tokens are never negative."""
    tracker = leftoff.ContextUsageTracker(Path.cwd())
    tracker.update_usage(300_000, 1)
    summary = tracker.get_usage_summary()
    assert (summary["total_tokens"], summary["budget"], summary["remaining_tokens"]) == (300_001, 200_000, 0)
    assert summary["percentage_used"] == 150.0
    assert summary["breakdown"]["output_tokens"] == 1


def test_a_tracker_of_its_own_keeps_no_file():
    """A tracker without a session id writes no file."""
    leftoff.ContextUsageTracker().update_usage(1, 1)
    assert not paths.state_folder().exists()


def test_processes_that_share_a_session_lose_no_update():
    """Four processes make 40 updates each."""
    code = (
        "import leftoff\ntracker = leftoff.ContextUsageTracker(session_id='shared')\n"
        "for _ in range(40): tracker.update_usage(10, 1)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [process.wait(timeout=120) for process in running] == [0] * 4
    state = leftoff.ContextUsageTracker(session_id="shared").get_current_state()
    assert (state.cumulative_input_tokens, state.cumulative_output_tokens) == (1_600, 160)


def test_sessions_do_not_mix():
    """State is kept per session id."""
    leftoff.ContextUsageTracker(session_id="one").update_usage(5, 0)
    two = leftoff.ContextUsageTracker(session_id="two")
    two.update_usage(7, 0)
    assert two.get_current_state().total_tokens == 7


def test_an_id_cannot_lead_anywhere():
    """An id with a path in it is refused."""
    with pytest.raises(ValueError, match="may hold letters"):
        leftoff.ContextUsageTracker(session_id="../../evil")


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": 1}', '{"schema": 99}', "\udcff"])
def test_a_broken_state_is_reported_with_what_to_do(content):
    """A broken state is never taken for zero usage."""
    leftoff.ContextUsageTracker(session_id="x").update_usage(1, 1)
    path = paths.state_folder() / "usage" / "x.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(DocumentError, match=r"x\.json"):
        load_usage("x")


def test_a_state_that_cannot_be_read_is_reported():
    """A folder in place of the state file is reported."""
    (paths.state_folder() / "usage" / "x.json").mkdir(parents=True)
    with pytest.raises(StorageError, match="cannot be read: a folder is"):
        leftoff.ContextUsageTracker(session_id="x")
