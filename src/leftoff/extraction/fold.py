"""Fold the records of a transcript into the state, each once and in order; any partition of the records gives the same state."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Protocol

from leftoff.core.actions import Action, Answer, FinishedJob
from leftoff.core.own_phrases import CONTINUE_PROJECT, HANDED_OVER, continued_project, only_saves
from leftoff.core.records import Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.core.session import restored_session
from leftoff.core.wire import JsonValue
from leftoff.extraction import rewinds, templates, tool_calls, user_rules
from leftoff.extraction.passages import GAP
from leftoff.extraction.state import (
    Passage,
    Pending,
    Prompt,
    Ref,
    State,
    copy_state,
    enforce_limits,
    enforce_passage_limits,
    make_ref,
    truncate,
)

_MAX_PROMPT_CHARS = 6_000
_MAX_TEXT_CHARS = 8_000
_MAX_SUMMARY_CHARS = 20_000
_MAX_INPUT_CHARS = 20_000
_MAX_INPUT_PARTS = 1_000  # of one list or object
_MAX_INPUT_DEPTH = 20
_SCALAR_TYPES = frozenset({str, int, float, bool, type(None)})
_MAX_BRACKETS = 100  # a record with fewer cannot be nested too deeply
# Compared for every record: a module constant is looked up in a third of the time that an enum member takes.
_SIDE, _REPLY, _RESULT = RecordKind.SIDE, RecordKind.REPLY, RecordKind.RESULT
_PROMPT, _COMPACTION, _BROKEN = RecordKind.PROMPT, RecordKind.COMPACTION, RecordKind.BROKEN
_CONTEXT = RecordKind.CONTEXT
_MAY_REPORT_JOBS = (RecordKind.PROMPT, RecordKind.CONTEXT, RecordKind.SIDE)
_HANDED_OVER = HANDED_OVER.encode()
# What clients have models put around a part of a reply; if more tags follow at once, it is data for the client.
_MARKUP = re.compile(r"<([a-z]+(?:[-_][a-z]+)+)>\s*(.*?)\s*</\1>", re.DOTALL)
_LIMIT_PASSAGES_EVERY = 256  # counting them takes longer
_LIMIT_EVERY = 8  # lines of the transcript, so that any partition of the records gives the same state


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

    def finished_jobs(self, record: Record) -> tuple[FinishedJob, ...]:
        """Return the background jobs whose end a record reports."""
        ...

    def assigned(self, record: Record) -> str | None:
        """Return what another agent asked of this one."""
        ...

    def queued(self, record: Record) -> str | None:
        """Return the prompt that waits while the agent works."""
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
    if state.jobs and record.kind in _MAY_REPORT_JOBS:
        _fold_finished_jobs(state, record, reader)
    _fold_content(state, record, reader)
    if record.actor is None:
        if record.kind is not _SIDE:
            _fold_project_and_branch(state, record)
        if record.id is not None:
            rewinds.remember_id(state, record.id)
    if record.place.line_idx % _LIMIT_EVERY == 0:
        enforce_limits(state)
        if record.place.line_idx % _LIMIT_PASSAGES_EVERY == 0:
            enforce_passage_limits(state)


def _fold_content(state: State, record: Record, reader: Reader) -> None:
    kind = record.kind
    if kind is _REPLY:
        _fold_reply(state, record)
    elif kind is _RESULT:
        _fold_results(state, record, reader)
    elif kind is _SIDE:
        _fold_queued(state, record, reader)
        how_far = reader.rewound(record)
        if how_far is not None:
            rewinds.rewind(state, how_far, record.place)
    elif kind is _PROMPT:
        _fold_results(state, record, reader)  # typed while a tool ran: its answer may be in the same record
        _fold_prompt(state, record, reader)
    elif kind is _COMPACTION:
        _fold_compaction(state, record)
    elif kind is _CONTEXT:
        _fold_context(state, record, reader)


def _fold_project_and_branch(state: State, record: Record) -> None:
    if record.cwd and not state.project:
        state.project, state.project_ref = record.cwd, make_ref(record, record.cwd)
    if record.branch and record.branch != state.branch:
        state.branch, state.branch_ref = record.branch, make_ref(record, record.branch)


def _fold_prompt(state: State, record: Record, reader: Reader) -> None:
    typed = reader.typed(record) if record.actor is None else ""
    if record.actor is None:
        _fold_restored(state, record)
    if typed.strip():
        _add_prompt(state, record, typed, by_agent=False)


def _add_prompt(state: State, record: Record, typed: str, *, by_agent: bool) -> None:
    _end_turn(state)
    previous_turn = rewinds.find_previous_turn(state, record.parent_id)
    has_rewound = previous_turn != state.tip
    rewinds.close_turn(state)
    ref = make_ref(record, typed)
    state.turns += 1
    state.tip = state.turns
    has_read = _has_read_last_reply(state, typed)
    state.queued = ""
    typed = typed if by_agent else templates.without_template(typed)
    project = continued_project(typed) or ""
    state.prompts.append(
        Prompt(
            ref,
            _clip_prompt(typed),
            state.turns,
            previous_turn,
            state.calls,
            project=project,
            by_agent=by_agent,
        )
    )
    if has_rewound:
        rewinds.update_rewinds(state, record.place)
    if not by_agent and not project and not only_saves(typed):
        user_rules.add_prompt(state, ref, typed, has_read_last_reply=has_read)


def _has_read_last_reply(state: State, typed: str) -> bool:
    """Return whether the agent's last text was there when the user typed this; not if it waited in the queue since before."""
    waited, reply = state.queued.strip(), state.last_reply
    if not waited or state.queued_ref is None or reply is None:
        return True
    return waited not in typed or state.queued_ref.line_idx > reply.ref.line_idx


