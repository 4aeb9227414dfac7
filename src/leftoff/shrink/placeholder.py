"""The text that replaces content cut from a session: writing it and recognising it.

A placeholder says what was there and where the original is: its line (1-based), its session, and the key for ``leftoff expand``. The
key alone is enough to find the original, even when the copy is gone. A text is recognised as a placeholder only by its whole
structure, from the first character to the last, so a text that quotes one is left alone.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

from leftoff.core.trim_plan import Piece

_ID_CHARS = 8
_DIGEST_CHARS = 8
_MOST_CHARS = 10_000_000  # no context window holds more, so a larger number is not believed
_INPUT = "[Input to {tool} tool suppressed - original content was {chars} characters."
_RESULT = "[Results from {tool} tool suppressed - original content was {chars} characters."
_REPLY = "[Claude response trimmed - original was {chars} characters."
_ENDS = "line {line} of {session_id}; leftoff expand {key}]"
_KEY = r"(?P<id>[0-9A-Za-z_.-]{1,8})-(?P<line>[1-9][0-9]{0,11})-(?P<digest>[0-9a-f]{8})"
_WHOLE_KEY = re.compile(rf"\A{_KEY}\Z")
_PLACEHOLDER = re.compile(
    r"\A\[(?:(?P<begins>Results from|Input to) (?P<tool>[^\n]{1,200}?) tool suppressed - original content was (?P<chars>[0-9]{1,12}) characters\."
    r"|Claude response trimmed - original was (?P<reply_chars>[0-9]{1,12}) characters\.)"
    rf"(?P<body>.*?)[ \n]line (?P<at>[1-9][0-9]{{0,11}}) of (?P<session>\S{{1,200}}); leftoff expand (?P<key>{_KEY})\]\s*\Z",
    re.DOTALL,
)
_STATED_CHARS = re.compile(
    r"\[(?:(?:Results from|Input to) [^\n]{1,200}? tool suppressed - original content|Claude response trimmed - original) was ([0-9]{1,12}) "
)
SHORT_TEXT_CHARS = 200
_JOINER = "\u200d"
_JOINS_BACK = re.compile("[\u200c\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\udc00-\udfff]")
_PAIRED = re.compile("[\U0001f1e6-\U0001f1ff]{2}|\r\n")  # the letters of a flag, the end of a line
_ESCAPE = re.compile(
    r"(?:\x1b\[?[0-9;]*|\\[ux]?[0-9a-fA-F]{0,4}|%[0-9A-Fa-f]?|&#?\w*)\Z"
)  # one that has just begun
_IN_WORD = "_-'\u2019"  # besides letters and digits
_LAST_WORDS = re.compile(rf"; leftoff expand {_KEY}\]\s*\Z")


class Origin(NamedTuple):
    """Where an original is."""

    session_id: str
    line_idx: int
    digest: str

    @property
    def key(self) -> str:
        """The key that ``leftoff expand`` takes."""
        return f"{self.session_id[:_ID_CHARS]}-{self.line_idx + 1}-{self.digest[:_DIGEST_CHARS]}"


class Placeholder(NamedTuple):
    """The parts of a placeholder. ``tool`` is ``None`` for the text of a reply. Older versions called an input a result."""

    kind: Literal["result", "input", "reply"]
    tool: str | None
    original_chars: int
    body: str
    line: int  # 1-based
    session_id: str
    key: str


class Key(NamedTuple):
    """The parts of a key: the beginnings of the session id and of the digest, and the line (1-based)."""

    session_id_prefix: str
    line: int
    digest_prefix: str


def placeholder(tool: str | None, chars: int, body: str, origin: Origin, *, is_input: bool = False) -> str:
    """Return the text that replaces what a tool answered or was given, or a reply's text when ``tool`` is ``None``.

    ``body`` describes what was there; a body of several lines gets lines of its own.
    """
    if tool is None:
        begins = _REPLY.format(chars=chars)
    else:  # an MCP server may have chosen any name
        begins = (_INPUT if is_input else _RESULT).format(
            tool=" ".join(tool.split())[:200] or "unknown", chars=chars
        )
    ends = _ENDS.format(line=origin.line_idx + 1, session_id=origin.session_id, key=origin.key)
    gap = "\n" if "\n" in body else " "
    return f"{begins}{gap}{body}{gap}{ends}" if body else f"{begins} {ends}"


def excerpt(piece: Piece, head: int, tail: int) -> str:
    """Return a body that shows both ends of a piece, at most so many characters of each, in whole words and without overlap.

    An input of many short texts gets none: one of them says nothing about the others.
    """
    chars = piece.chars if piece.text_chars is None else piece.text_chars
    if piece.part == "input" and chars <= SHORT_TEXT_CHARS:
        return ""
    if chars <= head + tail:
        text = piece.head[:chars]
        return text + piece.tail[len(text) - chars :] if len(text) < chars else text
    begin, end = first_words(piece.head, head), _last_words(piece.tail, tail)
    parts = [f"It began:\n{begin}"] if begin else []
    parts += [f"… and ended:\n{end}"] if end and end.strip() != begin.strip() else []
    return "\n".join(parts)


def first_words(text: str, most: int) -> str:
    """Return at most so many characters of the beginning of a text, in whole words; empty if the first is longer."""
    return text if len(text) <= most else text[: _find_boundary(text, range(most, 0, -1)) or 0].rstrip()


def _last_words(text: str, most: int) -> str:
    begin = _find_boundary(text, range(max(0, len(text) - most), len(text)))
    return "" if begin is None else text[begin:].lstrip()


def _find_boundary(text: str, positions: range) -> int | None:
    """Return the first position with a space beside it, within the first half; else the first where the text may be cut."""
    found: int | None = None
    for tried, at in enumerate(positions):
        if found is not None and tried > len(positions) // 2:
            break
        if _is_boundary(text, at):
            if text[at - 1 : at + 1].strip() != text[at - 1 : at + 1]:
                return at
            found = at if found is None else found
    return found


def _is_boundary(text: str, at: int) -> bool:
    """Say whether a text may be cut there: not inside a word, a number, or a character that is made of several."""
    if at == 0:
        return False  # this may be the middle of a longer text
    before, after = text[at - 1], text[at]
    if unicodedata.category(after)[0] == "M" or _JOINS_BACK.match(after) or before == _JOINER:
        return False
    if _PAIRED.fullmatch(before + after) or _ESCAPE.search(text, max(0, at - 12), at):
        return False
    if unicodedata.east_asian_width(before) in "WF" or unicodedata.east_asian_width(after) in "WF":
        return True  # scripts without spaces between words
    return not (_is_in_word(before) and _is_in_word(after))


def _is_in_word(char: str) -> bool:
    return char.isalnum() or char in _IN_WORD or unicodedata.category(char)[0] == "M"


def parse_placeholder(text: str) -> Placeholder | None:
    """Parse a text that is a placeholder; None for any other text, including one that quotes a placeholder."""
    found = _PLACEHOLDER.match(text) if text.startswith("[") else None
    if found is None or found["at"] != found["line"] or found["session"][:_ID_CHARS] != found["id"]:
        return None
    return Placeholder(
        kind="reply" if found["tool"] is None else "input" if found["begins"] == "Input to" else "result",
        tool=found["tool"],
        original_chars=int(found["chars"] or found["reply_chars"]),
        body=found["body"].strip(),
        line=int(found["at"]),
        session_id=found["session"],
        key=found["key"],
    )


def parse_key(key: str) -> Key | None:
    """Parse a key; None if the text is not one."""
    found = _WHOLE_KEY.match(key.strip())
    return Key(found["id"], int(found["line"]), found["digest"]) if found else None


def is_placeholder(piece: Piece) -> bool:
    """Whether a piece is a placeholder, as far as its two ends show."""
    return looks_like_placeholder(piece.head, piece.tail)


def looks_like_placeholder(head: str, tail: str) -> bool:
    """Whether a text with this beginning and this end can be a placeholder."""
    return head.startswith(("[Results from ", "[Input to ", "[Claude response trimmed - ")) and bool(
        _LAST_WORDS.search(tail)
    )


def original_chars(piece: Piece) -> int:
    """Return the size of a piece before it was cut."""
    return (stated_chars(piece.head) if is_placeholder(piece) else None) or piece.chars


def stated_chars(head: str) -> int | None:
    """Return the size of the original that the beginning of a placeholder states; None if it states none."""
    found = _STATED_CHARS.match(head)
    stated = int(found[1]) if found else 0
    return stated if 0 < stated <= _MOST_CHARS else None
