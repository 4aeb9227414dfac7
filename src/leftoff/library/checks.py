"""What words cannot tell is looked up in the text itself: phrases, names, beginnings, and any word that is asked for beside them."""

from __future__ import annotations

from collections.abc import Sequence

from leftoff.library.patterns import pattern, sieve
from leftoff.library.query import Query, Term
from leftoff.library.words import tokens, wanted


class Check:
    """Whether a text holds any of the terms, or, where it must not, none."""

    def __init__(self, terms: Sequence[Term], *, wants: bool) -> None:
        self._looks = [(sieve(term.text), term) for term in terms if term.needs_look]
        self._words = [{*wanted(term.text)} for term in terms if not term.needs_look]
        self._wants = wants

    def holds(self, text: str) -> bool:
        """Whether it is as wanted."""
        return (self._has_word(text) or self._is_seen(text)) == self._wants

    def _is_seen(self, text: str) -> bool:
        folded = text.casefold()
        return any(may.search(folded) and _stands_in(text, term) for may, term in self._looks)

    def _has_word(self, text: str) -> bool:
        if not self._words:
            return False
        held = tokens(text)
        return any(words <= held for words in self._words)


def checks(query: Query) -> list[Check]:
    """All that texts must be asked for a query."""
    groups = [Check(group, wants=True) for group in query.groups if any(term.needs_look for term in group)]
    return [*groups, *refusals(query)]


def refusals(query: Query) -> list[Check]:
    """What must not be there, of that which words cannot tell."""
    return [Check((term,), wants=False) for term in query.without if term.needs_look]


def _stands_in(text: str, term: Term) -> bool:
    return pattern(term.text, text, is_prefix=term.is_prefix).search(text) is not None
