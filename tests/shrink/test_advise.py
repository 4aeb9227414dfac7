"""Advice when the context window fills up."""

from pathlib import Path

import pytest

from leftoff.agents.registry import agent_of
from leftoff.core.metrics import ContextMetrics
from leftoff.shrink import advise
from leftoff.shrink.advise import recommend
from leftoff.shrink.trim import TrimOptions, prepare_trim, preview_trim
from leftoff.testing.builders import Story
from leftoff.workspace import SessionRef, Workspace
from tests.support.long_sessions import FIRST, write_long_session, write_session_with_short_id


@pytest.mark.parametrize(
    ("used", "trim", "smart", "how"),
    [
        (None, 0.50, 0.50, "as-is"),
        (0.79, 0.50, 0.50, "as-is"),
        (0.85, 0.60, 0.40, "smart-trim"),  # both are enough: the one that keeps more
        (0.85, 0.60, 0.10, "trim"),
        (1.10, 0.42, 0.10, "trim"),  # not enough, but large results are what fills it
        (0.95, 0.20, 0.10, "rollover"),
    ],
)
def test_each_branch_of_the_advice(used: float | None, trim: float, smart: float, how: str) -> None:
    advice = recommend(*gauges(used, trim, smart))
    assert advice.how == how
    assert advice.why


def gauges(used: float | None, *frees: float) -> list[ContextMetrics]:
    """The gauge now, and after each strategy, which frees that share of what is in the window."""
    shares = [1.0, *(1 - share for share in frees)]
    return [
        ContextMetrics(
            total_budget=100_000, used_tokens=None if used is None else round(used * share * 100_000)
        )
        for share in shares
    ]


def test_the_reason_states_what_is_left() -> None:
    advice = recommend(*gauges(0.9, 0.60, 0.05))
    assert advice.why == "the window is 90 % full, and 36 % without long tool results"


def test_advice_for_a_session_with_nothing_to_free_is_to_roll_over() -> None:
    assert recommend(*gauges(0.9, 0.0, 0.0)).how == "rollover"


@pytest.mark.parametrize("strategy", ["trim", "smart-trim"])
@pytest.mark.slow
def test_advice_offers_no_copy_that_would_be_no_smaller(home, strategy):
    source = write_session_with_short_id(home)
    plan = prepare_trim(str(source), Workspace.open(), TrimOptions(strategy=strategy))
    assert plan.plan.cuts
    assert preview_trim(plan).plan.nothing_to_trim
    option = {each.how: each for each in advise.advise(str(source), Workspace.open()).options}[strategy]
    assert (option.savings.tokens, option.cache_write_tokens) == (0, 0)
    assert option.loses == "nothing: there is nothing to gain"


def test_advice_measures_every_strategy(home):
    source = write_long_session(home, "claude", turns=12)
    result = advise.advise(str(source), Workspace.open())
    by_name = {option.how: option for option in result.options}
    assert [*by_name] == ["as-is", "trim", "smart-trim", "rollover"]
    assert by_name["trim"].savings.tokens > 0
    assert by_name["rollover"].savings.after.percentage_used < by_name["trim"].savings.after.percentage_used
    assert by_name["as-is"].cache_write_tokens == 0
    assert result.to_dict()["how"] == result.how == "rollover"
    assert result.why.startswith("the window is 102 % full, and trimming would leave it at ")
    chosen = SessionRef(agent=agent_of(source), transcript=source)
    assert advise.advise_if_full(chosen, Workspace.open()).how == "rollover"


def test_below_the_threshold_nothing_is_measured(home):
    source = write_long_session(home, "claude", turns=2)
    chosen = SessionRef(agent=agent_of(source), transcript=source)
    assert (
        advise.advise_if_full(chosen, Workspace.open()).how,
        advise.advise_if_full(chosen, Workspace.open()).options,
    ) == ("as-is", ())


def test_a_rollover_keeps_what_the_agent_sends_in_any_case(home):
    """Instructions and tools are sent again, so a fresh session is not empty."""
    source = write_long_session(home, "claude", turns=8)
    option = advise.advise(str(source), Workspace.open()).options[3]
    assert option.cache_write_tokens == option.savings.after.used_tokens
    assert 60_000 < option.savings.after.used_tokens < 60_000 + 9_900  # its first request held 60,000


def test_a_transcript_that_begins_in_the_middle_keeps_only_what_is_usual(home):
    """All that its window holds besides the file is earlier conversation, which a fresh session does not have."""
    story = Story(session_id=FIRST, project=str(Path.cwd()), model="claude-sonnet-4-5")
    story.asked("Go on").replied("Done.", used=190_000)
    option = advise.advise(str(home.claude(story)), Workspace.open()).options[3]
    assert option.savings.after.used_tokens < 45_000


def test_a_rollover_that_frees_nothing_is_reported(home):
    story = Story(session_id=FIRST, project=str(Path.cwd())).asked("Hello").replied("Hi.", used=40_000)
    option = advise.advise(str(home.claude(story)), Workspace.open()).options[3]
    assert (option.savings.tokens, option.cache_write_tokens) == (0, 0)
    assert "nothing to gain" in option.loses
