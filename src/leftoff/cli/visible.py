"""Foreign text made harmless and fitted to a line: what every face shows it through, and quick to load.

Control characters, and those that turn text round or hide it, are shown, never sent to the terminal.
"""

from __future__ import annotations

import unicodedata

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# Control characters but tab and line end, and those that turn text round, join or hide it. All of these are unprintable, so that
# most texts need no look; compiled when the first one does.
_HIDDEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


_LAST_PLAIN = 0xFFFF


def visible(text: str) -> str:
    """Foreign text that can do nothing to a terminal: ESC becomes ␛, others ``<U+202E>``."""
    if text.isprintable():
        return text
    import re

    return re.sub(_HIDDEN, _shown, text)


def escaped(json_text: str) -> str:
    """JSON that says the same and can do nothing to a terminal."""
    import re

    return re.sub(_HIDDEN, _escape, json_text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code <= _LAST_PLAIN:
        return f"\\u{code:04x}"
    return f"\\u{0xD7C0 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"  # JSON has no longer ones


def one_line(text: str, width: int) -> str:
    """Foreign text on one line of at most ``width`` columns; scripts that take two columns a letter are counted so."""
    flat = visible(" ".join(text[: width * 40].split()))
    if flat.isascii():
        return flat if len(flat) <= width else flat[: max(0, width - 1)] + "…"
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
    if letter.isascii():
        return 1
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"
