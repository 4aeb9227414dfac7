"""Patterns that take no notice of case, as lists of words need them, in a quarter of the time that ``re.IGNORECASE`` takes.

With that flag the engine tries every alternative at every place; in lower case it passes over those that begin with another
letter. So the text is put into lower case first. Where that is not the same (a few letters turn into another alphabet's, or into
two) the flag is used. A match tells a place, which is the same in the text as given; its words are in lower case.
"""

from __future__ import annotations

import re
from functools import cached_property

# Letters that stand for an ASCII or Cyrillic one under the flag, and not by ``str.lower``.
_ODD = re.compile("[\u0130\u0131\u017f\u1c80-\u1c88\u212a]")
_CAPITAL = re.compile(r"\\.|[A-Z]")  # an escape stays what it is: \W is not \w


class Caseless:
    """One such pattern. It is compiled when it is first asked: most commands never do."""

    def __init__(self, source: str) -> None:
        self._source = source

    def search(self, text: str) -> re.Match[str] | None:
        """The first place where it stands."""
        if text.isascii() or not _ODD.search(text):
            return self._lowered.search(text.lower())
        return self._flagged.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        """Whether the text begins with it."""
        if text.isascii() or not _ODD.search(text):
            return self._lowered.match(text.lower())
        return self._flagged.match(text)

    @cached_property
    def _lowered(self) -> re.Pattern[str]:
        return re.compile(_CAPITAL.sub(_lower, self._source))

    @cached_property
    def _flagged(self) -> re.Pattern[str]:
        return re.compile(self._source, re.IGNORECASE)


def _lower(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith("\\") else found[0].lower()
