"""From what a transcript says to context metrics."""

from datetime import UTC, datetime

import pytest

from leftoff.core.metrics import (
    USUAL_TOKENS_PER_CHAR,
    AgentWindow,
    ContextMetrics,
    Occupancy,
    measure,
    used_tokens,
)

NOW = datetime(2026, 1, 6, 12, 0, tzinfo=UTC)
TABLE = AgentWindow(window_tokens=200_000, window_basis="table", compacts_at_tokens=167_000)


def measured(occupancy, agent_window=TABLE, windows=None, observed=None):
    return measure(
        occupancy, agent_window, windows=windows or {}, observed_compaction_tokens=observed, at=NOW
    )


def test_percentages_are_of_the_usable_window():
    """A window of 200,000 that is compacted at 167,000 is full at 167,000; both numbers are kept."""
    metrics = measured(Occupancy(used_tokens=83_500))
    assert (metrics.total_budget, metrics.window_tokens) == (167_000, 200_000)
    assert metrics.percentage_used == pytest.approx(50)
    assert (metrics.basis, metrics.window_basis) == ("reported", "table")
    assert metrics.timestamp == "2026-01-06T12:00:00Z"


def test_a_tail_is_estimated_and_marked_so():
    """What came after the last reply is counted with the usual ratio until the session shows its own."""
    metrics = measured(Occupancy(used_tokens=100_000, tail_chars=10_000))
    assert metrics.used_tokens == 103_740
    assert metrics.basis == "estimated"


def test_a_sessions_own_ratio_is_used_if_it_is_plausible():
    """10,000 characters that took 5,000 tokens make half a token each; a wild or tiny sample is not believed."""
    base = {"used_tokens": 0, "tail_chars": 1_000}
    occupancy = Occupancy(**base, sample_chars=10_000, sample_tokens=5_000)
    assert used_tokens(occupancy, TABLE) == (500, "estimated")
    for chars, tokens in ((10_000, 90_000), (10_000, 10), (1_999, 1_000), (0, 0)):
        occupancy = Occupancy(**base, sample_chars=chars, sample_tokens=tokens)
        assert used_tokens(occupancy, TABLE) == (USUAL_TOKENS_PER_CHAR * 1_000, "estimated")


def test_an_estimate_rounds_up():
    assert used_tokens(Occupancy(used_tokens=10, tail_chars=1), TABLE) == (11, "estimated")


def test_a_fresh_session_that_says_its_baseline_has_an_estimate_before_the_first_reply():
    """Any other session without usage has none: its instructions and tools may be of any size."""
    window = TABLE._replace(baseline_tokens=20_000, tokens_per_char=0.25)
    fresh = Occupancy(used_tokens=None, tail_chars=1_000)
    assert used_tokens(fresh._replace(baseline_tokens=5_000), window) == (5_250, "estimated")
    assert used_tokens(fresh, window) == (None, "unknown")


@pytest.mark.parametrize(
    ("used", "shown"), [(89_999, 89.9), (90_000, 90.0), (29_000, 29.0), (57_000, 57.0), (0, 0.0)]
)
def test_a_percentage_is_shown_rounded_down(used, shown):
    """Nothing may look like a threshold that is not crossed."""
    assert ContextMetrics(total_budget=100_000, used_tokens=used).shown_percentage == shown


def test_unknown_usage_stays_unknown():
    """No usage in the file: no number is made up, and the tail changes nothing."""
    metrics = measured(Occupancy(used_tokens=None, tail_chars=5_000))
    assert (metrics.used_tokens, metrics.percentage_used, metrics.remaining_tokens) == (None, None, None)
    assert metrics.basis == "unknown"
    assert metrics.total_budget == 167_000


def test_an_unknown_window_stays_unknown():
    """Used tokens are shown without a percentage."""
    nothing = AgentWindow(window_tokens=None, window_basis="table", compacts_at_tokens=None)
    metrics = measured(Occupancy(used_tokens=5_000), nothing)
    assert (metrics.used_tokens, metrics.total_budget, metrics.percentage_used) == (5_000, None, None)
    assert metrics.window_basis == "unknown"


def test_the_users_own_window_comes_first():
    """A setting for the model beats the table, and the table's compaction point moves along."""
    occupancy = Occupancy(used_tokens=1, model="big-1")
    metrics = measured(occupancy, windows={"big-1": 1_000_000, "other": 5})
    assert (metrics.window_tokens, metrics.window_basis) == (1_000_000, "setting")
    assert metrics.total_budget == 835_000  # the same share; the same headroom would be 967,000
    smaller = measured(occupancy, windows={"big-1": 100_000})
    assert smaller.total_budget == 67_000  # the same headroom; the same share would be 83,500


def test_what_was_seen_beats_the_table_and_what_was_set_beats_both():
    """This machine's own compactions say more than a table; a setting of the agent says more than either."""
    assert measured(Occupancy(used_tokens=1), observed=150_000).total_budget == 150_000
    fixed = AgentWindow(
        window_tokens=200_000, window_basis="table", compacts_at_tokens=90_000, compaction_basis="setting"
    )
    assert measured(Occupancy(used_tokens=1), fixed, observed=150_000).total_budget == 90_000


def test_without_automatic_compaction_all_of_the_window_is_usable():
    """The agent's setting is ``None`` if compaction is switched off."""
    off = AgentWindow(
        window_tokens=200_000, window_basis="table", compacts_at_tokens=None, compaction_basis="setting"
    )
    assert measured(Occupancy(used_tokens=1), off, observed=150_000).total_budget == 200_000
    own = measured(Occupancy(used_tokens=1, model="m"), off, windows={"m": 50_000})
    assert own.total_budget == 50_000


def test_a_compaction_point_beyond_the_window_changes_nothing():
    """Seen or said, a point that the window never reaches is not what percentages are of."""
    odd = AgentWindow(window_tokens=100_000, window_basis="reported", compacts_at_tokens=500_000)
    assert measured(Occupancy(used_tokens=1), odd).total_budget == 100_000
    assert measured(Occupancy(used_tokens=1, model="m"), odd, windows={"m": 80_000}).total_budget == 80_000


def test_more_in_use_than_the_window_is_reported_unchanged():
    """A percentage may exceed 100; remaining tokens never fall below 0."""
    metrics = measured(Occupancy(used_tokens=190_000))
    assert metrics.percentage_used > 100
    assert metrics.remaining_tokens == 0


def test_a_compaction_of_a_smaller_window_does_not_count_after_a_change_of_model():
    large = AgentWindow(window_tokens=1_000_000, window_basis="table", compacts_at_tokens=967_000)
    occupancy = Occupancy(used_tokens=50_000)
    assert measured(occupancy, large, observed=160_000).total_budget == 967_000
    assert measured(occupancy, large, observed=900_000).total_budget == 900_000
