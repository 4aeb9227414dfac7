"""Exact text that is hard to guess again: URLs, issue and request numbers, ports, environment variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from leftoff.extract.state import Ref, State

_KINDS = re.compile(
    r"(?P<url>https?://[^\s<>\"'`)\]}|\\]+)"
    r"|(?P<port>\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0):\d{2,5}\b|\bport[ :=]+\d{2,5}\b)"
    r"|(?P<issue>(?<![\w/#&])#\d{1,6}\b|\b[A-Z]{2,8}-\d{1,6}\b)"
    r"|(?:\$\{?|\bexport |\bset |env(?:iron)?(?:\.get)?[.(\[]+[\"']?|\bgetenv\([\"'])(?P<variable>[A-Z][A-Z0-9_]{2,})\b"
    r"|(?<![\w.$])(?P<assigned>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?==\S)"
)
# Where a match may begin: something fixed that such a text must have, and the places. Each is found many times faster than by
# trying all of the above at every letter.
_BEGINNINGS = (
    ("", re.compile(r"[A-Z](?=[A-Z0-9_-]{2})")),
    ("http", re.compile(r"http")),
    ("localhost:", re.compile(r"localhost:")),
    (".0.0.", re.compile(r"127\.0\.0\.1:|0\.0\.0\.0:")),
    ("port", re.compile(r"port(?=[ :=])")),
    ("#", re.compile(r"#(?=\d)")),
    ("$", re.compile(r"\$")),
    ("export ", re.compile(r"export (?=[A-Z])")),
    ("set ", re.compile(r"set (?=[A-Z])")),
    ("env", re.compile(r"env(?=[i.(\[])")),
    ("getenv(", re.compile(r"getenv\(")),
)
_NOT_ISSUES = (
    "UTF-",
    "SHA-",
    "ISO-",
    "RFC-",
    "UTC-",
    "GMT-",
    "CVE-",
    "HTTP-",
    "AES-",
    "RSA-",
    "MIT-",
    "GPL-",
    "X-",
)
_MOST_CHARS = 4_000  # of one text


class Mention(NamedTuple):
    """One of them, how often it was spoken of, and where last."""

    ref: Ref
    kind: str
    text: str
    uses: int
    call: int


def mentioned(state: State) -> list[Mention]:
    """What prompts, replies and requests of the last stretch speak of; what a tool printed is no mention."""
    found: dict[str, Mention] = {}
    for ref, call, text in _texts(state):
        for match in _matches(text[:_MOST_CHARS]):
            kind = match.lastgroup or ""
            exact = match[kind].rstrip(".,;:!?*_")
            kind = "variable" if kind == "assigned" else kind
            if kind == "issue" and exact.startswith(_NOT_ISSUES):
                continue
            known = found.pop(exact, None)
            found[exact] = Mention(ref.saying(exact), kind, exact, known.uses + 1 if known else 1, call)
    return [*found.values()]


def _matches(text: str) -> Iterator[re.Match[str]]:
    """All matches, in their order, none within another: what ``_KINDS.finditer`` would find."""
    here = [pattern for fixed, pattern in _BEGINNINGS if fixed in text]
    ends = 0
    for place in sorted([found.start() for pattern in here for found in pattern.finditer(text)]):
        match = _KINDS.match(text, place) if place >= ends else None
        if match:
            ends = match.end()
            yield match


def _texts(state: State) -> Iterable[tuple[Ref, int, str]]:
    seen = {glimpse.ref.line_idx for glimpse in state.glimpses}
    early = [
        (prompt.ref, prompt.call, prompt.text) for prompt in state.prompts if prompt.ref.line_idx not in seen
    ]
    return [*early, *((glimpse.ref, glimpse.call, glimpse.asked) for glimpse in state.glimpses)]
