"""The decision tree of 002 as a function of numbers: what to do with a session whose window fills up, and why."""

from __future__ import annotations

from typing import Literal

from leftoff.model.values import dataclass

How = Literal["as-is", "trim", "smart-trim", "rollover"]

FULL_FRACTION = 0.80  # 002: below this there is nothing to do
_ENOUGH_FRACTION = 0.60  # a strategy that leaves the window fuller than this has to be repeated soon
_MANY_LARGE_RESULTS = 0.40  # of the context: 002's "many large tool results"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a strategy would do to this session, in tokens. ``lost_pieces`` counts what gives way to a placeholder."""

    saved_tokens: int
    lost_pieces: int
    cache_write_tokens: int  # what the first prompt afterwards writes to the cache anew


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The strategy for now, and the reasons in words, the weightiest first."""

    how: How
    reasons: tuple[str, ...]


def advise(used_fraction: float | None, used_tokens: int, trim: Measured, smart_trim: Measured) -> Advice:
    """The gentlest strategy that makes enough room; ``used_fraction`` is None where the window is not known."""
    if used_fraction is None:
        return Advice(how="as-is", reasons=("how full the window is, is not known yet",))
    full = f"the window is {used_fraction:.0%} full"
    if used_fraction < FULL_FRACTION:
        return Advice(how="as-is", reasons=(f"{full}, and there is room up to {FULL_FRACTION:.0%}",))
    if _fraction_left(used_fraction, used_tokens, smart_trim) <= _ENOUGH_FRACTION:
        return _advice("smart-trim", f"{full}, and later work has overtaken", used_tokens, smart_trim)
    if (
        _fraction_left(used_fraction, used_tokens, trim) <= _ENOUGH_FRACTION
        or _share(trim, used_tokens) >= _MANY_LARGE_RESULTS
    ):
        return _advice("trim", f"{full}, and large tool results take", used_tokens, trim)
    best = max(_share(trim, used_tokens), _share(smart_trim, used_tokens))
    return Advice(how="rollover", reasons=(f"{full}, and trimming would free only {best:.0%} of it",))


def _advice(how: How, why: str, used_tokens: int, found: Measured) -> Advice:
    return Advice(
        how=how,
        reasons=(
            f"{why} {_share(found, used_tokens):.0%} of it",
            f"{found.lost_pieces} pieces give way to a line that says where they are",
            f"the next prompt writes {found.cache_write_tokens:,} tokens to the cache anew",
        ),
    )


def _fraction_left(used_fraction: float, used_tokens: int, found: Measured) -> float:
    return used_fraction * (1 - _share(found, used_tokens))


def _share(found: Measured, used_tokens: int) -> float:
    return found.saved_tokens / used_tokens if used_tokens else 0.0
