"""A summary without a model: what was asked, sentences that decide, and what was asked last. For where the user wants no agent to write it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from leftoff.conversations.reading import Exchange

INITIAL = "Initial session."
_MOST_ITEMS = 12
_LONGEST_CHARS = 200
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_DECIDED = re.compile(
    r"\b(?:decided|let'?s (?:use|go|keep|do)|we(?:'ll| will) (?:use|keep|go)|going with|settled on|agreed|instead of|rather than|chose)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:todo|still (?:to|open|missing)|next step|later|remaining|pending|not yet)\b", re.IGNORECASE
)


def summarise(exchanges: Sequence[Exchange], previous: str | None) -> str:
    """The block of 003, from the words alone."""
    sentences = [
        each for exchange in exchanges for each in _sentences(f"{exchange.query}\n{exchange.answer}")
    ]
    pending = [*filter(_OPEN.search, sentences)]
    if exchanges:
        pending.append(f"Last asked: {exchanges[-1].query}")
    return "\n".join(
        [
            f"**Background Context:** {_background(previous)}",
            "",
            "**Current Session Summary:**",
            "**Topics Discussed:**",
            *_bullets(exchange.query for exchange in exchanges),
            "",
            "**Decisions Made:**",
            *_bullets(filter(_DECIDED.search, sentences)),
            "",
            "**Pending:**",
            *_bullets(pending),
        ]
    )


def _background(previous: str | None) -> str:
    """One or two sentences: the topics of the summary before."""
    if not previous:
        return INITIAL
    topics = previous.partition("**Topics Discussed:**")[2].partition("**Decisions Made:**")[0]
    words = [line.removeprefix("- ").strip() for line in topics.splitlines() if line.strip()]
    return _clipped(f"The session before was about: {'; '.join(words) or _clipped(previous)}") + "."


def _sentences(text: str) -> list[str]:
    return [found for each in _SENTENCE.findall(text) if len(found := each.strip()) > 12]


def _bullets(texts: Iterable[str]) -> list[str]:
    """The last of them, each once."""
    kept = [*dict.fromkeys(map(_clipped, texts))][-_MOST_ITEMS:]
    return [f"- {each}" for each in kept] or ["- None noted."]


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_CHARS else f"{line[: _LONGEST_CHARS - 1]}…"
