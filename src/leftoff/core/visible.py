"""Text from elsewhere without characters that control a terminal or a browser's text direction: each is shown as a name instead."""

from __future__ import annotations

# Control characters except tab and line end, and those that reverse, join or hide text. All of them are unprintable, so most texts
# need no check; the pattern is compiled when the first one does.
HIDDEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """Return text that cannot affect a terminal or a page: ESC becomes ␛, others ``<U+202E>``."""
    if text.isprintable():
        return text
    import re  # noqa: PLC0415 - the status line does without

    return re.sub(HIDDEN, lambda found: _name(ord(found[0])), text)


def _name(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"
