"""Usage as a hand-fed tracker adds it up: a state, its wire form, and the step to the next."""

import json
from pathlib import Path

import pytest

from leftoff.errors import DocumentError, InvalidValueError
from leftoff.model.context_metrics import Thresholds
from leftoff.model.usage_state import UsageState, with_usage

GOLDEN = Path(__file__).parents[1] / "golden" / "wire" / "usage_state.v1.json"
AT = "2026-01-06T12:00:00Z"


def test_the_state_is_read_and_written_byte_for_byte():
    """Schema 1."""
    text = GOLDEN.read_text("utf-8")
    state = UsageState.from_dict(json.loads(text), where="x")
    assert json.dumps(state.to_dict()) + "\n" == text
    assert (state.total_tokens, state.threshold_reached, state.auto_pause_active) == (
        181_000,
        "auto_pause",
        True,
    )


@pytest.mark.parametrize("broken", [[], {"schema": 1}, {"schema": 2}, {"schema": 1, "session_id": 5}])
def test_what_is_no_state_is_refused(broken):
    """With the file's name."""
    with pytest.raises(DocumentError, match="here"):
        UsageState.from_dict(broken, where="here")


def test_a_step_adds_and_tells_what_is_crossed():
    """The old state stays as it was."""
    before = UsageState("s")
    after = with_usage(
        before, {"cumulative_input_tokens": 95}, budget_tokens=100, thresholds=Thresholds(), at=AT
    )
    assert (after.percentage_used, after.threshold_reached, after.auto_pause_active) == (
        95.0,
        "critical",
        True,
    )
    assert (after.last_updated, before.total_tokens) == (AT, 0)
    assert after.metrics(100).remaining_tokens == 5


def test_below_all_marks_nothing_is_reached():
    """None, and no pause."""
    after = with_usage(
        UsageState("s"), {"cumulative_output_tokens": 1}, budget_tokens=100, thresholds=Thresholds(), at=AT
    )
    assert (after.threshold_reached, after.auto_pause_active) == (None, False)


@pytest.mark.parametrize("tokens", [-1, 1.5, True, None, "1"])
def test_what_is_no_count_is_refused(tokens):
    """Whole numbers from zero on."""
    with pytest.raises(InvalidValueError, match="cache_read_tokens is"):
        with_usage(
            UsageState("s"), {"cache_read_tokens": tokens}, budget_tokens=100, thresholds=Thresholds(), at=AT
        )
