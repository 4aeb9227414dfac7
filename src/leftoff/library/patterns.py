"""How words are looked for in a text as it stands, where tokens do not tell: as neighbours, as beginnings, and to be shown.

Patterns are compiled for what needs one; a plain word is found without. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from leftoff.library.words import UNSPACED, is_exact, is_unspaced, parts_of, root_of, words_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_IN_HUMP = r"(?<=[a-z0-9])(?=[A-Z])"


def pattern(words: str, text: str, *, is_prefix: bool = False) -> re.Pattern[str]:
    """What finds these words in the text as it stands, in this order and as neighbours, if they are there.

    The scripts without spaces, beside which a word may begin and end, are left out where that makes no difference: compiling them
    takes as long as a search.
    """
    plain = _pattern(words, "", is_prefix=is_prefix)
    return (
        plain
        if text.isascii() or plain.search(text)
        else _pattern(words, f"[{UNSPACED}]", is_prefix=is_prefix)
    )


@cache
def _pattern(words: str, script: str, *, is_prefix: bool) -> re.Pattern[str]:
    import re  # noqa: PLC0415

    parts = parts_of(words)
    if not parts:
        return re.compile(re.escape(words.strip()), re.IGNORECASE)
    begins, ends = _beginning_at(parts[0], script), "" if is_prefix else _ending_at(parts[-1], script)
    return re.compile(begins + r"[\W_]*".join(map(re.escape, parts)) + ends, re.IGNORECASE)


def _beginning_at(part: str, script: str) -> str:
    """Where a word may begin: not within another, unless it is a hump or a number, or of another script than what is before it."""
    if is_unspaced(part[0]):
        return ""
    after = rf"|(?<={script})" if script else ""
    version = r"|(?<=[A-Za-z])(?=[0-9])"  # 1.2.3 is found in v1.2.3
    return rf"(?:(?<![^\W_])|(?-i:{_IN_HUMP}{after}){version})"


def _ending_at(part: str, script: str) -> str:
    if is_unspaced(part[-1]):
        return ""
    before = rf"|(?={script})" if script else ""
    return rf"(?:(?![^\W_])|(?-i:{_IN_HUMP}{before}))"


def sieve(words: str) -> re.Pattern[str]:
    """What the case-folded text must hold for ``pattern`` to find anything: found many times faster, since it begins with a letter."""
    import re  # noqa: PLC0415

    parts = [re.escape(each.casefold()) for each in parts_of(words)] or [re.escape(words.strip().casefold())]
    return re.compile(r"[\W_]*".join(parts))


def light(word: str) -> re.Pattern[str]:
    """Where in a text a word was found: for showing it, so any word of the same stem will do."""
    import re  # noqa: PLC0415

    parts = [re.escape(root_of(part)) for part in words_in(word)]
    has_run = is_unspaced(word)
    tail = "" if has_run else r"[^\W_]*"
    starts = "" if has_run else rf"(?:(?<![^\W_])|(?-i:{_IN_HUMP}))"
    return re.compile(starts + rf"{tail}[\W_]*".join(parts) + tail, re.IGNORECASE)


def spans(word: str, text: str) -> Iterator[tuple[int, int]]:
    """Where ``light`` finds a word, one place behind the other; for a plain word without a pattern."""
    lowered = text.lower()
    if not is_exact(word) or not word.isascii() or len(lowered) != len(text):
        return (found.span() for found in light(word).finditer(text) if found[0])
    return _plain_spans(root_of(word), text, lowered)


def _plain_spans(root: str, text: str, lowered: str) -> Iterator[tuple[int, int]]:
    at = lowered.find(root)
    while at >= 0:
        end = at + len(root)
        if _may_begin(text[at - 1 : at], text[at]):
            while end < len(text) and text[end].isalnum():
                end += 1
            yield at, end
            at = lowered.find(root, end)
        else:
            at = lowered.find(root, at + 1)


def _may_begin(before: str, letter: str) -> bool:
    is_hump = before.isascii() and (before.islower() or before.isdigit()) and letter.isupper()
    return not before.isalnum() or is_hump
