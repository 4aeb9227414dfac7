"""When a resume log is due, and which logs go when there are too many."""

import pytest

from leftoff.config.settings import TRIGGERS
from leftoff.errors import UsageError
from leftoff.model.context_metrics import ContextMetrics, Thresholds
from leftoff.resume_logs.due import is_due, shown_by
from leftoff.resume_logs.retention import beyond

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
    """A threshold must really be crossed; who says that the user paused is believed."""
    assert is_due(trigger, metrics, MARKS, TRIGGERS) is due


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_trigger_that_the_settings_leave_out_makes_nothing_due(trigger):
    """The list decides."""
    others = [each for each in TRIGGERS if each != trigger]
    assert is_due(trigger, used(0.99), MARKS, TRIGGERS)
    assert not is_due(trigger, used(0.99), MARKS, others)


def test_a_word_that_is_no_trigger_makes_nothing_due_even_if_it_is_wanted():
    """Somebody may have written it into the list."""
    assert not is_due("full_moon", used(0.99), MARKS, ["full_moon"])


@pytest.mark.parametrize(
    ("metrics", "shown"),
    [
        (used(0.5), ()),
        (UNKNOWN, ()),
        (used(0.85), ("threshold_warning",)),
        (used(0.95), ("threshold_critical", "threshold_warning")),
        (used(0.2, "max_tokens"), ("max_tokens",)),
        (used(0.9, "model_context_window_exceeded"), ("model_context_window_exceeded", "threshold_warning")),
    ],
)
def test_what_the_metrics_show_by_themselves(metrics, shown):
    """The most urgent first."""
    assert shown_by(metrics, MARKS) == shown


def test_the_newest_stay_and_the_active_are_spared():
    """However old their logs are."""
    ids = ["e", "d", "c", "b", "a"]
    assert beyond(ids, 2, ()) == ["c", "b", "a"]
    assert beyond(ids, 2, {"b"}) == ["c", "a"]
    assert beyond(ids, 0, {"e"}) == ["d", "c", "b", "a"]
    assert beyond(ids, 9, ()) == []


def test_a_negative_count_is_refused():
    """It once deleted everything (L20)."""
    with pytest.raises(UsageError, match="keep_count is -1"):
        beyond(["a"], -1, ())
