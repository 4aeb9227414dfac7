"""Foreign text made harmless and fitted to a line: what every face shows it through, and quick to load.

Control characters, and those that turn text round or hide it, are shown, never sent to the terminal.
"""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    """Foreign text that can do nothing to a terminal: ESC becomes ␛, others ``<U+202E>``."""
    return _HIDDEN.sub(_shown, text)


def escaped(json_text: str) -> str:
    """JSON that says the same and can do nothing to a terminal."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)


def one_line(text: str, width: int) -> str:
    """Foreign text on one line of at most ``width`` columns; scripts that take two columns a letter are counted so."""
    flat = visible(" ".join(text[: width * 40].split()))
    taken = 0
    for position, letter in enumerate(flat):
        taken += _columns(letter)
        if taken > width:
            return _cut(flat[:position], width - 1) + "…"
    return flat


def columns_of(text: str) -> int:
    """How many columns it takes on a terminal."""
    return sum(map(_columns, text))


def _cut(text: str, width: int) -> str:
    while text and columns_of(text) > width:
        text = text[:-1]
    return text


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"
