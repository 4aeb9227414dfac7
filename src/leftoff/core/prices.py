"""What the first prompt of a resumed session costs when the prompt cache is cold: everything is written to the cache again."""

from __future__ import annotations

from typing import NamedTuple

_MILLION = 1_000_000


class Price(NamedTuple):
    """US dollars per million tokens of a prompt that no cache holds; ``usd_above`` for prompts longer than ``above_tokens``."""

    usd: float
    above_tokens: int | None = None
    usd_above: float | None = None

    def of(self, tokens: int) -> float:
        """Return what a prompt of that many tokens costs."""
        is_long = self.above_tokens is not None and self.usd_above is not None and tokens > self.above_tokens
        rate = self.usd_above if is_long and self.usd_above is not None else self.usd
        return tokens * rate / _MILLION


def dollars(usd: float | None) -> str:
    """Return ``$1.34``; ``?`` for a price that is not known."""
    return "?" if usd is None else f"${usd:,.2f}"
