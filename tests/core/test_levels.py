"""The words of the warnings and the turns that are left."""

import pytest

from leftoff.core.levels import tokens_per_turn, turns_left, warning_text
from leftoff.core.metrics import ContextMetrics, Level, Thresholds


def at(used, total=200_000):
    return ContextMetrics(total_budget=total, used_tokens=used)


@pytest.mark.parametrize(
    ("level", "used", "words"),
    [
        (
            Level.CAUTION,
            140_000,
            "⚠️ Context Usage Caution: 70% capacity reached\n"
            "60,000 tokens remaining - consider planning for session transition.",
        ),
        (
            Level.WARNING,
            170_000,
            "⚠️ Context Usage Warning: 85% capacity reached\n"
            "30,000 tokens remaining - complete current task, avoid starting new work.",
        ),
        (
            Level.AUTO_PAUSE,
            180_000,
            "⏸ Context Usage Auto-Pause: 90% capacity reached\n"
            "20,000 tokens remaining - actions are being recorded for the next session.",
        ),
        (
            Level.CRITICAL,
            190_000,
            "🚨 Context Usage Critical: 95% capacity reached\n"
            "10,000 tokens remaining - STOP new work immediately.\n"
            "Resume log will be generated automatically.",
        ),
    ],
)
def test_the_warnings_have_the_documented_words_and_the_real_numbers(level, used, words):
    """The sentences are an interface: people and agents know them."""
    assert warning_text(level, at(used), is_recording=True) == words


def test_without_a_pause_the_warning_does_not_speak_of_one():
    """The other warnings are the same with and without a pause."""
    text = warning_text(Level.AUTO_PAUSE, at(180_000))
    assert text == (
        "⏸ Context Usage Auto-Pause: 90% capacity reached\n"
        "20,000 tokens remaining - finish the current step and wrap up."
    )
    assert warning_text(Level.WARNING, at(170_000)) == warning_text(
        Level.WARNING, at(170_000), is_recording=True
    )


def test_a_percentage_is_rounded_down():
    """89.9 % is not yet 90."""
    assert "89% capacity" in (warning_text(Level.WARNING, at(179_900)) or "")


def test_there_is_nothing_to_say_below_the_marks_or_without_numbers():
    assert warning_text(Level.OK, at(1)) is None
    assert warning_text(Level.CRITICAL, at(None)) is None


def test_turns_left_follow_the_pace_of_the_last_turns():
    """At 10,000 tokens a turn, it takes three turns from 110,000 to caution at 140,000."""
    left = turns_left(at(110_000), Thresholds(), [80_000, 90_000, 100_000, 110_000])
    assert left == {Level.CAUTION: 3, Level.WARNING: 6, Level.AUTO_PAUSE: 7, Level.CRITICAL: 8}


def test_one_huge_turn_does_not_move_the_pace():
    """The median is taken, and only of turns that grew."""
    assert tokens_per_turn([10_000, 11_000, 12_000, 90_000, 91_000]) == 1_000
    assert tokens_per_turn([50_000, 40_000, 41_000]) == 1_000


def test_only_the_last_turns_count():
    """An old quiet stretch is forgotten."""
    assert tokens_per_turn([*range(0, 100, 1), *range(100, 90_100, 10_000)]) == 10_000


@pytest.mark.parametrize("ends", [[], [50_000], [50_000, 50_000], [50_000, 40_000]])
def test_without_a_pace_there_is_no_forecast(ends):
    """The forecast is None if not known, but 0 for a crossed threshold."""
    left = turns_left(at(150_000), Thresholds(), ends)
    assert left[Level.CAUTION] == 0
    assert left[Level.WARNING] is None


@pytest.mark.parametrize(
    "ends", [[88_000, 90_000], [80_000, 85_000, 90_000], [89_700, 89_800, 89_900, 90_000]]
)
def test_a_forecast_that_nobody_would_believe_is_not_made(ends):
    """Two turns are no pace, and three say nothing about five hundred more."""
    assert set(turns_left(at(90_000), Thresholds(), ends).values()) == {None}


def test_a_forecast_reaches_farther_the_more_turns_are_known():
    ends = [*range(50_000, 91_000, 5_000)]
    assert turns_left(at(90_000), Thresholds(), ends[-4:])[Level.CRITICAL] == 20
    assert turns_left(at(90_000), Thresholds(), [*range(82_000, 91_000, 1_000)])[Level.CAUTION] == 50
    assert turns_left(at(90_000), Thresholds(), [87_000, 88_000, 89_000, 90_000])[Level.CAUTION] is None


def test_without_usage_there_is_no_forecast():
    assert set(turns_left(at(None), Thresholds(), [1, 2]).values()) == {None}
