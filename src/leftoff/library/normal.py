"""A text reduced to its letters and digits, in one case and without accents: how one that was forgotten is known again.

Spacing, punctuation, quotes and line ends do not matter, and it is found inside a longer word or run. One that was copied out of
raw JSON is meant with its escapes read, too. Pure.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator

_SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
_SHORT = 4  # letters; fewer stand in every other word, so they count by themselves alone
_FEWEST_READ = 8  # letters of a text with its escapes read: ``D:\\notes`` would come to ``dotes``, which stands in other words
_SPACED = re.compile(r"[0-9A-Za-z\u00c0-\u024f\u0370-\u052f]")


class _Letters(dict[int, str]):
    """What each letter becomes, found out when it is met."""

    def __missing__(self, code: int) -> str:
        whole = unicodedata.normalize("NFKD", chr(code).casefold())
        self[code] = "".join(letter for letter in whole if letter.isalnum())
        return self[code]


_LETTERS = _Letters()


def normal(text: str) -> str:
    """The letters and digits alone."""
    if text.isascii():
        return text.lower().encode().translate(None, _SIGNS).decode()
    return text.translate(_LETTERS)


def writings(text: str) -> tuple[tuple[str, str], ...]:
    """A text as it was typed, and with its escapes read where it may be out of JSON: each with its letters, none where they are
    too few to be looked for without what stands between them."""
    typed = text, normal(text)
    try:
        read = str(json.loads(f'"{text}"', strict=False)) if "\\" in text else text
    except ValueError:
        return (typed,)
    letters = normal(read)
    return (
        (typed,)
        if letters in {"", typed[1]}
        else (typed, (read, letters if len(letters) >= _FEWEST_READ else ""))
    )


def places(text: str) -> list[int]:
    """Where in ``text`` each letter of ``normal(text)`` comes from."""
    return [at for at, letter in enumerate(text) for _ in _LETTERS[ord(letter)]]


def spans(text: str, wanted: str) -> Iterator[tuple[int, int]]:
    """Where ``wanted``, a normal text, stands in ``text``: [start, end), one behind the other."""
    reduced = normal(text)
    at = reduced.find(wanted) if wanted else -1
    if at < 0:
        return
    origins = places(text)
    while at >= 0:
        start, end = origins[at], origins[at + len(wanted) - 1] + 1
        counts = stands_alone(text, start, end, len(wanted))
        if counts:
            yield start, end
        at = reduced.find(wanted, at + (len(wanted) if counts else 1))


def stands_alone(text: str, start: int, end: int, letters: int) -> bool:
    """Whether so few letters are a word of their own there; any longer text counts wherever it stands."""
    if letters >= _SHORT or not _SPACED.match(text[start]):
        return True
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return not any(letter.isalnum() for letter in around)


def without(text: str, found: list[tuple[int, int]], mask: str) -> str:
    """The text with the mask in these places, which are in order."""
    for start, end in reversed(found):
        text = text[:start] + mask + text[end:]
    return text
