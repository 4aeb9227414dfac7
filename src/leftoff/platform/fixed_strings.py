"""Searches for the fixed strings of credentials: heads of tokens and words beside secrets, many in one pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, cached_property, lru_cache
from typing import Final, TypeAlias

_ESCAPE: Final = r"(?:[nrtbf]|u[0-9a-fA-F]{4}|[0-9A-F]{2}|[0-9]{1,2}m)"
_OTHER_ENDINGS: Final = "efghijmqrsuxyz"  # tokens, passed, author: these make it another word
_RARE: Final = "-_:k"  # as good as no text is without them, but one character in a hundred is
TOKEN_CHARACTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

Search: TypeAlias = tuple[str, list[str], Callable[..., re.Match[str] | None]]


class Heads:
    """Searches for any of the heads at the edge of a word, or also after an escape, which takes longer."""

    def __init__(self, heads: Sequence[str]) -> None:
        self._tree = _any_of(heads) or "(?!)"
        self._first = "".join(sorted({re.escape(head[0]) for head in heads})) or r"\0"
        self.beginnings = frozenset(
            beginning.encode()
            for head in heads
            for beginning in (
                [head[:3]] if len(head) > 2 else [head + last for last in TOKEN_CHARACTERS.decode()]
            )
        )

    # Compiling each takes longer than searching a log, which often needs neither.

    @cached_property
    def next(self) -> re.Pattern[bytes]:
        """The pattern of a head at the edge of a word."""
        return re.compile(rf"[^A-Za-z0-9_](?=[{self._first}])({self._tree})".encode())

    @cached_property
    def escaped(self) -> re.Pattern[bytes]:
        """The pattern of a head at the beginning, at the edge of a word or after an escape."""
        return re.compile(rf"(?:\A|[^A-Za-z0-9_]){_ESCAPE}??({self._tree})".encode())


@cache
def searches_of(all_words: Collection[str]) -> tuple[Search, ...]:
    """Return how to search for words: those that share a rare character together, because every pass takes time."""
    groups: dict[str, list[str]] = {}
    for word in sorted(all_words):
        groups.setdefault(next((mark for mark in _RARE if mark in word), word), []).append(word)
    return tuple((gate, words, _any_word(gate, words).search) for gate, words in groups.items())


def _any_word(gate: str, words: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of words that contain the gate, where none continues as another word: ``tokens``, ``passed``."""
    ends = []
    for word in words:
        before, _, after = word.partition(gate)
        behind = f"(?<={re.escape(before + gate)})" if before else ""
        other = f"(?![{_OTHER_ENDINGS}])" if word.strip("_").isalpha() else ""
        ends.append(f"{behind}{re.escape(after)}{other}()")
    return re.compile(f"{re.escape(gate)}(?:{'|'.join(ends)})")


@lru_cache(maxsize=4)  # creating one takes as long as searching a whole log
def heads_of(heads: tuple[str, ...]) -> Heads:
    """Return the search for these heads."""
    return Heads(heads)


def _any_of(strings: Iterable[str]) -> str:
    """Return a pattern that matches the longest of some strings, as a tree that examines each character once."""
    tails: dict[str, list[str]] = {}
    for string in strings:
        tails.setdefault(string[:1], []).append(string[1:])
    optional = "?" if tails.pop("", None) else ""
    branches = "|".join(re.escape(first) + _any_of(rest) for first, rest in tails.items())
    return f"(?:{branches}){optional}" if branches else ""
