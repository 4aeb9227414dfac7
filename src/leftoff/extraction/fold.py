"""Fold the records of a transcript into the state, each once and in order; any partition of the records gives the same state.

A rewind leaves records in the transcript that are no longer part of the conversation. Each turn keeps the turn it continues and the
ids of its last records: a prompt whose parent is one of those ids went back to that turn. A turn that was left can be continued
later and is then part of the conversation again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Protocol

from leftoff.core.actions import Action, Answer
from leftoff.core.own_phrases import CONTINUE_PROJECT, HANDED_OVER, continued_project, only_saves
from leftoff.core.records import Place, Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.core.session import restored_session
from leftoff.core.wire import JsonValue
from leftoff.extraction import statements, tool_calls, user_rules
from leftoff.extraction.state import (
    Pending,
    Prompt,
    Ref,
    State,
    Statement,
    copy_state,
    enforce_limits,
    make_ref,
    truncate,
)

_MAX_PROMPT_CHARS = 4_000
_MAX_TEXT_CHARS = 3_000
_MAX_INPUT_CHARS = 20_000
_MAX_INPUT_PARTS = 1_000  # of one list or object
_MAX_INPUT_DEPTH = 20
_SCALAR_TYPES = frozenset({str, int, float, bool, type(None)})
_MAX_BRACKETS = 100  # a record with fewer cannot be nested too deeply
# Compared for every record: a module constant is looked up in a third of the time that an enum member takes.
_SIDE, _REPLY, _RESULT = RecordKind.SIDE, RecordKind.REPLY, RecordKind.RESULT
_PROMPT, _COMPACTION, _BROKEN = RecordKind.PROMPT, RecordKind.COMPACTION, RecordKind.BROKEN
_CONTEXT = RecordKind.CONTEXT
_HANDED_OVER = HANDED_OVER.encode()
_LIMIT_EVERY = 8  # lines of the transcript, so that any partition of the records gives the same state
_TAIL_LENGTH = 12  # ids; a client rewinds to just before a prompt, give or take a few records of its own
_END_OF_FILE = 10**12


class Reader(Protocol):
    """What the fold needs of an agent; see ``leftoff.core.protocols.Agent``."""

    def typed(self, record: Record) -> str:
        """Return what the user typed."""
        ...

    def actions(self, use: ToolUse) -> tuple[Action, ...]:
        """Return what a call does."""
        ...

    def answer(self, use: ToolUse, result: ToolResult) -> Answer:
        """Return the result of a call."""
        ...

    def rewound(self, record: Record) -> int | str | None:
        """Return how far a record takes the conversation back."""
        ...


def step(state: State, records: Iterable[Record], reader: Reader) -> State:
    """Return the state after these records; ``state`` itself is not changed."""
    own = copy_state(state)
    last, last_at = None, None
    for record in records:
        if record.kind is _BROKEN and not record.raw.endswith(b"\n"):
            continue  # still being written: it is read once it is complete
        _fold_record(own, record, reader)
        last, last_at = record, record.at or last_at
        if last_at is not None and not own.started_at:
            own.started_at = last_at.isoformat()
    if last is not None:
        own.transcript, own.after = last.place.transcript, last.place
        own.after_sha256 = hashlib.sha256(last.raw).hexdigest()
    if last_at is not None:
        own.last_at = last_at.isoformat()
    return own


def _fold_record(state: State, record: Record, reader: Reader) -> None:
    _fold_content(state, record, reader)
    if record.actor is None:
        if record.kind is not _SIDE:
            _fold_project_and_branch(state, record)
        if record.id is not None:
            _remember_id(state, record.id)
    if record.place.line_idx % _LIMIT_EVERY == 0:
        enforce_limits(state)


def _fold_content(state: State, record: Record, reader: Reader) -> None:
    kind = record.kind
    if kind is _REPLY:
        _fold_reply(state, record)
    elif kind is _RESULT:
        _fold_results(state, record, reader)
    elif kind is _SIDE:
        how_far = reader.rewound(record)
        if how_far is not None:
            _rewind(state, how_far, record.place)
    elif kind is _PROMPT:
        _fold_results(state, record, reader)  # typed while a tool ran: its answer may be in the same record
        _fold_prompt(state, record, reader)
    elif kind is _COMPACTION:
        _fold_compaction(state, record)
    elif kind is _CONTEXT and _HANDED_OVER in record.raw:
        _fold_continued_project(state)


def _fold_project_and_branch(state: State, record: Record) -> None:
    if record.cwd and not state.project:
        state.project, state.project_ref = record.cwd, make_ref(record, record.cwd)
    if record.branch and record.branch != state.branch:
        state.branch, state.branch_ref = record.branch, make_ref(record, record.branch)


def _fold_prompt(state: State, record: Record, reader: Reader) -> None:
    typed = reader.typed(record) if record.actor is None else ""
    if record.actor is None:
        _fold_restored(state, record)
    if not typed.strip():
        return
    _end_turn(state)
    previous_turn = _find_previous_turn(state, record.parent_id)
    has_rewound = previous_turn != state.tip
    _close_turn(state)
    ref = make_ref(record, typed)
    state.turns += 1
    state.tip = state.turns
    state.casual_prompts += typed.lstrip()[:1].islower()
    project = continued_project(typed) or ""
    state.prompts.append(
        Prompt(
            ref,
            truncate(typed, _MAX_PROMPT_CHARS),
            state.turns,
            previous_turn,
            state.calls,
            project=project,
        )
    )
    if has_rewound:
        _update_rewinds(state, record.place)
    if not project and not only_saves(typed):
        user_rules.add_prompt(state, ref, typed)
    tool_calls.add_recent_text(state, ref, typed, "Asked")


def _fold_continued_project(state: State) -> None:
    """Note that the last prompt, which may call the project by an unquoted name, was answered with its state."""
    match = CONTINUE_PROJECT.fullmatch(state.prompts[-1].text.strip()) if state.prompts else None
    if match is not None:
        state.prompts[-1] = state.prompts[-1]._replace(project=match["words"])


def _fold_restored(state: State, record: Record) -> None:
    """Note the session whose log the user pasted at the beginning of a prompt."""
    texts = (block.text for block in record.blocks if isinstance(block, Text))
    found = next(filter(None, map(restored_session, texts)), None)
    if found is not None and found not in state.restored:
        state.restored.append(found)


def _end_turn(state: State) -> None:
    """Keep the agent's last text before the next prompt as its own summary of the turn."""
    last, state.last_words = state.last_words, None
    if last is not None and not state.pending and last.call == state.calls:
        state.statements.append(last._replace(kind="summary"))


