"""Which logs are about open work: the one rule for offers, ``latest`` and clean-up."""

import pytest

from leftoff.core.open_work import is_open, latest_open, open_sessions, waits_for_user
from tests.resume_logs.sample_logs import log

SMALL = {"requests": 1, "may_have_changed_files": False}
STEP = ["To do: write the docs"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"metadata": {}}, True),  # nothing is known: in doubt it is open
        ({"metadata": SMALL}, False),
        ({"metadata": SMALL, "next_steps": STEP}, True),
        ({"metadata": SMALL, "next_steps": ["Nothing is left open: “x” was answered with “y”"]}, False),
        ({"metadata": SMALL | {"requests": 2}}, True),
        ({"metadata": SMALL | {"may_have_changed_files": True}}, True),
        ({"metadata": SMALL | {"continues": {"other": None}}}, True),
        ({"metadata": SMALL | {"awaits_answer": True}}, True),
        ({"metadata": {"headless": True}}, False),
        ({"metadata": {"headless": True}, "next_steps": STEP}, True),
        ({"metadata": {"ended": "finished"}}, False),
        ({"metadata": {"ended": "cleared"}, "next_steps": STEP}, False),
        ({"metadata": {"ended": ["finished"]}}, True),
        ({"mission_summary": "", "accomplishments": ["Wrote it"]}, False),  # nothing that could be its title
        ({"mission_summary": "", "next_steps": STEP}, True),
    ],
)
def test_in_doubt_work_is_open(fields, expected):
    """A step, a claim, a headless run or a single answered question decides; anything else is open."""
    assert is_open(log(**({"mission_summary": "Write it."} | fields))) is expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("The lock is taken twice.\n\nShall I fix it?", True),
        ("I need your approval to edit src/lock.py.", True),
        ("The lock is never released. Shall I fix it? Just say the word.", True),
        (
            "Why is it slow? Because the index is missing, and the table has two million rows that are read one by one.",
            False,
        ),
        ("I found the bug in src/lock.py, but I need permission to write there.", True),
        ("That is the plan. **Please confirm.**", True),
        ("I am waiting for your decision.", True),
        ("The lock is taken twice.", False),
        ("Users need to wait. Every answer is cached.", False),
        ("Shall I fix it?\n\nI fixed it.", False),
        ("", False),
    ],
)
def test_an_agent_that_asks_or_needs_an_approval_waits_for_the_user(reply, expected):
    assert waits_for_user(reply) is expected


@pytest.mark.parametrize(
    ("taken_at", "expected"),
    [
        ("2026-01-06T12:00:00Z", {"b"}),
        ("2026-01-06T10:00:00Z", {"a", "b"}),  # the first session worked on after that
        (None, {"a", "b"}),
        ("soon", {"a", "b"}),
    ],
)
def test_work_that_another_session_took_over_is_open_only_there(taken_at, expected):
    first = log(
        session_id="a", mission_summary="Write it.", metadata={"last_activity": "2026-01-06T11:00:00Z"}
    )
    second = log(session_id="b", mission_summary="Write it.", metadata={"continues": {"a": taken_at}})
    assert open_sessions([second, first]) == expected
    assert open_sessions([first]) == {"a"}


@pytest.mark.parametrize(
    ("newest", "expected"),
    [
        ({"begun": False}, "a"),  # killed before the first reply
        ({"begun": True}, "b"),
        ({}, "b"),  # saved by an older version
        ({"begun": False, "continues": {"other": None}}, "b"),  # its prompt was "continue"
    ],
)
def test_a_prompt_without_any_reply_comes_after_work_that_has_begun(newest, expected):
    first = log(session_id="a", mission_summary="Write it.")
    second = log(session_id="b", mission_summary="Why?", next_steps=STEP, metadata=newest)
    assert getattr(latest_open([second, first]), "session_id", None) == expected
    assert latest_open([second]) is second  # open all the same


@pytest.mark.parametrize(("next_steps", "expected"), [(STEP, {"a"}), ([], set())])
def test_work_that_was_taken_over_by_a_session_that_was_cleared_stays_open(next_steps, expected):
    """The user clears a session that went wrong; only if it left no step may the work be finished."""
    times = {"last_activity": "2026-01-06T11:00:00Z"}
    first = log(session_id="a", mission_summary="Write it.", metadata=times)
    cleared = log(
        session_id="b",
        mission_summary="Write it.",
        next_steps=next_steps,
        metadata={"continues": {"a": "2026-01-06T12:00:00Z"}, "ended": "cleared"},
    )
    assert open_sessions([cleared, first]) == expected
