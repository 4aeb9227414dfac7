"""Decide what to cut from the live pieces of a session: by size (trim), by rules (smart-trim), or by line (a model or a caller).

These are functions of values; ``planners`` reads the values from a session. The last turns, errors that are not resolved yet and
everything the user wrote are never cut. A placeholder is never cut again, and no rule depends on something that another may cut, so
trimming a copy again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from leftoff.config.settings import TrimSettings
from leftoff.core.session import Session
from leftoff.core.trim_plan import Cut, Invariant, LivePieces, Piece, Strategy, TrimPlan
from leftoff.core.wire import JsonValue
from leftoff.shrink.placeholder import Origin, both_ends, is_placeholder, original_chars, placeholder
from leftoff.shrink.stale import LAST_CALLS, LaterCalls, Stale, find_stale
from leftoff.shrink.steps import ConversationItem, Step

END_CHARS = 200  # both ends of every piece must be at least this long, so that a placeholder is recognised
MIN_TOKEN_SAVINGS = 300
_DEFAULTS = TrimSettings()
_MOST_PROTECTED_SHARE_TRIM = 0.2
_MOST_PROTECTED_SHARE_SMART = 0.1  # less than for trim, because what is cut here is out of date
_END_SHARE = 0.1  # a head or tail shows at most this share of the original
_LEAST_SAVED_CHARS = 150
_LONGEST_RATIONALE = 200
_GAP = "…"
_OPENING_CHARS = 60  # of an input, by which a repeated call is recognised


class TrimParameters(NamedTuple):
    """The user's choices.

    ``trim_assistant``: +N also cuts the first N long replies, -N all long replies but the last N, None cuts no reply.
    ``threshold``, ``head`` and ``tail`` are in characters. ``protect_turns`` protect at most a fifth of the live content.
    """

    threshold: int = _DEFAULTS.threshold
    tools: tuple[str, ...] = ()
    trim_assistant: int | None = None
    min_token_savings: int = MIN_TOKEN_SAVINGS
    protect_turns: int = _DEFAULTS.protect_turns
    head: int = _DEFAULTS.head
    tail: int = _DEFAULTS.tail

    def allows(self, tool: str | None) -> bool:
        """Whether this tool's inputs and results may be cut; case does not matter."""
        return not self.tools or (tool or "").lower() in {name.strip().lower() for name in self.tools}


def cut_by_size(
    live: LivePieces, parameters: TrimParameters, session: Session, invariants: Sequence[Invariant] = ()
) -> TrimPlan:
    """Plan a trim: content above the threshold is reduced to its two ends, inputs are cut whole.

    Thoughts before the last turn go too, unless tools were chosen.
    """
    end = protected_from(live, parameters.protect_turns, most_share=_MOST_PROTECTED_SHARE_TRIM)
    unresolved = unresolved_errors(live.pieces)
    chosen = {*_chosen_replies(live.pieces[:end], parameters)}
    kept = []
    for piece in live.pieces[:end]:
        if not _is_too_long(piece, parameters):
            continue
        if _is_unresolved(piece, unresolved):
            kept.append(_unresolved_note(piece))
        else:
            chosen.add(piece)
    late = sum(_is_too_long(piece, parameters) for piece in live.pieces[end:])
    if late:
        kept.append(f"{late} pieces of the last turns")
    cuts = {piece: _size_cut(piece, parameters, session.session_id) for piece in chosen}
    if not parameters.tools:
        cuts |= dict(_old_thoughts(live, end))
    return finish_plan(
        "trim",
        session,
        live,
        (cuts[piece] for piece in live.pieces[:end] if piece in cuts),
        kept=kept,
        parameters={
            "target_tools": [*parameters.tools],
            "threshold": parameters.threshold,
            "trim_assistant_messages": parameters.trim_assistant,
        },
        min_token_savings=parameters.min_token_savings,
        invariants=invariants,
    )


def _is_too_long(piece: Piece, parameters: TrimParameters) -> bool:
    return (
        piece.part in ("result", "input")
        and piece.chars > parameters.threshold
        and parameters.allows(piece.tool)
        and not is_placeholder(piece)
    )


def _chosen_replies(pieces: Sequence[Piece], parameters: TrimParameters) -> Iterator[Piece]:
    """Yield the replies to cut; replies that are already cut count too, so that trimming twice changes nothing."""
    count = parameters.trim_assistant
    if count is None:
        return
    long = [
        piece for piece in pieces if piece.part == "text" and original_chars(piece) > parameters.threshold
    ]
    chosen = long[:count] if count > 0 else long[: len(long) + count] if count else []
    yield from (piece for piece in chosen if not is_placeholder(piece))


def _size_cut(piece: Piece, parameters: TrimParameters, session_id: str) -> Cut:
    room = int(piece.chars * _END_SHARE)
    head, tail = min(parameters.head, room), min(parameters.tail, room)
    return _placeholder_cut(
        piece,
        session_id,
        both_ends(piece.head[:head], piece.tail[-tail:] if tail else ""),
        rationale=f"{piece.chars:,} characters, more than {parameters.threshold:,}",
        description=" ".join(piece.head.split())[:80],
    )


