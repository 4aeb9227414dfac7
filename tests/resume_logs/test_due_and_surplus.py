"""The conditions under which a resume log is due, and the logs that are deleted when there are too many."""

import pytest

from leftoff.config.settings import TRIGGERS
from leftoff.core.metrics import ContextMetrics, Thresholds
from leftoff.core.triggers import is_due, triggers_of
from leftoff.errors import UsageError
from leftoff.resume_logs.cleanup import surplus

MARKS = Thresholds()


def used(fraction, stop_reason="end_turn"):
    return ContextMetrics(200_000, int(200_000 * fraction), stop_reason=stop_reason)


UNKNOWN = ContextMetrics(None, None)


@pytest.mark.parametrize(
    ("trigger", "metrics", "due"),
    [
        ("model_context_window_exceeded", used(0.1), True),
        ("max_tokens", used(0.1), True),
        ("manual_pause", used(0.0), True),
        ("manual_pause", UNKNOWN, True),
        ("threshold_critical", used(0.95), True),
        ("threshold_critical", used(0.949), False),
        ("threshold_warning", used(0.85), True),
        ("threshold_warning", used(0.96), True),
        ("threshold_warning", used(0.849), False),
        ("threshold_warning", UNKNOWN, False),
        ("end_turn", used(0.99), False),
        ("", used(0.99), False),
    ],
)
def test_the_five_triggers(trigger, metrics, due):
    """A threshold must really be crossed; a pause by the user is taken at its word."""
    assert is_due(trigger, metrics, MARKS, TRIGGERS) is due


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_trigger_that_the_settings_leave_out_makes_no_log_due(trigger):
    """The list in the settings decides."""
    others = [each for each in TRIGGERS if each != trigger]
    assert is_due(trigger, used(0.99), MARKS, TRIGGERS)
    assert not is_due(trigger, used(0.99), MARKS, others)


def test_an_unknown_trigger_makes_no_log_due():
    """A trigger that is listed in the settings but does not exist is ignored."""
    assert not is_due("full_moon", used(0.99), MARKS, ["full_moon"])


@pytest.mark.parametrize(
    ("metrics", "triggers"),
    [
        (used(0.5), ()),
        (UNKNOWN, ()),
        (used(0.85), ("threshold_warning",)),
        (used(0.95), ("threshold_critical", "threshold_warning")),
        (used(0.2, "max_tokens"), ("max_tokens",)),
        (used(0.9, "model_context_window_exceeded"), ("model_context_window_exceeded", "threshold_warning")),
    ],
)
def test_triggers_that_the_metrics_show(metrics, triggers):
    """The most urgent comes first."""
    assert triggers_of(metrics, MARKS) == triggers


def test_the_newest_logs_and_active_sessions_stay():
    """The log of an active session is kept however old it is."""
    ids = ["e", "d", "c", "b", "a"]
    assert surplus(ids, 2, ()) == ["c", "b", "a"]
    assert surplus(ids, 2, {"b"}) == ["c", "a"]
    assert surplus(ids, 0, {"e"}) == ["d", "c", "b", "a"]
    assert surplus(ids, 9, ()) == []


def test_a_negative_count_is_refused():
    """A negative number must never delete everything."""
    with pytest.raises(UsageError, match="keep_count is -1"):
        surplus(["a"], -1, ())