def _clip_prompt(text: str) -> str:
    """Return a prompt as it is kept; one that is too long ends with a mark, because it is quoted as the user's words."""
    kept = truncate(text, _MAX_PROMPT_CHARS)
    return kept if len(kept) == len(text) else f"{kept} {GAP}"


def _fold_queued(state: State, record: Record, reader: Reader) -> None:
    waiting = reader.queued(record)
    if waiting is not None:
        state.queued = _clip_prompt(waiting)
        state.queued_ref = make_ref(record, waiting)


def _fold_context(state: State, record: Record, reader: Reader) -> None:
    if _HANDED_OVER in record.raw:
        _fold_continued_project(state)
    elif record.actor is None and (asked := reader.assigned(record)):
        _add_prompt(state, record, asked, by_agent=True)


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
    """Mark the agent's last text before the next prompt as the outcome of the turn."""
    for number in range(len(state.passages) - 1, -1, -1):
        last = state.passages[number]
        if last.kind in ("reply", "outcome"):
            if last.kind == "reply" and not state.pending and last.call == state.calls:
                state.passages[number] = last._replace(kind="outcome")
            return


def _fold_finished_jobs(state: State, record: Record, reader: Reader) -> None:
    for finished in reader.finished_jobs(record):
        job = state.jobs.pop(finished.job_id, None)
        if job is not None and finished.report:
            report = truncate(finished.report, _MAX_TEXT_CHARS)
            ref = make_ref(record, report)
            state.passages.append(Passage(ref, "report", report, job.command, state.turns, state.calls))


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
            if key in state.answered_early:
                continue
            state.pending[key] = Pending(ref, key, block.tool, _clip_input(block.input, record), state.turns)


def _drop_interrupted_calls(state: State) -> None:
    """Drop the calls of earlier turns: once the model replies again, they get no answer any more."""
    if state.pending and any(waiting.turn < state.turns for waiting in state.pending.values()):
        state.pending = {
            key: waiting for key, waiting in state.pending.items() if waiting.turn >= state.turns
        }


def _fold_text(state: State, ref: Ref, text: str) -> None:
    if "</" in text:
        text = _MARKUP.sub(lambda found: "" if found[2].startswith("<") else found[2], text)
    if text.strip():
        text = truncate(text.strip(), _MAX_TEXT_CHARS)
        state.passages.append(Passage(ref, "reply", text, "", state.turns, state.calls))


def _fold_results(state: State, record: Record, reader: Reader) -> None:
    for block in record.blocks:
        if not isinstance(block, ToolResult):
            continue
        key = f"{record.actor or ''}/{block.call_id}"
        asked = state.pending.pop(key, None)
        if asked is None and key not in state.answered_early:
            state.answered_early.append(key)
        if asked is None or not isinstance(asked.input, (dict, str)):
            continue
        use = ToolUse(call_id=block.call_id, tool=asked.tool, input=asked.input)
        call = tool_calls.Call(asked.ref, record, reader.actions(use), reader.answer(use, block))
        tool_calls.add_call(state, call)


def _fold_compaction(state: State, record: Record) -> None:
    compaction = record.compaction
    if compaction is None or compaction.trigger == "micro":
        return  # only clears old answers
    if compaction.summary:
        if state.last_reply is None:  # otherwise what it sums up is in the transcript, word for word
            summary = truncate(compaction.summary.strip(), _MAX_SUMMARY_CHARS)
            passage = Passage(make_ref(record, summary), "summary", summary, "", state.turns, state.calls)
            state.passages[:] = [passage]
        if state.last_compaction_call == state.calls:
            return  # the second record of the same compaction
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
