"""How many tokens a text takes, without a tokeniser: an estimate that errs to the safe side.

Letters and spaces count a quarter of a token each, so that prose comes to the usual four characters per token. Digits
and punctuation count more, because JSON and logs need up to twice as many; other scripts by the length of their UTF-8
form. The sum is rounded up, and never falls when text is added.
"""

from __future__ import annotations

# Quarters of a token, so that everything stays in whole numbers.
_QUARTERS_LETTER = 1
_QUARTERS_DIGIT = 2
_QUARTERS_PUNCTUATION = 3
_QUARTERS_TWO_BYTES = 2  # accented Latin, Greek, Cyrillic, Hebrew, Arabic
_QUARTERS_THREE_BYTES = 5  # CJK, Indic scripts, symbols
_QUARTERS_FOUR_BYTES = 10  # emoji, rare scripts

_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ \n"
_DIGITS = b"0123456789"
_FOLLOWERS = bytes(range(0x80, 0xC0))  # every byte of a character but its first
_COUNTED_ELSEWHERE = _LETTERS + _FOLLOWERS
_LEADS_TWO = bytes(range(0xC0, 0xE0))
_LEADS_THREE = bytes(range(0xE0, 0xF0))
_LEADS_FOUR = bytes(range(0xF0, 0x100))


def estimate_tokens(text: str) -> int:
    """Tokens that ``text`` takes at the most likely: at least one per four characters, rounded up."""
    return -(-quarters(text) // 4)


def quarters(text: str) -> int:
    """The same in quarters of a token: adds up exactly when texts are joined."""
    # What is no letter is a small part of most text, so everything else is counted in that.
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
    """The longest beginning of ``text`` that fits into so many tokens."""
    if tokens <= 0:
        return ""
    if len(text) * _QUARTERS_FOUR_BYTES <= tokens * 4:  # whatever it is made of
        return text
    if estimate_tokens(text) <= tokens:
        return text
    low, high = 0, min(len(text), tokens * 4)
    while low < high:  # the estimate never falls as text is added, so the border can be halved
        middle = (low + high + 1) // 2
        if estimate_tokens(text[:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def _count(raw: bytes, wanted: bytes) -> int:
    return len(raw) - len(raw.translate(None, wanted))
