"""How a resume log's tokens are shared out among its sections, and how a section is cut to its share.

The section budgets are caps when all sections are full; what one leaves unused is lent to the others, first to critical
context. Items are kept or dropped whole; the line that says how many were dropped stands inside the share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from leftoff.model import markdown
from leftoff.model.tokens import estimate_tokens, prefix_within, quarters
from leftoff.model.values import dataclass

TRUNCATED = "[... truncated to fit budget ...]"
_JOIN = "\n\n"
Keep = Literal["first", "last"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One heading and what stands below it, item by item.

    ``keep`` says which end matters most when space is short: the newest of what happened, the first of what is to come.
    """

    name: str
    heading: str
    items: tuple[str, ...]
    budget_tokens: int
    keep: Keep = "first"
    need_tokens: int = field(init=False)  # what it takes in full

    def __post_init__(self) -> None:
        object.__setattr__(self, "need_tokens", estimate_tokens("\n".join([*self.items, ""])))


def shares(sections: Sequence[Section], total_tokens: int, *, lend_first: str) -> Mapping[str, int]:
    """Tokens for each section by name: its scaled budget at most, then what others leave, in the order of lending."""
    need = {section.name: section.need_tokens for section in sections}
    budgets = {section.name: max(0, section.budget_tokens) for section in sections}
    scale = min(1.0, total_tokens / max(1, sum(budgets.values())))
    given = {name: min(need[name], int(budgets[name] * scale)) for name in need}
    left = total_tokens - sum(given.values())
    for name in sorted(need, key=lambda name: name != lend_first):
        lent = min(left, need[name] - given[name])
        given[name] += lent
        left -= lent
    return given


def fit(section: Section, tokens: int) -> tuple[str, ...]:
    """As many whole items as fit, and a line for the rest; where not even one fits, it is cut short."""
    items = section.items
    if section.need_tokens <= tokens:
        return items
    order = items if section.keep == "first" else items[::-1]
    note_quarters = quarters(_left_out(len(items), section.keep)) + 1 if len(items) > 1 else 0
    kept = list(order[: _fitting(order, tokens * 4 - note_quarters)])
    if not kept:
        kept = [cut] if (cut := truncate(order[0], (tokens * 4 - note_quarters - 1) // 4)).strip() else []
    if not kept or len(kept) == len(items):
        return tuple(kept)
    note = _left_out(len(items) - len(kept), section.keep)
    return (*kept, note) if section.keep == "first" else (note, *reversed(kept))


def _fitting(items: Sequence[str], room_quarters: int) -> int:
    """How many of the items, each with its line end, fit: by halves, so that all text is counted about once."""
    low, high, used = 0, len(items), 0
    while low < high:
        middle = (low + high + 1) // 2
        more = quarters("\n".join([*items[low:middle], ""]))
        if used + more <= room_quarters:
            low, used = middle, used + more
        else:
            high = middle - 1
    return low


def truncate(text: str, tokens: int) -> str:
    """``text`` within so many tokens: to the end of a sentence where one is near, marked, code fences closed."""
    if estimate_tokens(text) <= tokens:
        return text
    room, marker = tokens - estimate_tokens(_JOIN + TRUNCATED), _JOIN + TRUNCATED
    if room <= 0:
        room, marker = max(0, tokens), ""
    cut = _at_sentence(prefix_within(text, room))
    while (over := estimate_tokens(safe := markdown.mended(cut)) - room) > 0:
        cut = cut[:-over]
    return safe + marker


def _at_sentence(text: str) -> str:
    """Back to the end of a sentence, when that costs less than a fifth."""
    end = max(text.rfind(". "), text.rfind(".\n"))
    return text[: end + 1] if end > len(text) * 0.8 else text.rstrip()


def _left_out(count: int, keep: Keep) -> str:
    what = "earlier" if keep == "last" else "further"
    return f"- (… {count} {what} left out to fit the budget)"
