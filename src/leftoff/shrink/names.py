"""Which lines of an old result still matter: those near a name that the conversation has spoken of since.

Names are taken from prompts, replies and the inputs of calls that are never cut (commands, reads, searches): so a copy speaks of the
same names as its source, and making it smaller twice is making it smaller once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from leftoff.model.actions import Changed, Planned, Proposed, Wrote
from leftoff.shrink.steps import Said, Told

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{4,}")
_LONG_WORD = 7  # a shorter one is a name only by an inner capital or underscore


class Reach(NamedTuple):
    """How far a name reaches: so many lines before and behind it, if it stands in no more than so many lines."""

    lines: int
    most_lines: int


def last_spoken_of(told: Sequence[Told]) -> dict[str, int]:
    """When each name was spoken of last, as an index of ``told``."""
    last: dict[str, int] = {}
    for order, each in enumerate(told):
        for name in _names(_spoken(each)):
            last[name] = order
    return last


def near_names(lines: Sequence[str], last: dict[str, int], order: int, reach: Reach) -> list[bool]:
    """Of each line, whether it stands near a name that was spoken of after ``order``."""
    named = [{name for name in _names(line) if last.get(name, -1) > order} for line in lines]
    frequency = Counter(name for names in named for name in names)
    near = [False] * len(lines)
    for at, names in enumerate(named):
        if any(frequency[name] <= reach.most_lines for name in names):
            begin, end = max(0, at - reach.lines), min(len(lines), at + reach.lines + 1)
            near[begin:end] = [True] * (end - begin)
    return near


def _spoken(each: Told) -> str:
    if isinstance(each, Said):
        return each.text
    if any(isinstance(action, Changed | Wrote | Planned | Proposed) for action in each.actions):
        return ""
    return each.words


def _names(text: str) -> set[str]:
    return {word for word in _WORD.findall(text) if _is_name(word)}


def _is_name(word: str) -> bool:
    return len(word) >= _LONG_WORD or "_" in word.strip("_") or not word[1:].islower()
