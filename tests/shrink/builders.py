"""Pieces and calls that the tests of ``leftoff.shrink`` share."""

from collections.abc import Sequence

from leftoff.core.actions import Action, Answer
from leftoff.core.records import Place
from leftoff.core.session import Session
from leftoff.core.trim_plan import CutPart, LivePieces, Piece, digest_of
from leftoff.shrink.steps import ConversationItem, Step

SESSION = Session(
    agent="any", session_id="0123abcd-0000-4000-8000-000000000000", transcript="t.jsonl", records=()
)


def piece(
    line: int,
    text: str,
    part: CutPart = "result",
    *,
    tool: str | None = "Read",
    call: str | None = None,
    turn: int = 1,
    is_error: bool | None = None,
) -> Piece:
    """A piece that is alone in its line."""
    return Piece(
        place=Place("t.jsonl", line, line * 100, line * 100 + 100),
        part=part,
        call_id=(call or f"call-{line}") if part in ("result", "input") else None,
        tool=tool if part in ("result", "input") else None,
        chars=len(text),
        turn=turn,
        digest=digest_of(text),
        head=text[:200],
        tail=text[-200:],
        is_error=is_error,
    )


def live(*pieces: Piece, turns: int = 9, live_tokens: int | None = None) -> LivePieces:
    """A live chain of these pieces and nothing else."""
    chars = sum(each.chars for each in pieces)
    return LivePieces(
        pieces=pieces,
        live_chars=chars,
        live_tokens=chars // 3 if live_tokens is None else live_tokens,
        turns=turns,
    )


def step(
    line: int,
    *actions: Action,
    answer: str | Answer | None = "done",
    given: str = "",
    tool: str = "Tool",
    turn: int = 1,
) -> Step:
    """A call with its input in ``line`` and its answer in the next; ``given`` is the text of the input."""
    reply = Answer(text=answer, failed=False) if isinstance(answer, str) else answer
    call = f"call-{line}"
    return Step(
        call_id=call,
        tool=tool,
        actions=actions,
        answer=reply,
        input_piece=piece(line, given, "input", tool=tool, call=call, turn=turn) if given else None,
        result_piece=piece(line + 1, reply.text, tool=tool, call=call, turn=turn, is_error=reply.failed)
        if reply
        else None,
        input_text=given,
    )


def pieces_of(conversation: Sequence[ConversationItem]) -> tuple[Piece, ...]:
    """All pieces of a conversation, in its order."""
    return tuple(
        each
        for step in conversation
        if isinstance(step, Step)
        for each in (step.input_piece, step.result_piece)
        if each is not None
    )
