"""Estimates how many tokens a text takes, and shares a budget of tokens among the sections of a resume log.

There is no tokeniser: the estimate errs on the safe side and never falls when text is added. A section gets at most its own
budget; what it does not use is lent to the others. Items are kept or dropped whole, and a note says how many were dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from leftoff.core import markdown

TRUNCATED = "[... truncated to fit budget ...]"
_JOIN = "\n\n"
KeepEnd = Literal["first", "last"]
# Quarters of a token, so that all sums stay whole numbers. Letters and spaces count one quarter, the usual four characters per
# token; digits and punctuation count more, because JSON and logs need up to twice as many tokens as prose.
_QUARTERS_LETTER = 1
_QUARTERS_DIGIT = 2
_QUARTERS_PUNCTUATION = 3
_QUARTERS_TWO_BYTES = 2  # accented Latin, Greek, Cyrillic, Hebrew, Arabic
_QUARTERS_THREE_BYTES = 5  # CJK, Indic scripts, symbols
_QUARTERS_FOUR_BYTES = 10  # emoji, rare scripts
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ \n"
_DIGITS = b"0123456789"
_FOLLOWERS = bytes(range(0x80, 0xC0))  # UTF-8 continuation bytes
_COUNTED_ELSEWHERE = _LETTERS + _FOLLOWERS
_LEADS_TWO = bytes(range(0xC0, 0xE0))
_LEADS_THREE = bytes(range(0xE0, 0xF0))
_LEADS_FOUR = bytes(range(0xF0, 0x100))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading and the items below it.

    ``keep`` says which end to keep when space is short: the last (newest) of what happened, the first of what is to do.
    """

    name: str
    heading: str
    items: tuple[str, ...]
    budget_tokens: int
    keep: KeepEnd = "first"
    need_tokens: int = field(init=False)  # for all items

    def __post_init__(self) -> None:
        object.__setattr__(self, "need_tokens", estimate_tokens("\n".join([*self.items, ""])))


def share_tokens(
    sections: Sequence[Section], total_tokens: int, borrow_first: Sequence[str], *, never_borrow: str
) -> Mapping[str, int]:
    """Return the tokens for each section by name: at most its scaled budget, plus what the others leave unused.

    What is unused goes to the sections in ``borrow_first``, in that order, then to any other but ``never_borrow``.
    """
    need = {section.name: section.need_tokens for section in sections}
    budgets = {section.name: max(0, section.budget_tokens) for section in sections}
    scale = min(1.0, total_tokens / max(1, sum(budgets.values())))
    given = {name: min(need[name], int(budgets[name] * scale)) for name in need}
    left = total_tokens - sum(given.values())
    others = (name for name in need if name not in borrow_first and name != never_borrow)
    for name in (*borrow_first, *others):
        if name in need:
            lent = min(left, need[name] - given[name])
            given[name] += lent
            left -= lent
    return given


def fit_section(section: Section, tokens: int) -> tuple[str, ...]:
    """Return as many whole items as fit and a note for the rest. If not even one fits, return it cut short."""
    items = section.items
    if section.need_tokens <= tokens:
        return items
    order = items if section.keep == "first" else items[::-1]
    note_quarters = count_quarters(_omission_note(len(items), section.keep)) + 1 if len(items) > 1 else 0
    kept = list(order[: _count_fitting(order, tokens * 4 - note_quarters)])
    if not kept:
        kept = [cut] if (cut := truncate(order[0], (tokens * 4 - note_quarters - 1) // 4)).strip() else []
    if not kept or len(kept) == len(items):
        return tuple(kept)
    note = _omission_note(len(items) - len(kept), section.keep)
    return (*kept, note) if section.keep == "first" else (note, *reversed(kept))


def _count_fitting(items: Sequence[str], available_quarters: int) -> int:
    """Return how many of the items fit, found by bisection so that all text is counted about once."""
    low, high, used = 0, len(items), 0
    while low < high:
        middle = (low + high + 1) // 2
        more = count_quarters("\n".join([*items[low:middle], ""]))
        if used + more <= available_quarters:
            low, used = middle, used + more
        else:
            high = middle - 1
    return low


def truncate(text: str, tokens: int) -> str:
    """Cut ``text`` to at most ``tokens``: at the end of a sentence if one is near, with a marker and closed code fences."""
    if estimate_tokens(text) <= tokens:
        return text
    available, marker = tokens - estimate_tokens(_JOIN + TRUNCATED), _JOIN + TRUNCATED
    if available <= 0:
        available, marker = max(0, tokens), ""
    cut = _cut_at_sentence(prefix_within(text, available))
    while (over := estimate_tokens(safe := markdown.close_cut(cut)) - available) > 0:
        cut = cut[:-over]
    return safe + marker


def _cut_at_sentence(text: str) -> str:
    """Cut back to the end of a sentence if that costs less than a fifth of the text."""
    end = max(text.rfind(". "), text.rfind(".\n"))
    return text[: end + 1] if end > len(text) * 0.8 else text.rstrip()


def _omission_note(count: int, keep: KeepEnd) -> str:
    what = "earlier" if keep == "last" else "further"
    return f"- (… {count} {what} left out to fit the budget)"


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of ``text``: at least one per four characters, rounded up."""
    return -(-count_quarters(text) // 4)


def count_quarters(text: str) -> int:
    """Estimate the same in quarters of a token, which add up exactly when texts are joined."""
    # Most text is letters: removing them first leaves few bytes to count in detail.
    rest = text.encode("utf-8", "surrogatepass").translate(None, _COUNTED_ELSEWHERE)
    total = len(text) * _QUARTERS_LETTER + len(rest) * (_QUARTERS_PUNCTUATION - _QUARTERS_LETTER)
    total += _count(rest, _DIGITS) * (_QUARTERS_DIGIT - _QUARTERS_PUNCTUATION)
    if text.isascii():
        return total
    return (
        total
        + _count(rest, _LEADS_TWO) * (_QUARTERS_TWO_BYTES - _QUARTERS_PUNCTUATION)
        + _count(rest, _LEADS_THREE) * (_QUARTERS_THREE_BYTES - _QUARTERS_PUNCTUATION)
        + _count(rest, _LEADS_FOUR) * (_QUARTERS_FOUR_BYTES - _QUARTERS_PUNCTUATION)
    )


def prefix_within(text: str, tokens: int) -> str:
    """Return the longest beginning of ``text`` that fits into ``tokens``."""
    if tokens <= 0:
        return ""
    if len(text) * _QUARTERS_FOUR_BYTES <= tokens * 4:  # fits whatever its characters are
        return text
    if estimate_tokens(text) <= tokens:
        return text
    low, high = 0, min(len(text), tokens * 4)
    while low < high:  # the estimate never falls as text is added
        middle = (low + high + 1) // 2
        if estimate_tokens(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def _count(raw: bytes, wanted: bytes) -> int:
    return len(raw) - len(raw.translate(None, wanted))
