"""A plan to shrink a session, before a byte is written."""

from leftoff.core.records import Place
from leftoff.core.trim_plan import Cut, TrimPlan


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
    assert whole.context_saved_percent == 39.52
    assert not whole.nothing_to_trim


def test_a_plan_without_cuts_saves_nothing():
    """A plan without cuts saves 0 percent even if nothing is live."""
    assert plan().nothing_to_trim
    assert plan(live_chars=0).context_saved_percent == 0.0
