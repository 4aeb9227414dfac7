"""The fold itself: each record once, in order, into the state. Any partition of the records gives the same state."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Protocol

from leftoff.extract import calls, rules, statements, turns
from leftoff.extract.state import Pending, Prompt, Ref, State, Statement, begun, bounded, copied, ref_of
from leftoff.model.actions import Action, Answer
from leftoff.model.records import Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.model.wire import JsonValue

_MOST_PROMPT_CHARS = 4_000
_MOST_WORDS_CHARS = 3_000
_MOST_INPUT_CHARS = 20_000
_MOST_INPUT_PARTS = 1_000  # of one list or object
_DEEPEST_INPUT = 20
_FLAT = frozenset({str, int, float, bool, type(None)})
_MOST_FLAT = 100  # brackets of a record that cannot be nested too deeply to be written
# Asked for every record: a name of this module is found in a third of the time that a member of the enumeration takes.
_SIDE, _REPLY, _RESULT = RecordKind.SIDE, RecordKind.REPLY, RecordKind.RESULT
_PROMPT, _COMPACTION, _BROKEN = RecordKind.PROMPT, RecordKind.COMPACTION, RecordKind.BROKEN
_BOUNDED_EVERY = 8  # lines; by the line and not by the pass, so that any partition gives the same


class Reader(Protocol):
    """What the fold asks of an agent: see ``leftoff.model.protocols.Agent``."""

    def typed(self, record: Record) -> str:
        """What the user typed."""
        ...

    def actions(self, use: ToolUse) -> tuple[Action, ...]:
        """What a call does."""
        ...

    def answer(self, use: ToolUse, result: ToolResult) -> Answer:
        """What came back."""
        ...

    def rewound(self, record: Record) -> int | str | None:
        """How far a record takes the conversation back."""
        ...


def step(state: State, records: Iterable[Record], reader: Reader) -> State:
    """The state after these records too; the one given stays as it was."""
    own = copied(state)
    last, last_at = None, None
    for record in records:
        if record.kind is _BROKEN and not record.raw.endswith(b"\n"):
            continue  # still being written: it is read when it is whole
        _take(own, record, reader)
        last, last_at = record, record.at or last_at
        if last_at is not None and not own.started_at:
            own.started_at = last_at.isoformat()
    if last is not None:
        own.transcript, own.after = last.place.transcript, last.place
        own.after_sha256 = hashlib.sha256(last.raw).hexdigest()
    if last_at is not None:
        own.last_at = last_at.isoformat()
    return own


def _take(state: State, record: Record, reader: Reader) -> None:
    _take_words(state, record, reader)
    if record.actor is None:
        if record.kind is not _SIDE:
            _note_surroundings(state, record)
        if record.id is not None:
            turns.pass_by(state, record.id)
    if record.place.line_idx % _BOUNDED_EVERY == 0:
        bounded(state)


def _take_words(state: State, record: Record, reader: Reader) -> None:
    kind = record.kind
    if kind is _REPLY:
        _replied(state, record)
    elif kind is _RESULT:
        _answered(state, record, reader)
    elif kind is _SIDE:
        how_far = reader.rewound(record)
        if how_far is not None:
            turns.go_back(state, how_far, record.place)
    elif kind is _PROMPT:
        _answered(state, record, reader)  # typed while a tool ran: its answer may stand in the same record
        _prompted(state, record, reader)
    elif kind is _COMPACTION:
        _compacted(state, record)


def _note_surroundings(state: State, record: Record) -> None:
    if record.cwd and not state.project:
        state.project, state.project_ref = record.cwd, ref_of(record, record.cwd)
    if record.branch and record.branch != state.branch:
        state.branch, state.branch_ref = record.branch, ref_of(record, record.branch)


def _prompted(state: State, record: Record, reader: Reader) -> None:
    typed = reader.typed(record) if record.actor is None else ""
    if not typed.strip():
        return
    _end_turn(state)
    after = turns.turn_before(state, record.parent_id)
    has_gone_back = after != state.tip
    turns.leave(state)
    ref = ref_of(record, typed)
    state.turns += 1
    state.tip = state.turns
    state.casual_prompts += typed.lstrip()[:1].islower()
    state.prompts.append(Prompt(ref, begun(typed, _MOST_PROMPT_CHARS), state.turns, after, state.calls))
    if has_gone_back:
        turns.settle(state, record.place)
    rules.note_prompt(state, ref, typed)
    calls.glimpse_words(state, ref, typed, "Asked")


def _end_turn(state: State) -> None:
    """The agent's last words before the user speaks again are its own account of the turn."""
    said, state.last_words = state.last_words, None
    if said is not None and not state.pending and said.call == state.calls:
        state.statements.append(said._replace(kind="summary"))


