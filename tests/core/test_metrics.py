"""Context metrics, thresholds and levels."""

import json
import math
from datetime import datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leftoff.core.metrics import ContextMetrics, Level, Threshold, Thresholds
from leftoff.errors import InvalidValueError


def used(tokens, of=200_000):
    return ContextMetrics(total_budget=of, used_tokens=tokens)


def test_metrics_can_be_created_from_budget_and_usage():
    """The fields can be given by name or in their order."""
    named = ContextMetrics(
        total_budget=200000,
        used_tokens=170000,
        percentage_used=85.0,
        remaining_tokens=30000,
        stop_reason="end_turn",
    )
    assert (named.total_budget, named.used_tokens, named.percentage_used, named.remaining_tokens) == (
        200000,
        170000,
        85.0,
        30000,
    )
    assert named.stop_reason == "end_turn"
    assert named.model == "claude-sonnet-4.5"
    assert ContextMetrics(200000, 170000, 85.0, 30000, "end_turn", timestamp=named.timestamp) == named


def test_derived_fields_are_computed_when_left_out():
    """Percentage, fraction and remainder follow from the two numbers that are counted."""
    metrics = used(170_000)
    assert metrics.percentage_used == 85.0
    assert metrics.used_fraction == 0.85
    assert metrics.remaining_tokens == 30_000


def test_a_percentage_may_exceed_100_and_nothing_remains_below_0():
    """An overfull window is a fact, not an error."""
    metrics = used(244_000)
    assert metrics.percentage_used == 122.0
    assert metrics.remaining_tokens == 0


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"percentage_used": 0.85}, "percentage_used is 0.85, but used_tokens and total_budget make it 85"),
        ({"percentage_used": 86}, "make it 85"),
        ({"remaining_tokens": 30_001}, "remaining_tokens is 30001, but .* make it 30000"),
        ({"remaining_tokens": -1}, "remaining_tokens is -1: tokens and percentages are never negative"),
        ({"used_tokens": -1}, "used_tokens is -1"),
        ({"used_tokens": math.nan}, "used_tokens is nan"),
        ({"used_tokens": math.inf}, "used_tokens is inf"),
        ({"used_tokens": 10**30}, "used_tokens is above 1,000,000,000,000: no window is that large"),
        ({"used_tokens": "170000"}, "used_tokens is '170000': a number, or None when not known"),
        ({"used_tokens": True}, "used_tokens is True"),
        ({"total_budget": 0}, "total_budget is 0: a window holds at least one token"),
        ({"window_tokens": -5}, "window_tokens is -5"),
        ({"stop_reason": None}, "stop_reason is None: text was expected"),
        ({"timestamp": 5}, "timestamp is 5: text was expected"),
    ],
)
def test_contradictions_and_impossible_numbers_are_refused(fields, sentence):
    """The error names the field, the value and what to do."""
    with pytest.raises(InvalidValueError, match=sentence):
        ContextMetrics(**{"total_budget": 200_000, "used_tokens": 170_000} | fields)


def test_a_rounded_percentage_is_accepted():
    """Half a percent either way is rounding."""
    assert ContextMetrics(200_000, 170_900, 85).percentage_used == 85


@pytest.mark.parametrize(("total", "tokens"), [(None, None), (200_000, None), (None, 170_000)])
def test_unknown_numbers_stay_unknown(total, tokens):
    """None is never shown as 0."""
    metrics = ContextMetrics(total, tokens)
    assert metrics.percentage_used is None
    assert metrics.used_fraction is None
    assert metrics.remaining_tokens is None
    assert Thresholds().level(metrics) is None


def test_usage_that_is_not_known_has_no_basis():
    assert ContextMetrics(200_000, None).basis == "unknown"
    assert used(1).basis == "reported"


def test_metrics_without_a_timestamp_stamp_themselves():
    """The time is in UTC with a ``Z``, so that two machines can be compared."""
    stamp = used(1).timestamp
    assert stamp.endswith("Z")
    age = datetime.now().astimezone() - datetime.fromisoformat(stamp)  # noqa: TID251 - compared with the real clock
    assert timedelta(0) <= age < timedelta(minutes=1)
    assert ContextMetrics(1, 1, timestamp="2025-11-01T11:50:00").timestamp == "2025-11-01T11:50:00"


numbers = st.none() | st.integers(1, 10**12)


@given(numbers, numbers, numbers, st.text(), st.text())
def test_the_wire_form_gives_the_same_metrics_back(total, tokens, window, reason, model):
    """The metrics survive JSON, including unknown numbers and overfull windows."""
    original = ContextMetrics(total, tokens, stop_reason=reason, model=model, window_tokens=window)
    assert ContextMetrics.from_dict(original.to_dict()) == original
    assert ContextMetrics.from_dict(json.loads(json.dumps(original.to_dict()))) == original


