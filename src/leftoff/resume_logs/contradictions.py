"""Find where a summary of the conversation says something that the log knows to be otherwise.

The log shows three kinds of contradiction: a check that the summary calls passing failed when it was last run; work that it calls committed
is not; a cause that it calls found was a guess, and it was not confirmed later. In doubt, nothing is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from leftoff.core.resume_log import ResumeLog
from leftoff.extraction import passages, wording
from leftoff.extraction.next_steps import FAILS
from leftoff.extraction.wording import quote

_PASSES = re.compile(
    r"\ball (?:\d+ )?(?:tests|checks)\b[^.\n]{0,40}\b(?:pass|green)|\b(?:tests|build|lint)\b[^.\n]{0,20}\b(?:pass(?:es|ed|ing)?|green|succeed)",
    re.IGNORECASE,
)
_COMMITTED = re.compile(
    r"\b(?:everything|all (?:changes|work)|changes)\b[^.\n]{0,30}\b(?:committed|pushed)\b", re.IGNORECASE
)
_DENIES = re.compile(
    r"\b(?:not|never|no|yet|until|once|should|must|need|before|if|most|some|except)\b|n't\b", re.IGNORECASE
)
_NOT_COMMITTED = ("Not committed", "; no commit was")
_CAUSE = re.compile(
    r"\b(?:root cause|cause|culprit)\b[^.\n]{0,20}(?:\bis\b|\bwas\b|:|\bidentified\b|\bfound\b)",
    re.IGNORECASE,
)
_GUESS = re.compile(
    r"\b(?:likely|probably|might|may be|could be|I suspect|suspect|hypothesis|perhaps|maybe|seems)\b",
    re.IGNORECASE,
)
_SAME_MATTER = 0.5  # of the rarer one's longer words
_MIN_WORD_CHARS = 5


def contradictions(log: ResumeLog, summary: str) -> Iterator[str]:
    """Yield a sentence for each contradiction."""
    sentences = [*wording.sentences(summary)]
    failing = next((step for step in log.next_steps if step.startswith(FAILS)), None)
    claim = next((each for each in sentences if _PASSES.search(each) and not _DENIES.search(each)), None)
    if failing and claim:
        yield f"The summary says {quote(claim, 160)}, but when last run: {failing.removeprefix(FAILS).strip()}"
    state = log.critical_context.get("state")
    dirty = (
        next((text for text in state if any(words in str(text) for words in _NOT_COMMITTED)), None)
        if isinstance(state, list)
        else None
    )
    claim = next((each for each in sentences if _COMMITTED.search(each) and not _DENIES.search(each)), None)
    if dirty and claim:
        yield f"The summary says {quote(claim, 160)}, but: {dirty}"
    for claim in sentences:
        if _CAUSE.search(claim) and not _GUESS.search(claim) and (guess := _unconfirmed_guess(log, claim)):
            yield f"The summary says {quote(claim, 200)}; the agent had only guessed: {quote(guess, 240)}"
            return


def _unconfirmed_guess(log: ResumeLog, claim: str) -> str | None:
    """Return the last statement about the matter if it is a guess; otherwise None."""
    matter = _long_words(claim)
    said = [
        sentence
        for text in (*log.key_findings, *log.accomplishments, *log.next_steps)
        for sentence in wording.sentences(text)
        if len(matter & _long_words(sentence))
        >= _SAME_MATTER * max(3, min(len(matter), len(_long_words(sentence))))
    ]
    return said[-1] if said and all(map(_GUESS.search, said)) else None


def _long_words(text: str) -> set[str]:
    return {word for word in passages.words(text) if len(word) >= _MIN_WORD_CHARS}
