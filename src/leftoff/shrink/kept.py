"""What no strategy cuts: the last turns, errors that are not resolved yet, and the current to-do list."""

from __future__ import annotations

from collections.abc import Sequence

from leftoff.core.trim_plan import LivePieces, Piece, TodoPart
from leftoff.shrink.placeholder import is_placeholder, original_chars

_OPENING_CHARS = 60  # of an input, by which a repeated call is recognised


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


def current_todos(pieces: Sequence[Piece]) -> frozenset[Piece]:
    """Return the inputs that make up the present to-do list: the last that set all of it, and all that set an entry."""
    failed = {piece.call_id for piece in pieces if piece.part == "result" and piece.is_error}
    last: dict[TodoPart, Piece] = {
        piece.todos: piece for piece in pieces if piece.todos and piece.call_id not in failed
    }
    return frozenset(
        piece for piece in pieces if piece.todos == "entry" or (piece.todos and piece is last.get("list"))
    )


def todos_note(piece: Piece) -> str:
    """Say why the input stays."""
    return f"line {piece.place.line_idx + 1}: the current to-do list"


def _opening(piece: Piece) -> str:
    """Return what identifies a repeated call; an input that was cut is identified by its key."""
    return piece.tail if is_placeholder(piece) else piece.head[:_OPENING_CHARS]


def is_unresolved(piece: Piece, unresolved: frozenset[str]) -> bool:
    """Say whether the piece is the result of such a call."""
    return piece.part == "result" and piece.call_id in unresolved


def unresolved_note(piece: Piece) -> str:
    """Say why the result stays."""
    return f"line {piece.place.line_idx + 1}: {piece.tool or 'a tool'} failed, and nothing has fixed it since"
