"""A plan to shrink a session, before a byte is written."""

import dataclasses

from leftoff.core.metrics import ContextMetrics
from leftoff.core.records import Place
from leftoff.core.trim_plan import Cut, Savings, TrimPlan


def cut(part="result", call_id="a", chars=1000, replacement="[suppressed]"):
    return Cut(
        place=Place("t", 0, 0, 9),
        part=part,
        call_id=call_id,
        tool="Read",
        original_chars=chars,
        replacement=replacement,
        rationale="read again later",
    )


def plan(*cuts, live_chars=10_000):
    return TrimPlan(
        strategy="trim",
        session_id="s",
        transcript="t",
        cuts=cuts,
        live_chars=live_chars,
        live_tokens=2500,
        saved_tokens=300,
    )


def test_a_cut_saves_what_it_takes_less_what_it_puts():
    """The placeholder takes characters too."""
    assert cut(chars=1000, replacement="x" * 90).saved_chars == 910


def test_a_plan_adds_up_its_cuts():
    """Characters of all, tool calls counted once although input and result of one are cut."""
    whole = plan(cut(), cut(part="input"), cut(call_id="b"), cut(part="text", call_id=None))
    assert whole.saved_chars == 4 * 988
    assert whole.tools_trimmed == 2
    assert not whole.nothing_to_trim


def test_a_plan_without_cuts_saves_nothing():
    assert plan().nothing_to_trim
    assert plan().tokens_after == 2200


def test_savings_are_tokens_and_the_gauge_before_and_after():
    """Whole percentages, unless they would hide the change; none where the window is not known."""
    full = ContextMetrics(total_budget=160_000, used_tokens=86_400)
    assert str(Savings.expect(full, 6_400)) == "54 % → 50 %, 6,400 tokens"
    assert str(Savings.expect(full, 160)) == "54 % → 53 %, 160 tokens"
    assert str(Savings.expect(full, 0)) == "54 %, 0 tokens"
    assert str(Savings.expect(ContextMetrics(160_000, 87_000), 400)) == "54.3 % → 54.1 %, 400 tokens"
    unknown = ContextMetrics(total_budget=None, used_tokens=86_400)
    assert str(Savings.expect(unknown, 6_400)) == "6,400 tokens"
    assert Savings.expect(full, 6_400).to_dict() == {
        "tokens_saved": 6_400,
        "context_saved_percent": 4.0,
        "percentage_before": 54.0,
        "percentage_after": 50.0,
    }


def test_the_usage_of_a_copy_leaves_out_what_no_reply_has_counted():
    """A cut after the last reply is not in its usage, so the gauge must not subtract it twice."""
    counted, tail = cut(call_id="a"), cut(call_id="b")._replace(place=Place("t", 9, 900, 1000))
    whole = plan(counted, tail)
    shared = dataclasses.replace(
        whole, tokens_per_char=0.25, tail_tokens=300, tail_places=frozenset({tail.place})
    )
    assert shared.usage_after == shared.live_tokens - 300 - 988 // 4