def _fold_reply(state: State, record: Record) -> None:
    if record.model is not None and record.model.startswith("<"):
        return  # written by the client in the model's name
    if record.actor is None:
        state.model = record.model or state.model
        _drop_interrupted_calls(state)
    ref: Ref | None = None
    for block in record.blocks:
        if isinstance(block, Text) and record.actor is None and block.text.strip():
            text_ref = ref.with_excerpt(block.text) if ref else make_ref(record, block.text)
            ref = ref or text_ref
            _fold_text(state, text_ref, block.text)
        elif isinstance(block, ToolUse):
            ref = ref or make_ref(record, "")
            key = f"{record.actor or ''}/{block.call_id}"
            state.pending[key] = Pending(ref, key, block.tool, _clip_input(block.input, record), state.turns)


def _drop_interrupted_calls(state: State) -> None:
    """Drop the calls of earlier turns: once the model replies again, they get no answer any more."""
    if state.pending and any(waiting.turn < state.turns for waiting in state.pending.values()):
        state.pending = {
            key: waiting for key, waiting in state.pending.items() if waiting.turn >= state.turns
        }


def _fold_text(state: State, ref: Ref, text: str) -> None:
    user_rules.add_assented(state, text)
    statements.add_lasting_statements(state, ref, text)
    tool_calls.add_recent_text(state, ref, text, "Said")
    state.last_words = Statement(ref, "words", truncate(text, _MAX_TEXT_CHARS), "", state.turns, state.calls)


def _fold_results(state: State, record: Record, reader: Reader) -> None:
    for block in record.blocks:
        if not isinstance(block, ToolResult):
            continue
        asked = state.pending.pop(f"{record.actor or ''}/{block.call_id}", None)
        if asked is None or not isinstance(asked.input, (dict, str)):
            continue
        use = ToolUse(call_id=block.call_id, tool=asked.tool, input=asked.input)
        call = tool_calls.Call(asked.ref, record, reader.actions(use), reader.answer(use, block))
        tool_calls.add_call(state, call)


def _fold_compaction(state: State, record: Record) -> None:
    compaction = record.compaction
    is_second = compaction is not None and compaction.summary and state.last_compaction_call == state.calls
    if compaction is None or compaction.trigger == "micro" or is_second:
        return  # only clears old answers, or is the second record of the same compaction
    state.compactions += 1
    state.last_compaction_call = state.calls


