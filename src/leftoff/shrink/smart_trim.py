"""smart-trim by rules: what the work no longer needs gives way to one line that says what it was, and to the lines that matter.

A rule looks at one call and at what came later in the conversation, never at the future. Protected are the last turns, the last
calls, errors that nothing has mended since and every word of the user. What is cut once is not looked at again, and no rule
rests on what another may cut, so that twice is once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leftoff.model.copying import Invariant, LivePieces
from leftoff.model.session import Session
from leftoff.model.trim_plan import Cut, TrimPlan
from leftoff.shrink import placeholders, stale
from leftoff.shrink.placeholders import Origin
from leftoff.shrink.planning import is_placeholder, made, protected_from, unmended_errors
from leftoff.shrink.stale import LAST_CALLS, Later, Stale
from leftoff.shrink.steps import Step, Told
from leftoff.shrink.trim import TrimParameters, old_thoughts

_LEAST_SAVED_CHARS = 150
_MOST_PROTECTED_SHARE = 0.1  # less than trim's: what is cut here was overtaken
_GAP = "…"


def plan(
    live: LivePieces,
    told: Sequence[Told],
    parameters: TrimParameters,
    session: Session,
    invariants: Sequence[Invariant] = (),
) -> TrimPlan:
    """What would be cut. Of the parameters, tools, protected turns and the least saving count."""
    end = protected_from(live, parameters.protect_turns, most_share=_MOST_PROTECTED_SHARE)
    unmended = unmended_errors(live.pieces)
    free = {piece for piece in live.pieces[:end] if not is_placeholder(piece)}
    found = [
        each
        for each in _found(told)
        if each.piece in free
        and not (each.piece.part == "result" and each.piece.call_id in unmended)
        and parameters.is_chosen(each.piece.tool)
    ]
    cuts = {each.piece: _cut(each, session.session_id) for each in found}
    if not parameters.tools:
        cuts |= dict(old_thoughts(live, end))
    return made(
        "smart-trim",
        session,
        live,
        (
            cuts[piece]
            for piece in live.pieces
            if piece in cuts and (piece.part == "thinking" or cuts[piece].saved_chars >= _LEAST_SAVED_CHARS)
        ),
        kept=_kept(found, live, end, unmended),
        parameters={
            "target_tools": [*parameters.tools],
            "threshold": None,
            "trim_assistant_messages": None,
        },
        min_token_savings=parameters.min_token_savings,
        invariants=invariants,
    )


def _found(told: Sequence[Told]) -> Iterator[Stale]:
    """What rules find, from the newest call to the oldest, so that each knows what came later."""
    later = Later(told)
    age = 0
    for order in range(len(told) - 1, -1, -1):
        step = told[order]
        if not isinstance(step, Step):
            continue
        if age >= LAST_CALLS:
            yield from stale.found(order, step, age, later)
        later.add(order, step)
        age += 1


def _cut(each: Stale, session_id: str) -> Cut:
    piece = each.piece
    origin = Origin(session_id, piece.place.line_idx, piece.digest)
    body = each.note if not each.kept else f"{each.note} What still matters:\n{_with_gaps(each)}"
    return Cut(
        place=piece.place,
        part=piece.part,
        call_id=piece.call_id,
        tool=piece.tool,
        original_chars=piece.chars,
        replacement=placeholders.placeholder(piece.tool or "unknown", piece.chars, body, origin),
        rationale=each.rationale,
        description=each.note,
        key=origin.key,
    )


def _with_gaps(each: Stale) -> str:
    """The lines that stay, with a sign where others stood between them."""
    shown: list[str] = []
    last = -1
    for at, line in each.kept:
        if at != last + 1:
            shown.append(_GAP)
        shown.append(line)
        last = at
    return "\n".join(shown)


def _kept(found: Sequence[Stale], live: LivePieces, end: int, unmended: frozenset[str]) -> list[str]:
    failed = [
        f"line {piece.place.line_idx + 1}: {piece.tool or 'a tool'} failed, and nothing has mended it since"
        for piece in live.pieces[:end]
        if piece.part == "result" and piece.call_id in unmended
    ]
    partly = sum(bool(each.kept) for each in found)
    return [*failed, *([f"the lines that still matter of {partly} results"] if partly else [])]
