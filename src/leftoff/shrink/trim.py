"""trim: content above a threshold gives way to its two ends and the place of the whole.

Protected are the last turns, errors that nothing has mended since, and whatever the user said, which is no piece at all. The choice
of tools holds for inputs as for results (L34); inputs are cut whole or not at all. Thoughts go, except those of the last
turn, unless tools were chosen. A placeholder is never cut again, so that trimming twice is trimming once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leftoff.model.copying import Invariant, LivePieces, Piece
from leftoff.model.session import Session
from leftoff.model.trim_plan import Cut, TrimPlan
from leftoff.model.values import dataclass
from leftoff.shrink import placeholders
from leftoff.shrink.placeholders import Origin
from leftoff.shrink.planning import is_placeholder, made, original_chars, protected_from, unmended_errors

# What must be asked of both ends of a piece, so that a placeholder is known again.
END_CHARS = 200
_MOST_PROTECTED_SHARE = 0.2
# A head or tail takes no more than this share of what is cut: of little content, little is shown.
_END_SHARE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimParameters:
    """What a person can choose.

    ``trim_assistant``: +N also cuts the first N long replies, -N all long replies but the last N; None none. ``threshold`` and
    ``head`` and ``tail`` are characters. ``protect_turns`` never take more than a fifth of all that is live.
    """

    threshold: int = 1000
    tools: tuple[str, ...] = ()
    trim_assistant: int | None = None
    min_token_savings: int = 300
    protect_turns: int = 2
    head: int = 200
    tail: int = 200

    def is_chosen(self, tool: str | None) -> bool:
        """Whether that tool's content may be cut; names are compared whatever their case."""
        return not self.tools or (tool or "").lower() in {name.strip().lower() for name in self.tools}


def plan(
    live: LivePieces, parameters: TrimParameters, session: Session, invariants: Sequence[Invariant] = ()
) -> TrimPlan:
    """What would be cut. The pieces must have been asked for with ends of at least ``END_CHARS``."""
    end = protected_from(live, parameters.protect_turns, most_share=_MOST_PROTECTED_SHARE)
    unmended = unmended_errors(live.pieces)
    wanted = {*_chosen_replies(live.pieces[:end], parameters)}
    kept = []
    for piece in live.pieces[:end]:
        if not _is_wanted(piece, parameters):
            continue
        if piece.part == "result" and piece.call_id in unmended:
            kept.append(
                f"line {piece.place.line_idx + 1}: {piece.tool or 'a tool'} failed, and nothing has mended it since"
            )
        else:
            wanted.add(piece)
    late = sum(_is_wanted(piece, parameters) for piece in live.pieces[end:])
    if late:
        kept.append(f"{late} pieces of the last turns")
    cuts = {piece: _cut(piece, parameters, session.session_id) for piece in wanted}
    if not parameters.tools:
        cuts |= dict(old_thoughts(live, end))
    return made(
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


def old_thoughts(live: LivePieces, end: int) -> Iterator[tuple[Piece, Cut]]:
    """The thoughts before the last turn: the model needs those of a turn that it may still be in."""
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


def _is_wanted(piece: Piece, parameters: TrimParameters) -> bool:
    return (
        piece.part in ("result", "input")
        and piece.chars > parameters.threshold
        and parameters.is_chosen(piece.tool)
        and not is_placeholder(piece)
    )


def _chosen_replies(pieces: Sequence[Piece], parameters: TrimParameters) -> Iterator[Piece]:
    """The replies whose words are cut; those that were cut before count, so that twice is once."""
    count = parameters.trim_assistant
    if count is None:
        return
    long = [
        piece for piece in pieces if piece.part == "text" and original_chars(piece) > parameters.threshold
    ]
    chosen = long[:count] if count > 0 else long[: len(long) + count] if count else []
    yield from (piece for piece in chosen if not is_placeholder(piece))


def _cut(piece: Piece, parameters: TrimParameters, session_id: str) -> Cut:
    origin = Origin(session_id, piece.place.line_idx, piece.digest)
    room = int(piece.chars * _END_SHARE)
    head, tail = min(parameters.head, room), min(parameters.tail, room)
    ends = placeholders.shortened(piece.head[:head], piece.tail[-tail:] if tail else "")
    return Cut(
        place=piece.place,
        part=piece.part,
        call_id=piece.call_id,
        tool=piece.tool,
        original_chars=piece.chars,
        replacement=placeholders.placeholder(
            None if piece.part == "text" else piece.tool or "unknown", piece.chars, ends, origin
        ),
        rationale=f"{piece.chars:,} characters, more than {parameters.threshold:,}",
        description=" ".join(piece.head.split())[:80],
        key=origin.key,
    )
