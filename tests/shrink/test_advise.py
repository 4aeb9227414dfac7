"""The decision tree of 002: the gentlest strategy that makes enough room."""

import pytest

from leftoff.shrink.advise import Measured, advise


def would_save(tokens: int) -> Measured:
    return Measured(saved_tokens=tokens, lost_pieces=7, cache_write_tokens=100_000 - tokens)


@pytest.mark.parametrize(
    ("used", "trim", "smart", "how"),
    [
        (None, 50_000, 50_000, "as-is"),
        (0.79, 50_000, 50_000, "as-is"),
        (0.85, 60_000, 40_000, "smart-trim"),  # both are enough: the one that keeps more
        (0.85, 60_000, 10_000, "trim"),
        (1.10, 42_000, 10_000, "trim"),  # not enough, but large results are what fills it
        (0.95, 20_000, 10_000, "rollover"),
    ],
)
def test_the_tree(used: float | None, trim: int, smart: int, how: str) -> None:
    """Each branch of the tree."""
    advice = advise(used, 100_000, would_save(trim), would_save(smart))
    assert advice.how == how
    assert advice.reasons


def test_reasons_hold_the_numbers() -> None:
    """What is saved, lost and written anew."""
    advice = advise(0.9, 100_000, would_save(60_000), would_save(5_000))
    assert advice.reasons == (
        "the window is 90% full, and large tool results take 60% of it",
        "7 pieces give way to a line that says where they are",
        "the next prompt writes 40,000 tokens to the cache anew",
    )


def test_a_session_without_tokens_is_rolled_over() -> None:
    """Nothing is divided by zero."""
    assert advise(0.9, 0, would_save(0), would_save(0)).how == "rollover"
