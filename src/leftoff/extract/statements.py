"""What the agent said that a successor needs: findings, decisions with their reason, what was given up."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from leftoff.extract import rules, words
from leftoff.extract.caseless import Caseless
from leftoff.extract.state import Ref, State, Statement

_LONGEST_CHARS = 420
_SHORTEST_CHARS = 25

_ABANDONED = Caseless(
    r"\b(?:let me (?:rethink|try (?:a different|another)|step back|revert)|(?:that|this) changes the (?:\w+ )?approach|(?:didn'?t|doesn'?t|won'?t|can'?t|cannot) (?:work|help|match)\b"
    r"|still (?:fail(?:ing|s)|can'?t|cannot)\b.*\bso\b|try(?:ing)? (?:something else|another)|(?:revert|undo|roll)(?:ing|ed)? (?:this|that|the|my|it)|dropp?(?:ed|ing) .* for now|removed the old"
    r"|gave up|giving up on|scrap(?:ped|ping)|backed out|backing out|fighting the symptom|would be broken|both failed|dead end|not going to work|the bug is in the design|is the killer"
    r"|too (?:long|slow|complex|fragile) for this|(?:using|use) .* (?:fallback|directly) instead|hit .* as command substitution)\b",
)
_CHOICE = Caseless(
    r"\b(?:I'?d (?:go with|lean|recommend|suggest|still)|my take|I (?:recommend|chose|decided|opted|picked|suggest|limited|reintroduced)|(?:we|I)(?:'ll| will)? (?:keep|use|go with|stick)\b"
    r"|going with|settled on|opt(?:ed|ing)? for|decided|decision|recommended:?|the fix (?:is|preserves|would)|the (?:right|best|cleanest|simplest) (?:fix|approach|way|solution|option)"
    r"|approach is to|out of scope|known limitation|tracked? separately|accept(?:able)? |trade-?off|(?:go(?:ing)? with|choose|chose|prefer|take|is) option [A-D1-9]|instead of|rather than|in favou?r of|without (?:re|de)?\w+ing"
    r"|kept|dropped|excludes?|excluded|omit(?:s|ted)?|reintroduced|preserv(?:es|ed|ing)|leaving|non-blocking|lazily|fall(?:s|ing)? back to|only (?:when|if|on|delete|for)|belongs in"
    r"|(?:doesn'?t|don'?t|do not) need|should (?:be|not|only|handle|travel|stay|never)|(?:is|are) (?:cleaner|better|simpler|enough|unnecessary|virtual)|will not|must not)\b",
)
_OFFER = Caseless(
    r"\W*(?:option|approach|alternative) [A-Z1-9]\b",
)  # one of several, not the choice
_DOES = Caseless(r"\b(?:I'?m|I am|I'?ll|I will|I'?ve|we'?ll|we|let'?s|let me)\b")
_REASON = Caseless(
    r"\b(?:because|since|so that|to avoid|to keep|to prevent|to ensure|in order to|as (?:it|this|the|we)|due to|that way|otherwise|which (?:means|avoids|keeps))\b",
)
_SO = Caseless(r"[,;:—-]\s*so (?:I'?m|I'?ll|I am|we|let'?s|the|it|that)\b")
_FINDING = Caseless(
    r"\b(?:root cause|the (?:real |actual |underlying |main |only |key )?(?:issue|problem|bug|culprit|reason|cause|failure|difference) (?:is|was|here|seems)|caused by|turns out|found (?:that|the|it|a|an|\d)"
    r"|confirm(?:ed|s)|(?:fails?|failed|failing|broke|breaks) (?:because|when|since|due|with)|this means|which means|it (?:looks like|appears)|I (?:see|found|notice)\b|discovered|the tests? (?:pass|fail)"
    r"|already (?:exists?|has|handles?|uses?)|missing|does(?:n'?t| not) (?:exist|support|handle|have|call|check|use)|bug|race|leak|regression|key (?:insight|finding|point)|now (?:I )?understand"
    r"|all (?:\d+ )?tests pass|takes? \d|is \d+(?:\.\d+)?\s?(?:ms|s|%|MB|KB|x)\b)",
)
_PROGRESS = Caseless(
    r"\A(?:now |next,? |first,? |then |good[.,!]? |great[.,!]? |perfect[.,!]? |ok(?:ay)?[.,!]? )?(?:let me|I'll|I will|I'm going to|let's) (?:now |also |first |check|look|read|see|run|find|search|verify|update|add|fix|start|examine|explore)",
)


# Words of a decision or finding that a successor needs however long ago it was said.
_LASTING_IN_A_ROW = (
    "because instead rather decided recommend recommended root turns scope chose limitation rethink revert reverted "
    "reverting tradeoff trade-off"
)
_LASTING = frozenset(_LASTING_IN_A_ROW.split())
_IN_LASTING_IN_A_ROW = (  # one of these stands in each of them
    "because instead rather decided recommend root turns scope chose limitation rethink revert trade"
)
_IN_LASTING = _IN_LASTING_IN_A_ROW.split()
_TO_BLANKS = str.maketrans(dict.fromkeys('.,;:!?()*`"[]{}<>/|\n\t—', " "))


def note(state: State, ref: Ref, text: str) -> None:
    """Keep what must outlast the last stretch; the rest is found in the last words themselves when a log is made."""
    rules.note_reply(state, text)
    if _is_lasting(text):
        state.statements += _in_text(ref, text, state.turns, state.calls, _is_lasting)


def said(state: State) -> list[Statement]:
    """Everything worth keeping that was said, oldest first, each once."""
    recent = [
        statement
        for glimpse in state.glimpses
        if glimpse.kind == "Said"
        for statement in _in_text(glimpse.ref, glimpse.asked, 0, glimpse.call, bool)
    ]
    lasting = [statement for statement in state.statements if statement.kind != "summary"]
    return [*{statement.text: statement for statement in [*lasting, *recent]}.values()]


def _is_lasting(text: str) -> bool:
    lowered = text.lower()
    # To find none of a dozen strings takes a tenth of the time that taking the text apart does.
    if not any(map(lowered.__contains__, _IN_LASTING)):
        return False
    return not _LASTING.isdisjoint(lowered.translate(_TO_BLANKS).split())


def _in_text(
    ref: Ref, text: str, turn: int, call: int, is_wanted: Callable[[str], bool]
) -> Iterator[Statement]:
    for sentence in words.sentences(text):
        if not _SHORTEST_CHARS <= len(sentence) <= _LONGEST_CHARS or sentence.endswith(":"):
            continue
        if not is_wanted(sentence):
            continue
        kind = _kind(words.straight(sentence))
        if kind:
            reason = _reason(sentence) if kind == "decision" else ""
            yield Statement(ref.saying(sentence), kind, sentence, reason, turn, call)


def _kind(sentence: str) -> str | None:
    if _ABANDONED.search(sentence):
        return "abandoned"
    if _PROGRESS.match(sentence) and not _REASON.search(sentence):
        return None
    if _SO.search(sentence) and _DOES.search(sentence):
        return "decision"
    if _CHOICE.search(sentence) and not sentence.endswith("?") and not _OFFER.match(sentence):
        return "decision"
    return "finding" if _FINDING.search(sentence) and not sentence.endswith("?") else None


def _reason(sentence: str) -> str:
    """The clause that gives the reason: before "so", behind "because" and its like; empty when none is given."""
    straight = words.straight(sentence)
    if so := _SO.search(straight):
        return sentence[: so.start()].strip(" ,;:")
    if found := _REASON.search(straight):
        return sentence[found.start() :].strip(" .")
    return ""