def cut_by_rules(
    live: LivePieces,
    conversation: Sequence[ConversationItem],
    parameters: TrimParameters,
    session: Session,
    invariants: Sequence[Invariant] = (),
) -> TrimPlan:
    """Plan a smart-trim: content that the work no longer needs is reduced to one line and to the lines that still matter.

    Of the parameters, only the tools, the protected turns and the minimum saving count. The last calls are never cut.
    """
    end = protected_from(live, parameters.protect_turns, most_share=_MOST_PROTECTED_SHARE_SMART)
    unresolved = unresolved_errors(live.pieces)
    free = {piece for piece in live.pieces[:end] if not is_placeholder(piece)}
    stale = [
        each
        for each in _stale_pieces(conversation)
        if each.piece in free
        and not _is_unresolved(each.piece, unresolved)
        and parameters.allows(each.piece.tool)
    ]
    cuts = {each.piece: _stale_cut(each, session.session_id) for each in stale}
    if not parameters.tools:
        cuts |= dict(_old_thoughts(live, end))
    kept = [_unresolved_note(piece) for piece in live.pieces[:end] if _is_unresolved(piece, unresolved)]
    partly = sum(bool(each.kept) for each in stale)
    if partly:
        kept.append(f"the lines that still matter of {partly} results")
    return finish_plan(
        "smart-trim",
        session,
        live,
        (
            cuts[piece]
            for piece in live.pieces
            if piece in cuts and (piece.part == "thinking" or cuts[piece].saved_chars >= _LEAST_SAVED_CHARS)
        ),
        kept=kept,
        parameters={
            "target_tools": [*parameters.tools],
            "threshold": None,
            "trim_assistant_messages": None,
        },
        min_token_savings=parameters.min_token_savings,
        invariants=invariants,
    )


def _stale_pieces(conversation: Sequence[ConversationItem]) -> Iterator[Stale]:
    """Apply the rules from the newest call to the oldest, so that each sees what came later."""
    later = LaterCalls(conversation)
    age = 0
    for index in range(len(conversation) - 1, -1, -1):
        step = conversation[index]
        if not isinstance(step, Step):
            continue
        if age >= LAST_CALLS:
            yield from find_stale(index, step, age, later)
        later.add(index, step)
        age += 1


def _stale_cut(stale: Stale, session_id: str) -> Cut:
    body = stale.note
    if stale.kept:
        lines: list[str] = []
        previous = -1
        for at, line in stale.kept:
            if at != previous + 1:
                lines.append(_GAP)
            lines.append(line)
            previous = at
        body += " What still matters:\n" + "\n".join(lines)
    return _placeholder_cut(stale.piece, session_id, body, rationale=stale.rationale, description=stale.note)


def cut_lines(
    live: LivePieces,
    lines: Sequence[tuple[int, str, str]],
    session: Session,
    invariants: Sequence[Invariant] = (),
    protect_turns: int = _DEFAULTS.protect_turns,
) -> TrimPlan:
    """Plan the cuts that were proposed as ``(line_idx, rationale, description)``, as far as they are allowed."""
    proposed = {line_idx: (rationale, description) for line_idx, rationale, description in lines}
    allowed = cuttable(live, shortest_chars=1, protect_turns=protect_turns)
    allowed_lines = {piece.place.line_idx for piece in allowed}
    unresolved = unresolved_errors(live.pieces)
    failed = {
        piece.place.line_idx: _unresolved_note(piece)
        for piece in live.pieces
        if _is_unresolved(piece, unresolved)
    }
    return finish_plan(
        "smart-trim",
        session,
        live,
        (
            _proposed_cut(piece, *proposed[piece.place.line_idx], session.session_id)
            for piece in allowed
            if piece.place.line_idx in proposed
        ),
        kept=[
            failed.get(line, f"line {line + 1}: nothing there that may be cut")
            for line in proposed
            if line not in allowed_lines
        ],
        parameters={"target_tools": [], "threshold": None, "trim_assistant_messages": None},
        min_token_savings=0,
        invariants=invariants,
    )


def cuttable(
    live: LivePieces, shortest_chars: int, protect_turns: int = _DEFAULTS.protect_turns
) -> list[Piece]:
    """Return the pieces that may be cut: no thoughts, no placeholders, no unresolved errors, nothing of the last turns."""
    unresolved = unresolved_errors(live.pieces)
    end = protected_from(live, protect_turns, most_share=_MOST_PROTECTED_SHARE_SMART)
    return [
        piece
        for piece in live.pieces[:end]
        if piece.part != "thinking"
        and piece.chars >= shortest_chars
        and not is_placeholder(piece)
        and not _is_unresolved(piece, unresolved)
    ]


def _proposed_cut(piece: Piece, rationale: str, description: str, session_id: str) -> Cut:
    why, what = (" ".join(text.split())[:_LONGEST_RATIONALE] for text in (rationale, description))
    return _placeholder_cut(piece, session_id, f"{what}: {why}.", rationale=why, description=what)


