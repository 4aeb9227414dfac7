"""Token usage that a caller reports: its state, its stored form, and adding to it."""

import json
from pathlib import Path

import pytest

from leftoff.core.metrics import Thresholds
from leftoff.core.records import Usage
from leftoff.errors import DocumentError
from leftoff.pause.usage_state import Budget, UsageState, add_usage

GOLDEN = Path(__file__).parents[1] / "golden" / "wire" / "usage_state.v1.json"
BUDGET = Budget(tokens=100, thresholds=Thresholds())


def test_a_stored_state_of_schema_1_is_read_and_written_with_what_was_added_since():
    stored = json.loads(GOLDEN.read_text("utf-8"))
    state = UsageState.from_dict(stored, where="x")
    assert state.to_dict() == stored | {"occupancy_tokens": None, "announced": "ok", "pause_begun": False}
    assert UsageState.from_dict(state.to_dict(), where="x") == state
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
    after = add_usage(before, Usage(input_tokens=90, output_tokens=5, cache_read_tokens=50), BUDGET)
    assert (after.percentage_used, after.threshold_reached, after.auto_pause_active) == (
        95.0,
        "critical",
        True,
    )
    assert before.total_tokens == 0
    assert after.last_updated >= before.last_updated
    assert after.metrics(100).remaining_tokens == 5


def test_of_occupancy_only_the_last_reply_counts():
    reply = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=40, cache_creation_tokens=10)
    after = add_usage(UsageState("s"), reply, BUDGET, is_occupancy=True)
    after = add_usage(after, reply, BUDGET, is_occupancy=True)
    assert (after.used_tokens, after.percentage_used, after.total_tokens) == (53, 53.0, 6)


def test_below_all_thresholds_nothing_is_reached():
    after = add_usage(UsageState("s"), Usage(input_tokens=0, output_tokens=1), BUDGET)
    assert (after.threshold_reached, after.auto_pause_active) == (None, False)


@pytest.mark.parametrize("wrong", [{"announced": "loud"}, {"pause_begun": 1}, {"occupancy_tokens": "5"}])
def test_a_field_of_another_form_is_refused(wrong):
    with pytest.raises(DocumentError, match="here"):
        UsageState.from_dict(UsageState("s").to_dict() | wrong, where="here")