def test_reading_passes_over_foreign_keys_and_takes_null_for_left_out():
    """A predecessor wrote a session id among the metrics, and null for a stop reason that it did not know."""
    read = ContextMetrics.from_dict(
        {"used_tokens": 5, "stop_reason": None, "session_id": "x", "timestamp": "t"}
    )
    assert read == ContextMetrics(None, 5, timestamp="t")


def test_half_a_character_does_not_reach_a_file():
    """Text that UTF-8 cannot encode is repaired when it comes in."""
    assert ContextMetrics(1, 1, model="m\ud800").model == "m\ufffd"


def test_levels_rank_from_harmless_to_urgent():
    """Levels are compared by rank; their names sort alphabetically like any text."""
    assert [
        level.rank for level in (Level.OK, Level.CAUTION, Level.WARNING, Level.AUTO_PAUSE, Level.CRITICAL)
    ] == [*range(5)]
    assert Level("auto_pause") is Level.AUTO_PAUSE


@pytest.mark.parametrize(
    ("tokens", "level"),
    [
        (0, "ok"),
        (139_999, "ok"),
        (140_000, "caution"),
        (169_999, "caution"),
        (170_000, "warning"),
        (180_000, "auto_pause"),
        (189_999, "auto_pause"),
        (190_000, "critical"),
        (500_000, "critical"),
    ],
)
def test_the_level_is_the_highest_threshold_crossed(tokens, level):
    """70, 85, 90 and 95 % of 200,000, each from its very token on."""
    assert Thresholds().level(used(tokens)) == level


@given(st.integers(1, 100), st.integers(1, 10**7))
@example(7, 100)
@example(28, 200_000)
@example(55, 100)
def test_a_fraction_is_crossed_at_its_exact_token(percent, total):
    """A threshold is never a token late because 0.07 is not exactly 7 hundredths."""
    mark = Threshold(level=Level.CAUTION, fraction=percent / 100)
    assert mark.at_tokens(total) == -(-percent * total // 100)


def test_thresholds_may_be_given_as_remaining_tokens():
    """Alone or mixed with fractions; the highest crossed counts, whichever kind it is."""
    mixed = Thresholds(
        warning=Threshold(level=Level.WARNING, remaining_tokens=40_000),
        critical=Threshold(level=Level.CRITICAL, remaining_tokens=5_000),
    )
    assert mixed.level(used(159_999)) == "caution"
    assert mixed.level(used(160_000)) == "warning"
    assert mixed.level(used(194_999)) == "auto_pause"
    assert mixed.level(used(195_000)) == "critical"
    assert mixed.level(used(910_000, of=1_000_000)) == "auto_pause"
    assert Threshold(level=Level.WARNING, remaining_tokens=40_000).at_tokens(30_000) == 0


def test_unknown_usage_crosses_nothing():
    """Neither a fraction nor a remainder is crossed if the usage is unknown."""
    assert not Threshold(level=Level.CAUTION, fraction=0.1).crossed(ContextMetrics(None, 10**6))
    assert not Threshold(level=Level.CAUTION, remaining_tokens=1).crossed(ContextMetrics(5, None))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "give a fraction or the remaining tokens, one of them"),
        ({"fraction": 0.5, "remaining_tokens": 5}, "one of them"),
        ({"fraction": 0}, "0 is not between 0 and 1"),
        ({"fraction": 85}, "85 is not between 0 and 1"),
        ({"fraction": math.nan}, "nan is not between 0 and 1"),
        ({"remaining_tokens": 0}, "0 remaining tokens is less than 1"),
    ],
)
def test_a_threshold_that_means_nothing_is_refused(fields, sentence):
    """The error names the level of the threshold."""
    with pytest.raises(InvalidValueError, match=f"Threshold caution: .*{sentence}"):
        Threshold(level=Level.CAUTION, **fields)


@pytest.mark.parametrize(
    "marks",
    [
        {"warning": {"fraction": 0.5}},
        {"auto_pause": {"fraction": 0.6}, "warning": {"remaining_tokens": 9}},
        {"warning": {"remaining_tokens": 5}, "auto_pause": {"remaining_tokens": 6}},
    ],
)
def test_thresholds_out_of_order_are_refused(marks):
    """This also holds with a threshold of the other kind between the two."""
    with pytest.raises(InvalidValueError, match="comes before"):
        Thresholds(**{name: Threshold(level=Level(name), **fields) for name, fields in marks.items()})


def test_a_mark_of_another_level_is_refused():
    """A warning given as caution would be announced as a warning."""
    with pytest.raises(InvalidValueError, match="of the level that it is given for"):
        Thresholds(caution=Threshold(level=Level.WARNING, fraction=0.5))