def _clip_input(value: JsonValue, record: Record) -> JsonValue:
    """Return the input as it is kept until its answer comes; that of a short, flat record is kept whole."""
    raw = record.raw
    if len(raw) >= _MAX_INPUT_CHARS:
        return _clip_value(value, _MAX_INPUT_DEPTH)
    if (
        isinstance(value, dict)
        and len(value) < _MAX_BRACKETS
        and {*map(type, value.values())} <= _SCALAR_TYPES
    ):
        return value  # true of most, and quicker than counting brackets
    is_small = raw.count(b"[") + raw.count(b"{") < _MAX_BRACKETS
    return value if is_small else _clip_value(value, _MAX_INPUT_DEPTH)


def _clip_value(value: JsonValue, depth: int) -> JsonValue:
    """Return a JSON value with long texts, long lists and deep nesting cut off."""
    match value:
        case str():
            return truncate(value, _MAX_INPUT_CHARS)
        case dict() | list() if depth == 0:
            return None
        case dict():
            parts = [*value.items()][:_MAX_INPUT_PARTS]
            return {key: _clip_value(inner, depth - 1) for key, inner in parts}
        case list():
            return [_clip_value(inner, depth - 1) for inner in value[:_MAX_INPUT_PARTS]]
        case _:
            return value


def _remember_id(state: State, record_id: str) -> None:
    """Remember the id of one more record of the current turn."""
    state.tail.append(record_id)
    if len(state.tail) > 2 * _TAIL_LENGTH:
        del state.tail[:-_TAIL_LENGTH]


def _find_previous_turn(state: State, parent_id: str | None) -> int:
    """Return the turn that a prompt after that record continues: the current one unless its tail says otherwise."""
    turn = None if parent_id is None else _find_turn(state, parent_id)
    return state.tip if turn is None else turn


def _close_turn(state: State) -> None:
    """End the current turn and keep its last ids with its prompt."""
    for number in range(len(state.prompts) - 1, -1, -1):
        prompt = state.prompts[number]
        if prompt.turn == state.tip:
            state.prompts[number] = prompt._replace(tail=tuple([*prompt.tail, *state.tail][-_TAIL_LENGTH:]))
            break
    state.tail = []


def _rewind(state: State, how_far: int | str | None, place: Place) -> None:
    """Go back by a number of turns, or to the newest turn below the record with that id."""
    if isinstance(how_far, int):
        active = [prompt for prompt in state.prompts if prompt.turn in _active_turns(state, state.tip)]
        if not active or how_far < 1:
            return
        _close_turn(state)
        state.tip = active[-min(how_far, len(active))].previous_turn
    else:
        turn = None if how_far is None else _find_turn(state, how_far)
        if turn is None or turn == state.tip or turn in _active_turns(state, state.tip):
            return
        _close_turn(state)
        state.tip = max(prompt.turn for prompt in state.prompts if turn in _active_turns(state, prompt.turn))
    _update_rewinds(state, place)


def _update_rewinds(state: State, place: Place) -> None:
    """Work out which line ranges up to this place are no longer part of the conversation."""
    active = _active_turns(state, state.tip)
    here = Ref(place.line_idx, place.start, place.end, "", "", place.transcript)
    ends = [*(prompt.ref for prompt in state.prompts[1:]), here]
    state.rewinds = [
        line_range
        for prompt, end in zip(state.prompts, ends, strict=True)
        if prompt.turn not in active
        for line_range in _line_ranges(prompt.ref, end)
    ]


def _line_ranges(first: Ref, end: Ref) -> Iterator[tuple[str, int, int]]:
    """Return the lines from one record up to another, which may be in the file that continues the first one."""
    if first.transcript == end.transcript:
        yield first.transcript, first.line_idx, end.line_idx
    else:
        yield first.transcript, first.line_idx, _END_OF_FILE
        yield end.transcript, 0, end.line_idx


def _find_turn(state: State, record_id: str) -> int | None:
    if record_id in state.tail:
        return state.tip
    return next((prompt.turn for prompt in reversed(state.prompts) if record_id in prompt.tail), None)


def _active_turns(state: State, turn: int) -> set[int]:
    """Return the turn and those before it on its branch; for a turn no longer known, the nearest earlier one."""
    previous = {prompt.turn: prompt.previous_turn for prompt in state.prompts}
    active: set[int] = set()
    while turn > 0:
        if turn in previous:
            active.add(turn)
            turn = previous[turn]
        else:
            turn = max((known for known in previous if known < turn), default=0)
    return active
