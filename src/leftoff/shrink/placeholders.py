"""What stands in the place of content that was cut: made here, and known again here.

A placeholder begins as in 002, says what was there, and ends with where the original stands: the line (1-based) and the session
that had it, and the key that ``leftoff expand`` takes. The key alone is enough to find it, whatever becomes of the copy. A
placeholder is known by its whole structure, from its first character to its last, never by words in a text (L35).
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

_ID_CHARS = 8
_DIGEST_CHARS = 8
_MOST_CHARS = 10_000_000  # no window holds more; who states more states nothing

_RESULT = "[Results from {tool} tool suppressed - original content was {chars} characters."
_REPLY = "[Claude response trimmed - original was {chars} characters."
_ENDS = "line {line} of {session_id}; leftoff expand {key}]"

_KEY = r"(?P<id>[0-9A-Za-z_.-]{1,8})-(?P<line>[1-9][0-9]{0,11})-(?P<digest>[0-9a-f]{8})"
_WHOLE_KEY = re.compile(rf"\A{_KEY}\Z")
_PLACEHOLDER = re.compile(
    r"\A\[(?:Results from (?P<tool>[^\n]{1,200}?) tool suppressed - original content was (?P<chars>[0-9]{1,12}) characters\."
    r"|Claude response trimmed - original was (?P<reply_chars>[0-9]{1,12}) characters\.)"
    rf"(?P<body>.*?)[ \n]line (?P<at>[1-9][0-9]{{0,11}}) of (?P<session>\S{{1,200}}); leftoff expand (?P<key>{_KEY})\]\s*\Z",
    re.DOTALL,
)


class Key(NamedTuple):
    """How an original is found again: the beginnings of its session's id and of its digest, and its line (1-based)."""

    session_id_prefix: str
    line: int
    digest_prefix: str


class Origin(NamedTuple):
    """Where an original stands."""

    session_id: str
    line_idx: int
    digest: str

    @property
    def key(self) -> str:
        """What ``leftoff expand`` takes."""
        return key_of(self.session_id, self.line_idx, self.digest)


class Placeholder(NamedTuple):
    """A placeholder taken apart. ``tool`` is None for the words of a reply."""

    kind: Literal["result", "reply"]
    tool: str | None
    original_chars: int
    body: str
    line: int  # 1-based
    session_id: str
    key: str


def placeholder(tool: str | None, chars: int, body: str, origin: Origin) -> str:
    """What is put in the place of a tool's content, or of a reply's words where there is no tool.

    ``body`` tells what was there; of more than one line, it stands on lines of its own.
    """
    begins = _REPLY.format(chars=chars) if tool is None else _RESULT.format(tool=_shown(tool), chars=chars)
    ends = _ENDS.format(line=origin.line_idx + 1, session_id=origin.session_id, key=origin.key)
    gap = "\n" if "\n" in body else " "
    return f"{begins}{gap}{body}{gap}{ends}" if body else f"{begins} {ends}"


def shortened(head: str, tail: str) -> str:
    """The two ends of what was cut, as the body of a placeholder; empty ends are left out."""
    said = [f"It began:\n{head}"] if head else []
    said += [f"… and ended:\n{tail}"] if tail else []
    return "\n".join(said)


def parsed(text: str) -> Placeholder | None:
    """The placeholder that a text is; None for any other text, even one that quotes a placeholder."""
    found = _PLACEHOLDER.match(text) if text.startswith("[") else None
    if found is None or found["at"] != found["line"] or found["session"][:_ID_CHARS] != found["id"]:
        return None
    return Placeholder(
        kind="result" if found["tool"] else "reply",
        tool=found["tool"],
        original_chars=int(found["chars"] or found["reply_chars"]),
        body=found["body"].strip(),
        line=int(found["at"]),
        session_id=found["session"],
        key=found["key"],
    )


def could_be(head: str, tail: str) -> bool:
    """Whether a text that begins and ends so can be a placeholder: for those that hold its two ends alone."""
    return head.startswith(("[Results from ", "[Claude response trimmed - ")) and bool(
        _LAST_WORDS.search(tail)
    )


def stated_chars(head: str) -> int | None:
    """How many characters the original had, by the beginning of a placeholder; None for what does not say."""
    found = _STATED.match(head)
    stated = int(found[1]) if found else 0
    return stated if 0 < stated <= _MOST_CHARS else None


def key_of(session_id: str, line_idx: int, digest: str) -> str:
    """The key of an original."""
    return f"{session_id[:_ID_CHARS]}-{line_idx + 1}-{digest[:_DIGEST_CHARS]}"


def parsed_key(key: str) -> Key | None:
    """A key taken apart; None for what is no key."""
    found = _WHOLE_KEY.match(key.strip())
    return Key(found["id"], int(found["line"]), found["digest"]) if found else None


def _shown(tool: str) -> str:
    """A tool's name on one line: it is whatever a server called it."""
    return " ".join(tool.split())[:200] or "unknown"


_STATED = re.compile(
    r"\[(?:Results from [^\n]{1,200}? tool suppressed - original content|Claude response trimmed - original) was ([0-9]{1,12}) "
)
_LAST_WORDS = re.compile(rf"; leftoff expand {_KEY}\]\s*\Z")
