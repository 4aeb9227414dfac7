"""Exact text that is hard to guess again: URLs, issue and request numbers, ports, environment variables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from leftoff.extract.state import Ref, State

_KINDS = re.compile(
    r"(?P<url>https?://[^\s<>\"'`)\]}|\\]+)"
    r"|(?P<port>\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0):\d{2,5}\b|\bport[ :=]+\d{2,5}\b)"
    r"|(?P<issue>(?<![\w/#&])#\d{1,6}\b|\b[A-Z]{2,8}-\d{1,6}\b)"
    r"|(?:\$\{?|\bexport |\bset |env(?:iron)?(?:\.get)?[.(\[]+[\"']?|\bgetenv\([\"'])(?P<variable>[A-Z][A-Z0-9_]{2,})\b"
    r"|(?<![\w.$])(?P<assigned>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?==\S)"
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
        for match in _KINDS.finditer(text[:_MOST_CHARS]):
            kind = match.lastgroup or ""
            exact = match[kind].rstrip(".,;:!?*_")
            kind = "variable" if kind == "assigned" else kind
            if kind == "issue" and exact.startswith(_NOT_ISSUES):
                continue
            known = found.pop(exact, None)
            found[exact] = Mention(ref.saying(exact), kind, exact, known.uses + 1 if known else 1, call)
    return [*found.values()]


def _texts(state: State) -> Iterable[tuple[Ref, int, str]]:
    seen = {glimpse.ref.line_idx for glimpse in state.glimpses}
    early = [
        (prompt.ref, prompt.call, prompt.text) for prompt in state.prompts if prompt.ref.line_idx not in seen
    ]
    return [*early, *((glimpse.ref, glimpse.call, glimpse.asked) for glimpse in state.glimpses)]
