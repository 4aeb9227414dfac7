"""Patterns that take no notice of case find what the flag finds, where the flag finds it."""

from __future__ import annotations

import re

import pytest

from leftoff.extract import finished, needed, rules, statements, todos, words
from leftoff.extract.caseless import Caseless

SOURCE = r"\b(?:Never|don'?t [A-D]\w+|keep \S+ in)\b\W*\Z"
TEXTS = (
    "You should NEVER",
    "please Don't Change…",
    "dont change?",
    "Don't edit",
    "Keep it in!",
    "",
    "niemals: NEVER",
    "Θέλω NEVER",
    "\u0130stanbul never",  # a letter that is two in small
    "\u0130\u0130 keep it in",
    "\u212aEEP it in",  # the sign of a kelvin is a k to the flag alone
    "keep it \u0131n",  # and the i without a dot an i
    "\u1c82n never",
)
ALL = [
    pytest.param(found, id=f"{module.__name__.rpartition('.')[2]}.{name}")
    for module in (finished, needed, rules, statements, todos, words)
    for name, found in sorted(vars(module).items())
    if isinstance(found, Caseless)
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_same_place_as_with_the_flag(text: str) -> None:
    """Whatever letters stand around it."""
    flagged = re.compile(SOURCE, re.IGNORECASE)
    found, wanted = Caseless(SOURCE).search(text), flagged.search(text)
    assert (found and found.span()) == (wanted and wanted.span())
    begins, wanted = Caseless(SOURCE).match(text), flagged.match(text)
    assert (begins and begins.span()) == (wanted and wanted.span())


@pytest.mark.parametrize("pattern", ALL)
def test_every_list_of_words_means_the_same_as_with_the_flag(pattern: Caseless) -> None:
    """Nothing in it changes its meaning in small letters: no escape, no class of letters, no group's name."""
    flagged = re.compile(pattern._source, re.IGNORECASE)
    told = [
        "Actually, NEVER use tabs; I'd Prefer Option B instead, because it's SIMPLER.",
        "Let Me Rethink: the ROOT cause is a race, so I'm going with B.",
        "Don't forget to Run the tests, OK? 12 PASSED, Tests: 3, Build Succeeded",
        "Ground RULES: reply to me in German, pin Foo to 3, limit it to 2, всегда НИКОГДА Immer",
        "That's It, thanks! Everything is Done. Next, I'll NOW go on. Skip it, No Longer needed.",
        "",
    ]
    for text in [*told, *map(str.upper, told), *map(str.lower, told), *map(str.swapcase, told)]:
        found, wanted = pattern.search(text), flagged.search(text)
        assert (found and found.span()) == (wanted and wanted.span())
        begins, wanted = pattern.match(text), flagged.match(text)
        assert (begins and begins.span()) == (wanted and wanted.span())


def test_all_lists_of_words_are_looked_at() -> None:
    """So that the test above is about something."""
    assert len(ALL) >= 25
