"""Collect what the agent said that the next session needs: findings, decisions with their reason, what was given up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from leftoff.extraction import wording
from leftoff.extraction.phrases import LISTS, any_of
from leftoff.extraction.state import Ref, State, Statement

_MAX_CHARS = 420
_MIN_CHARS = 25
_ABANDONED = re.compile(rf"\b(?:{any_of('abandoned by agent')})\b", re.IGNORECASE)
_CHOICE = re.compile(rf"\b(?:{any_of('choice')})\b", re.IGNORECASE)
# One of several, not the choice.
_OFFER = re.compile(r"\W*(?:option|approach|alternative) [A-Z1-9]\b", re.IGNORECASE)
_ACTS = re.compile(r"\b(?:I'?m|I am|I'?ll|I will|I'?ve|we'?ll|we|let'?s|let me)\b", re.IGNORECASE)
_REASON = re.compile(rf"\b(?:{any_of('reason')})\b", re.IGNORECASE)
_SO = re.compile(r"[,;:—-]\s*so (?:I'?m|I'?ll|I am|we|let'?s|the|it|that)\b", re.IGNORECASE)
_FINDING = re.compile(rf"\b(?:{any_of('finding')})", re.IGNORECASE)
_PROGRESS = re.compile(
    rf"\A(?:{any_of('progress opening')})?(?:let me|I'll|I will|I'm going to|let's) (?:{any_of('progress action')})",
    re.IGNORECASE,
)
_LASTING = frozenset(LISTS["lasting"])
_LASTING_STEMS = LISTS["lasting stems"]
_TO_BLANKS = str.maketrans(dict.fromkeys('.,;:!?()*`"[]{}<>/|\n\t—', " "))


def add_lasting_statements(state: State, ref: Ref, text: str) -> None:
    """Add the statements that stay useful for long; others are found in the recent texts when a log is written."""
    if _is_lasting(text):
        state.statements += _find_statements(ref, text, state.turns, state.calls, _is_lasting)


def all_statements(state: State) -> list[Statement]:
    """Return every statement worth keeping, oldest first, each once."""
    new = [
        statement
        for recent in state.glimpses
        if recent.kind == "Said"
        for statement in _find_statements(recent.ref, recent.asked, 0, recent.call, bool)
    ]
    lasting = [statement for statement in state.statements if statement.kind != "summary"]
    return [*{statement.text: statement for statement in [*lasting, *new]}.values()]


def _is_lasting(text: str) -> bool:
    lowered = text.lower()
    # Searching for a dozen strings in vain takes a tenth of the time that splitting the text takes.
    if not any(map(lowered.__contains__, _LASTING_STEMS)):
        return False
    return not _LASTING.isdisjoint(lowered.translate(_TO_BLANKS).split())


def _find_statements(
    ref: Ref, text: str, turn: int, call: int, is_wanted: Callable[[str], bool]
) -> Iterator[Statement]:
    for sentence in wording.sentences(text):
        if not _MIN_CHARS <= len(sentence) <= _MAX_CHARS or sentence.endswith(":"):
            continue
        if not is_wanted(sentence):
            continue
        kind = _statement_kind(wording.straighten_quotes(sentence))
        if kind:
            reason = _reason(sentence) if kind == "decision" else ""
            yield Statement(ref.with_excerpt(sentence), kind, sentence, reason, turn, call)


def _statement_kind(sentence: str) -> str | None:
    if _ABANDONED.search(sentence):
        return "abandoned"
    if _PROGRESS.match(sentence) and not _REASON.search(sentence):
        return None
    if _SO.search(sentence) and _ACTS.search(sentence):
        return "decision"
    if _CHOICE.search(sentence) and not sentence.endswith("?") and not _OFFER.match(sentence):
        return "decision"
    return "finding" if _FINDING.search(sentence) and not sentence.endswith("?") else None


def _reason(sentence: str) -> str:
    """Return the clause that gives the reason, before "so" or from "because" on; empty when there is none."""
    straight = wording.straighten_quotes(sentence)
    if so := _SO.search(straight):
        return sentence[: so.start()].strip(" ,;:")
    if found := _REASON.search(straight):
        return sentence[found.start() :].strip(" .")
    return ""
