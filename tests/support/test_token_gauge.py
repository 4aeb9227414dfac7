"""Token usage that fits the text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.token_gauge import Gauge

STEPS = st.lists(st.tuples(st.integers(0, 90_000), st.integers(0, 20_000)), max_size=40)


def gauge(ceiling_tokens: int = 200_000) -> Gauge:
    return Gauge(base_tokens=20_000, tokens_per_char=0.4, ceiling_tokens=ceiling_tokens)


@given(STEPS)
def test_occupancy_never_falls_and_never_passes_the_ceiling(steps: list[tuple[int, int]]):
    """Each reply has at least as many tokens in its window as the one before."""
    new_gauge, seen = gauge(), 0
    for added, answered in steps:
        new_gauge.add(added)
        usage = new_gauge.reply(answered)
        assert seen <= usage.occupancy_tokens <= 200_000
        assert min(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) >= 0
        assert usage.cache_creation_tokens >= 0
        seen = usage.occupancy_tokens


def test_occupancy_is_base_plus_text():
    """10,000 characters at 0.4 tokens are 4,000 tokens in addition to the base."""
    new_gauge = gauge()
    new_gauge.add(10_000)
    assert new_gauge.tokens == 24_000
    assert new_gauge.reply(100).occupancy_tokens == 24_041  # and the reply's own 40, and one that ends it


def test_what_was_sent_before_is_read_from_the_cache():
    """The second reply only pays for what is new."""
    new_gauge = gauge()
    first = new_gauge.reply(100)
    new_gauge.add(1_000)
    second = new_gauge.reply(100)
    assert first.cache_read_tokens == 0
    assert second.cache_read_tokens == 20_000
    assert second.cache_creation_tokens < 1_000


def test_compaction_starts_again_from_what_is_left():
    """After a compaction only the summary counts."""
    new_gauge = gauge()
    new_gauge.add(300_000)
    new_gauge.reply(10)
    new_gauge.compact(27_000)
    assert new_gauge.tokens == 27_000
    assert new_gauge.reply(100).cache_read_tokens == 0
