"""Decide what to cut from the live pieces of a session: by size (trim), by rules (smart-trim), or by line (a model or a caller).

These are functions of values; ``planners`` reads the values from a session. The last turns, errors that are not resolved yet and
everything the user wrote are never cut. A placeholder is never cut again, and no rule depends on something that another may cut, so
trimming a copy again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from leftoff.config.settings import TrimSettings
from leftoff.core.session import Session
from leftoff.core.trim_plan import Cut, Invariant, LivePieces, Piece, Strategy, TrimLevel, TrimPlan
from leftoff.core.wire import JsonValue
from leftoff.shrink.file_views import without_line_number
from leftoff.shrink.kept import (
    current_todos,
    is_unresolved,
    protected_from,
    todos_note,
    unresolved_errors,
    unresolved_note,
)
from leftoff.shrink.levels import LEVELS, Ages
from leftoff.shrink.placeholder import (
    Origin,
    excerpt,
    first_words,
    is_placeholder,
    original_chars,
    placeholder,
)
from leftoff.shrink.stale import LAST_CALLS, OLDER_TODOS, LaterCalls, Stale, find_stale
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
_WHAT_MATTERS = " What still matters:\n"


class TrimParameters(NamedTuple):
    """The user's choices.

    ``trim_assistant``: +N also cuts the first N long replies, -N all long replies but the last N, None cuts no reply.
    ``threshold``, ``head`` and ``tail`` are in characters. ``protect_turns`` protect at most a fifth of the live content.
    ``level`` says how much smart-trim cuts.
    """

    threshold: int = _DEFAULTS.threshold
    tools: tuple[str, ...] = ()
    trim_assistant: int | None = None
    min_token_savings: int = MIN_TOKEN_SAVINGS
    protect_turns: int = _DEFAULTS.protect_turns
    head: int = _DEFAULTS.head
    tail: int = _DEFAULTS.tail
    level: TrimLevel = _DEFAULTS.level

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
    todos = current_todos(live.pieces)
    kept = [*_unused_tools(live.pieces, parameters)]
    for piece in live.pieces[:end]:
        if not _is_too_long(piece, parameters):
            continue
        if is_unresolved(piece, unresolved):
            kept.append(unresolved_note(piece))
        elif piece in todos:
            kept.append(todos_note(piece))
        else:
            chosen.add(piece)
    late = sum(_is_too_long(piece, parameters) for piece in live.pieces[end:])
    if late:
        kept.append(f"{late} pieces of the last turns")
    cuts = {piece: cut_to_ends(piece, parameters, session.session_id) for piece in chosen}
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


def _unused_tools(pieces: Sequence[Piece], parameters: TrimParameters) -> Iterator[str]:
    """Name the chosen tools that this session has not used, and those that it has."""
    used = {piece.tool.lower(): piece.tool for piece in pieces if piece.tool}
    unused = [tool for tool in parameters.tools if tool.strip().lower() not in used]
    if unused:
        names = ", ".join(sorted(used.values())) or "none"
        yield f"no result or input of {', '.join(unused)} is in this conversation; its tools are: {names}"


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


def cut_to_ends(piece: Piece, parameters: TrimParameters, session_id: str) -> Cut:
    """Return the cut that leaves the two ends of a piece."""
    rationale = f"{piece.chars:,} characters, more than {parameters.threshold:,}"
    if piece.todos == "list":
        return _placeholder_cut(piece, session_id, OLDER_TODOS, rationale=rationale, description=OLDER_TODOS)
    room = int(piece.chars * _END_SHARE)
    return _placeholder_cut(
        piece,
        session_id,
        excerpt(piece, min(parameters.head, room), min(parameters.tail, room)),
        rationale=rationale,
        description=first_words(" ".join(piece.head.split()), 80),
    )


def cut_by_rules(
    live: LivePieces,
    conversation: Sequence[ConversationItem],
    parameters: TrimParameters,
    session: Session,
    invariants: Sequence[Invariant] = (),
) -> TrimPlan:
    """Plan a smart-trim: content that the work no longer needs is reduced to one line and to the lines that still matter.

    Of the parameters, only the level, the tools, the protected turns and the minimum saving count. The last calls are never cut.
    """
    end = protected_from(live, parameters.protect_turns, most_share=_MOST_PROTECTED_SHARE_SMART)
    unresolved = unresolved_errors(live.pieces)
    free = {piece for piece in live.pieces[:end] if not is_placeholder(piece)}
    stale = [
        each
        for each in _stale_pieces(conversation, LEVELS[parameters.level])
        if each.piece in free
        and not is_unresolved(each.piece, unresolved)
        and parameters.allows(each.piece.tool)
    ]
    cuts = {each.piece: _stale_cut(each, session.session_id) for each in stale}
    if not parameters.tools:
        cuts |= dict(_old_thoughts(live, end))
    kept = [unresolved_note(piece) for piece in live.pieces[:end] if is_unresolved(piece, unresolved)]
    partly = sum(_WHAT_MATTERS in cut.replacement for cut in cuts.values())
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
            "level": parameters.level,
        },
        min_token_savings=parameters.min_token_savings,
        invariants=invariants,
    )


def _stale_pieces(conversation: Sequence[ConversationItem], ages: Ages) -> Iterator[Stale]:
    """Apply the rules from the newest call to the oldest, so that each sees what came later."""
    later = LaterCalls(conversation, ages)
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
    lines = [line for run in _runs(stale.kept) for line in run]
    body = stale.note + (_WHAT_MATTERS + "\n".join(lines) if lines else "")
    return _placeholder_cut(stale.piece, session_id, body, rationale=stale.rationale, description=stale.note)


def _runs(kept: Sequence[tuple[int, str]]) -> Iterator[list[str]]:
    """Yield the kept lines that follow each other, after a gap if others were left out, without blank lines at their ends."""
    for offset, group in groupby(enumerate(kept), key=lambda each: each[1][0] - each[0]):
        run = [line for _, (_, line) in group]
        texts = [at for at, line in enumerate(run) if without_line_number(line).strip()]
        if texts:
            yield [*([_GAP] if offset or texts[0] else []), *run[texts[0] : texts[-1] + 1]]


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
        piece.place.line_idx: unresolved_note(piece)
        for piece in live.pieces
        if is_unresolved(piece, unresolved)
    } | {piece.place.line_idx: todos_note(piece) for piece in current_todos(live.pieces)}
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
    todos = current_todos(live.pieces)
    end = protected_from(live, protect_turns, most_share=_MOST_PROTECTED_SHARE_SMART)
    return [
        piece
        for piece in live.pieces[:end]
        if piece.part != "thinking"
        and piece.chars >= shortest_chars
        and not is_placeholder(piece)
        and not is_unresolved(piece, unresolved)
        and piece not in todos
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
        replacement=placeholder(tool, piece.chars, body, origin, is_input=piece.part == "input"),
        rationale=rationale,
        description=description,
        key=origin.key,
        is_whole=piece.todos is not None,
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
        content_digest=live.content_digest,
    )