def _replied(state: State, record: Record) -> None:
    if record.model is not None and record.model.startswith("<"):
        return  # the client wrote it in the model's name
    if record.actor is None:
        state.model = record.model or state.model
        _forget_interrupted(state)
    ref: Ref | None = None
    for block in record.blocks:
        if isinstance(block, Text) and record.actor is None and block.text.strip():
            spoken = ref.saying(block.text) if ref else ref_of(record, block.text)
            ref = ref or spoken
            _said(state, spoken, block.text)
        elif isinstance(block, ToolUse):
            ref = ref or ref_of(record, "")
            key = f"{record.actor or ''}/{block.call_id}"
            state.pending[key] = Pending(ref, key, block.tool, _waiting(block.input, record), state.turns)


def _forget_interrupted(state: State) -> None:
    """The model speaks again: what it asked for before the user's last prompt gets no answer any more."""
    if state.pending and any(waiting.turn < state.turns for waiting in state.pending.values()):
        state.pending = {
            key: waiting for key, waiting in state.pending.items() if waiting.turn >= state.turns
        }


def _said(state: State, ref: Ref, words: str) -> None:
    statements.note(state, ref, words)
    calls.glimpse_words(state, ref, words, "Said")
    state.last_words = Statement(ref, "words", begun(words, _MOST_WORDS_CHARS), "", state.turns, state.calls)


def _answered(state: State, record: Record, reader: Reader) -> None:
    for block in record.blocks:
        if not isinstance(block, ToolResult):
            continue
        asked = state.pending.pop(f"{record.actor or ''}/{block.call_id}", None)
        if asked is None or not isinstance(asked.input, (dict, str)):
            continue
        use = ToolUse(call_id=block.call_id, tool=asked.tool, input=asked.input)
        call = calls.Call(asked.ref, record, reader.actions(use), reader.answer(use, block))
        calls.note(state, call)


def _compacted(state: State, record: Record) -> None:
    compaction = record.compaction
    if compaction is None or compaction.trigger == "micro" or state.last_compaction_call == state.calls:
        return  # one that clears old answers only, or the second record of the same
    state.compactions += 1
    state.last_compaction_call = state.calls


def _waiting(value: JsonValue, record: Record) -> JsonValue:
    """The input as it waits for its answer; a short and flat record has nothing to cut."""
    raw = record.raw
    if len(raw) >= _MOST_INPUT_CHARS:
        return _clipped(value, _DEEPEST_INPUT)
    if isinstance(value, dict) and len(value) < _MOST_FLAT and {*map(type, value.values())} <= _FLAT:
        return value  # as most are; the count below takes longer
    is_small = raw.count(b"[") + raw.count(b"{") < _MOST_FLAT
    return value if is_small else _clipped(value, _DEEPEST_INPUT)


def _clipped(value: JsonValue, depth: int) -> JsonValue:
    """The input cut to what can wait in the state: every text, every list, and how deep it goes."""
    match value:
        case str():
            return begun(value, _MOST_INPUT_CHARS)
        case dict() | list() if depth == 0:
            return None
        case dict():
            parts = [*value.items()][:_MOST_INPUT_PARTS]
            return {key: _clipped(inner, depth - 1) for key, inner in parts}
        case list():
            return [_clipped(inner, depth - 1) for inner in value[:_MOST_INPUT_PARTS]]
        case _:
            return value
