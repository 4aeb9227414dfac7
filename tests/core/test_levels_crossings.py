"""Each threshold is said once per crossing."""

from hypothesis import given
from hypothesis import strategies as st

from leftoff.core.levels import check_crossing
from leftoff.core.metrics import ContextMetrics, Level, Thresholds

MARKS = Thresholds()


def at(used):
    return ContextMetrics(total_budget=100_000, used_tokens=used, timestamp="2026-01-06T12:00:00Z")


def announced_along(path, last_level=Level.OK):
    """Return what is announced while usage follows ``path``, and the level at its end."""
    announced = []
    for used in path:
        step = check_crossing(last_level, at(used), MARKS)
        last_level = step.announced
        announced.append(step.announce)
    return announced, last_level


def test_each_level_is_announced_when_it_is_crossed():
    """All levels from caution to critical are announced, and nothing in between."""
    announced, last_level = announced_along([10_000, 70_000, 75_000, 85_000, 90_000, 95_000, 99_000])
    assert announced == [None, Level.CAUTION, None, Level.WARNING, Level.AUTO_PAUSE, Level.CRITICAL, None]
    assert last_level is Level.CRITICAL


def test_a_jump_over_several_marks_announces_the_highest():
    """There is one warning, for the level that matters."""
    assert announced_along([10_000, 96_000])[0] == [None, Level.CRITICAL]


def test_hovering_at_a_mark_is_not_repeated():
    """A little below and above again is the same crossing."""
    assert announced_along([70_500, 69_000, 70_500, 68_000, 71_000])[0] == [
        Level.CAUTION,
        None,
        None,
        None,
        None,
    ]


def test_a_clear_fall_arms_the_mark_again():
    """After usage has fallen, the next crossing is announced again, threshold by threshold."""
    announced, _ = announced_along([91_000, 20_000, 71_000, 86_000])
    assert announced == [Level.AUTO_PAUSE, None, Level.CAUTION, Level.WARNING]


def test_a_fall_below_one_threshold_leaves_lower_ones_announced():
    """From auto_pause down to 80 %: the warning is armed again, caution is not."""
    announced, last_level = announced_along([91_000, 80_000, 86_000])
    assert announced == [Level.AUTO_PAUSE, None, Level.WARNING]
    assert last_level is Level.WARNING


def test_a_compaction_arms_every_mark_again():
    """Thresholds are announced again even if usage is still close to them."""
    step = check_crossing(Level.CRITICAL, at(72_000), MARKS, compacted=True)
    assert (step.announced, step.announce) == (Level.CAUTION, Level.CAUTION)
    assert check_crossing(Level.CRITICAL, at(72_000), MARKS).announce is None


def test_unknown_usage_changes_nothing():
    """The announced level is kept, and nothing new is announced."""
    unknown = ContextMetrics(total_budget=None, used_tokens=None)
    step = check_crossing(Level.WARNING, unknown, MARKS)
    assert (step.announced, step.announce) == (Level.WARNING, None)


@given(st.lists(st.integers(min_value=0, max_value=120_000), max_size=60))
def test_no_level_is_announced_twice_without_a_clear_fall_between(path):
    armed_from = dict.fromkeys(Level, True)
    last_level = Level.OK
    for used in path:
        for threshold in MARKS.in_order:
            if used < threshold.at_tokens(100_000) - 3_000:
                armed_from[threshold.level] = True
        step = check_crossing(last_level, at(used), MARKS)
        last_level = step.announced
        if step.announce is not None:
            assert armed_from[step.announce]
            for level in Level:
                if level.rank <= step.announce.rank:
                    armed_from[level] = False
