"""A pause in a few numbers."""

from datetime import UTC, datetime, timedelta

import pytest

from leftoff.pause.journal import Line, PauseAction, Recording
from leftoff.pause.pause_stats import compute_statistics
from leftoff.pause.texts import first_and_last_time, sparkline, summarize, tool_name

AT = datetime(2026, 1, 6, 12, 0, tzinfo=UTC)


def action(type_, minute, fraction=0.9, **data):
    return PauseAction(type_, f"2026-01-06T12:{minute:02}:00Z", "session-20260106-120000", data, fraction)


def recorded(*actions, bad=0):
    lines = [Line(b"x", each) for each in actions] + [Line(b"?", None)] * bad
    return Recording(lines=tuple(lines), modified_at=AT)


def test_the_summary_has_its_documented_fields():
    pause = recorded(
        action("pause_started", 0), action("tool_call", 1, 0.91, tool="Read"), action("user_message", 3, 0.93)
    )
    summary = summarize(pause, AT + timedelta(minutes=5))
    assert summary.to_dict() == {
        "session_id": "session-20260106-120000",
        "action_count": 3,
        "duration_seconds": 300,
        "context_range": [0.9, 0.93],
        "pause_started_at": "2026-01-06T12:00:00Z",
        "last_action_type": "user_message",
        "last_updated": "2026-01-06T12:03:00Z",
        "tool_calls": 1,
        "bad_lines": 0,
        "context_history": [0.9, 0.91, 0.93],
    }
    assert summary.tools == {"Read": 1}


def test_a_clock_set_back_gives_no_negative_duration():
    assert summarize(recorded(action("pause_started", 10)), AT).duration_seconds == 0


def test_without_an_action_the_numbers_are_none():
    summary = summarize(recorded(bad=2), AT)
    assert (summary.action_count, summary.context_range, summary.last_action_type) == (0, None, None)
    assert summary.to_dict()["context_range"] is None
    assert summary.bad_lines == 2
    assert summary.pause_started_at == "2026-01-06T12:00:00Z"


def test_an_invalid_time_is_skipped():
    broken = PauseAction("tool_call", "soon", "s", {}, 0.9)
    assert first_and_last_time(recorded(broken, action("tool_call", 2)))[0] == AT + timedelta(minutes=2)


@pytest.mark.parametrize(
    ("data", "tool"), [({"tool": "Read"}, "Read"), ({}, "unknown"), ({"tool": 5}, "unknown")]
)
def test_a_call_without_a_tool_counts_as_unknown(data, tool):
    assert tool_name(data) == tool


@pytest.mark.parametrize(
    ("fractions", "line"),
    [
        ([], ""),
        ([0.9], "▁"),
        ([1.0], "▁"),
        ([0.9, 0.95, 1.0], "▁▄█"),
        ([0.9, 1.3], "▁█"),
    ],
)
def test_the_sparkline_runs_from_the_lowest_value_to_a_full_window(fractions, line):
    """An overfull window raises the top of the sparkline."""
    assert sparkline(fractions, 10) == line


def test_a_long_sparkline_is_thinned_out_and_keeps_the_last_value():
    line = sparkline([0.9 + number / 10_000 for number in range(1_000)], 20)
    assert len(line) == 20
    assert line[-1] == "▇"
    assert line[0] == "▁"


def test_statistics_add_up_kinds_tools_and_minutes():
    one = summarize(
        recorded(action("pause_started", 0), action("tool_call", 1, tool="Read")), AT + timedelta(minutes=4)
    )
    two = summarize(
        recorded(action("tool_call", 0, tool="Edit"), action("tool_call", 1, tool="Edit"), bad=1),
        AT + timedelta(minutes=8),
    )
    sums = compute_statistics([one, two], finished=2, discarded=2)
    assert (sums.finished, sums.discarded, sums.discarded_fraction) == (2, 2, 0.5)
    assert sums.kinds == {"tool_call": 3, "pause_started": 1}
    assert [*sums.tools.items()] == [("Edit", 2), ("Read", 1)]
    assert (sums.median_minutes, sums.longest_minutes, sums.bad_lines, sums.actions) == (6.0, 8.0, 1, 4)
    assert sums.to_dict()["discarded_fraction"] == 0.5


def test_statistics_of_no_pause_are_none():
    sums = compute_statistics([], finished=0, discarded=0)
    assert (sums.median_minutes, sums.longest_minutes, sums.discarded_fraction) == (None, None, None)
