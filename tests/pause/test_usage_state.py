"""Token usage that a caller reports: its state, its stored form, and adding to it."""

import json
from pathlib import Path

import pytest

from leftoff.core.metrics import Thresholds
from leftoff.errors import DocumentError, InvalidValueError
from leftoff.pause.usage_state import Budget, UsageState, add_usage

GOLDEN = Path(__file__).parents[1] / "golden" / "wire" / "usage_state.v1.json"
BUDGET = Budget(tokens=100, thresholds=Thresholds())


def test_a_stored_state_of_schema_1_is_read_and_written_unchanged():
    text = GOLDEN.read_text("utf-8")
    state = UsageState.from_dict(json.loads(text), where="x")
    assert json.dumps(state.to_dict()) + "\n" == text
    assert (state.total_tokens, state.threshold_reached, state.auto_pause_active) == (
        181_000,
        "auto_pause",
        True,
    )


@pytest.mark.parametrize("broken", [[], {"schema": 1}, {"schema": 2}, {"schema": 1, "session_id": 5}])
def test_json_that_is_not_a_state_is_refused_with_its_file(broken):
    with pytest.raises(DocumentError, match="here"):
        UsageState.from_dict(broken, where="here")


def test_usage_is_added_and_the_threshold_crossed():
    before = UsageState("s")
    after = add_usage(before, {"cumulative_input_tokens": 95}, BUDGET)
    assert (after.percentage_used, after.threshold_reached, after.auto_pause_active) == (
        95.0,
        "critical",
        True,
    )
    assert (before.total_tokens, before.last_updated) == (0, None)
    assert after.last_updated is not None
    assert after.metrics(100).remaining_tokens == 5


def test_below_all_thresholds_nothing_is_reached():
    after = add_usage(UsageState("s"), {"cumulative_output_tokens": 1}, BUDGET)
    assert (after.threshold_reached, after.auto_pause_active) == (None, False)


@pytest.mark.parametrize("tokens", [-1, 1.5, True, None, "1"])
def test_a_value_that_is_not_a_count_is_refused(tokens):
    with pytest.raises(InvalidValueError, match="cache_read_tokens is"):
        add_usage(UsageState("s"), {"cache_read_tokens": tokens}, BUDGET)
