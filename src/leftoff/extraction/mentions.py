"""Count the URLs, ports, issue numbers and environment variables that a session mentions: exact text that is hard to guess again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from leftoff.extraction.phrases import LISTS
from leftoff.extraction.state import Ref, State

_MENTION = re.compile(
    r"(?P<url>https?://[^\s<>\"'`)\]}|\\]+)"
    r"|(?P<port>\b(?:localhost|127\.0\.0\.1|0\.0\.0\.0):\d{2,5}\b|\bport[ :=]+\d{2,5}\b)"
    r"|(?P<issue>(?<![\w/#&])#\d{1,6}\b|\b[A-Z]{2,8}-\d{1,6}\b)"
    r"|(?:\$\{?|\bexport |\bset |env(?:iron)?(?:\.get)?[.(\[]+[\"']?|\bgetenv\([\"'])(?P<variable>[A-Z][A-Z0-9_]{2,})\b"
    r"|(?<![\w.$])(?P<assigned>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?==\S)"
)
# Where a match may begin: a fixed string that such a text must contain, and a pattern for the places. Searching for these is many
# times faster than trying the whole pattern at every character.
_MENTION_STARTS = (
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
_NOT_ISSUES = tuple(LISTS["not an issue number"])
_MAX_TEXT_CHARS = 4_000  # of one text


class Mention(NamedTuple):
    """A URL, port, issue or environment variable, how often it was mentioned, and where last."""

    ref: Ref
    kind: str
    text: str
    uses: int
    call: int


def count_mentions(state: State) -> list[Mention]:
    """Count what prompts, replies and recent requests mention; what a tool printed does not count."""
    found: dict[str, Mention] = {}
    for ref, call, text in _texts(state):
        for match in _find_mentions(text[:_MAX_TEXT_CHARS]):
            kind = match.lastgroup or ""
            exact = match[kind].rstrip(".,;:!?*_")
            kind = "variable" if kind == "assigned" else kind
            if kind == "issue" and exact.startswith(_NOT_ISSUES):
                continue
            known = found.pop(exact, None)
            found[exact] = Mention(ref.with_excerpt(exact), kind, exact, known.uses + 1 if known else 1, call)
    return [*found.values()]


def _find_mentions(text: str) -> Iterator[re.Match[str]]:
    """Yield what ``_MENTION.finditer`` would find, faster."""
    patterns = [pattern for fixed, pattern in _MENTION_STARTS if fixed in text]
    ends = 0
    for place in sorted([found.start() for pattern in patterns for found in pattern.finditer(text)]):
        match = _MENTION.match(text, place) if place >= ends else None
        if match:
            ends = match.end()
            yield match


def _texts(state: State) -> Iterable[tuple[Ref, int, str]]:
    seen = {glimpse.ref.line_idx for glimpse in state.glimpses}
    early = [
        (prompt.ref, prompt.call, prompt.text) for prompt in state.prompts if prompt.ref.line_idx not in seen
    ]
    return [*early, *((glimpse.ref, glimpse.call, glimpse.asked) for glimpse in state.glimpses)]
