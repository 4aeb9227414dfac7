"""From proposed cuts to a plan: what invariants forbid is kept, what frees nothing is left out, and the numbers are added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from leftoff.model.copying import Invariant, LivePieces, Piece
from leftoff.model.session import Session
from leftoff.model.trim_plan import Cut, Strategy, TrimPlan
from leftoff.model.wire import JsonValue
from leftoff.shrink import placeholders

# Characters to a token lie between these in nearly all sessions; a session's own ratio also counts what stands in no transcript.
_FEWEST_TOKENS_PER_CHAR, _MOST_TOKENS_PER_CHAR = 0.25, 0.374
_OPENING_CHARS = 60  # of an input, by which a repeated call is known


def made(
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
    """The plan; without any cut where all of them together free too little."""
    cuts, reasons = [], [*kept]
    for cut in proposed:
        forbidden = next((why for rule in invariants if (why := rule.forbids(cut))), None)
        if forbidden:
            reasons.append(f"line {cut.place.line_idx + 1}: {forbidden}")
        elif cut.saved_chars > 0:
            cuts.append(cut)
    saved_tokens = tokens(sum(cut.saved_chars for cut in cuts), live)
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
    )


def tokens(chars: int, live: LivePieces | TrimPlan) -> int:
    """How many tokens so many characters of this session take: the one base on which strategies are compared."""
    ratio = live.live_tokens / live.live_chars if live.live_chars else _MOST_TOKENS_PER_CHAR
    return int(chars * min(max(ratio, _FEWEST_TOKENS_PER_CHAR), _MOST_TOKENS_PER_CHAR))


def protected_from(live: LivePieces, protect_turns: int, *, most_share: float) -> int:
    """The index of the first piece that belongs to the protected end: the last turns, up to a share of all there is.

    Where one prompt keeps an agent busy, its turn may be all there is, and the share is what is protected.

    Content counts with what it took before it was cut, and thoughts not at all, so that the end stays where it is in a copy.
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


def original_chars(piece: Piece) -> int:
    """What a piece took before it was cut."""
    return (placeholders.stated_chars(piece.head) if is_placeholder(piece) else None) or piece.chars


def is_placeholder(piece: Piece) -> bool:
    """Whether a piece is what stands in the place of another."""
    return placeholders.could_be(piece.head, piece.tail)


def unmended_errors(pieces: Sequence[Piece]) -> frozenset[str]:
    """The calls that failed and that the same call, by the beginning of its input, has not passed since."""
    opening = {piece.call_id: (piece.tool, _opening(piece)) for piece in pieces if piece.part == "input"}
    failed: dict[tuple[str | None, str], list[str]] = {}
    for piece in pieces:
        if piece.part != "result" or piece.call_id is None or is_placeholder(piece):
            continue  # of what was cut nobody knows how it ended
        call = opening.get(piece.call_id, (piece.tool, ""))
        if piece.is_error:
            failed.setdefault(call, []).append(piece.call_id)
        else:
            failed.pop(call, None)
    return frozenset(call_id for calls in failed.values() for call_id in calls)


def _opening(piece: Piece) -> str:
    """What a repeated call is known by; an input that was cut is like no other, as its key is."""
    return piece.tail if is_placeholder(piece) else piece.head[:_OPENING_CHARS]