def _placeholder_cut(piece: Piece, session_id: str, body: str, *, rationale: str, description: str) -> Cut:
    """Return the cut that replaces a piece by a placeholder with this body."""
    origin = Origin(session_id, piece.place.line_idx, piece.digest)
    tool = None if piece.part == "text" else piece.tool or "unknown"
    return Cut(
        place=piece.place,
        part=piece.part,
        call_id=piece.call_id,
        tool=piece.tool,
        original_chars=piece.chars,
        replacement=placeholder(tool, piece.chars, body, origin),
        rationale=rationale,
        description=description,
        key=origin.key,
    )


def _old_thoughts(live: LivePieces, end: int) -> Iterator[tuple[Piece, Cut]]:
    """Yield the thoughts before the last turn; the model needs those of a turn that may not be over."""
    for piece in live.pieces[:end]:
        if piece.part == "thinking" and piece.turn < live.turns:
            yield (
                piece,
                Cut(
                    place=piece.place,
                    part="thinking",
                    call_id=None,
                    tool=None,
                    original_chars=piece.chars,
                    replacement="",
                    rationale="thoughts of a turn that is over",
                ),
            )


def finish_plan(
    strategy: Strategy,
    session: Session,
    live: LivePieces,
    proposed: Iterable[Cut],
    *,
    kept: Iterable[str],
    parameters: Mapping[str, JsonValue],
    min_token_savings: int,
    invariants: Sequence[Invariant],
) -> TrimPlan:
    """Turn proposed cuts into a plan: drop what an invariant forbids or frees nothing, and add up the savings.

    The plan has no cuts at all when all of them together free too little.
    """
    cuts, reasons = [], [*kept]
    for cut in proposed:
        forbidden = next((why for rule in invariants if (why := rule.forbids(cut))), None)
        if forbidden:
            reasons.append(f"line {cut.place.line_idx + 1}: {forbidden}")
        elif cut.saved_chars > 0:
            cuts.append(cut)
    saved_tokens = int(sum(cut.saved_chars for cut in cuts) * live.tokens_per_char)
    if cuts and saved_tokens < min_token_savings:
        reasons.append(
            f"{len(cuts)} cuts would free {saved_tokens:,} tokens, fewer than {min_token_savings:,}"
        )
        cuts, saved_tokens = [], 0
    return TrimPlan(
        strategy=strategy,
        session_id=session.session_id,
        transcript=session.transcript,
        cuts=tuple(cuts),
        live_chars=live.live_chars,
        live_tokens=live.live_tokens,
        saved_tokens=saved_tokens,
        parameters=parameters,
        kept=tuple(reasons),
        first_prompt=live.first_prompt,
        live_from=live.live_from,
        tokens_per_char=live.tokens_per_char,
        tail_tokens=live.tail_tokens,
        tail_places=live.tail_places,
    )


def protected_from(live: LivePieces, protect_turns: int, *, most_share: float) -> int:
    """Return the index of the first protected piece: the last turns, but at most a share of all content.

    One prompt can keep an agent busy for the whole session; then the share alone decides. Content counts with its size before it was
    cut, and thoughts do not count, so that the boundary is the same in a copy.
    """
    if protect_turns <= 0:
        return len(live.pieces)
    sizes = [0 if piece.part == "thinking" else original_chars(piece) for piece in live.pieces]
    room = sum(sizes) * most_share
    for index in range(len(live.pieces) - 1, -1, -1):
        room -= sizes[index]
        if room < 0 or live.pieces[index].turn <= live.turns - protect_turns:
            return index + 1
    return 0


def unresolved_errors(pieces: Sequence[Piece]) -> frozenset[str]:
    """Return the calls that failed and that the same call, by the beginning of its input, has not passed since."""
    opening = {piece.call_id: (piece.tool, _opening(piece)) for piece in pieces if piece.part == "input"}
    failed: dict[tuple[str | None, str], list[str]] = {}
    for piece in pieces:
        if piece.part != "result" or piece.call_id is None or is_placeholder(piece):
            continue  # a result that was cut does not show how the call ended
        call = opening.get(piece.call_id, (piece.tool, ""))
        if piece.is_error:
            failed.setdefault(call, []).append(piece.call_id)
        else:
            failed.pop(call, None)
    return frozenset(call_id for calls in failed.values() for call_id in calls)


def _opening(piece: Piece) -> str:
    """Return what identifies a repeated call; an input that was cut is identified by its key."""
    return piece.tail if is_placeholder(piece) else piece.head[:_OPENING_CHARS]


def _is_unresolved(piece: Piece, unresolved: frozenset[str]) -> bool:
    return piece.part == "result" and piece.call_id in unresolved


def _unresolved_note(piece: Piece) -> str:
    return (
        f"line {piece.place.line_idx + 1}: {piece.tool or 'a tool'} failed, and nothing has mended it since"
    )
