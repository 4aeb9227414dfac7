"""The words of a pause: what its lines mean to a person, and how bare lines get theirs from the transcript.

A bare line, as the fast path writes it, names a tool call by its id or a moment by its byte offset; what was said stands in
the transcript. Nothing is invented: a line whose words are not found stays bare. Texts are made clean before they are cut,
because half a credential is not recognised as one.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from leftoff.model.pause_action import PauseAction
from leftoff.model.records import Record, RecordKind, ToolResult, ToolUse
from leftoff.model.wire import JsonObject, JsonValue
from leftoff.pauses.summary import tool_of

SUMMARY_CHARS = 200
_LONGEST_CLEANED = 8000  # of a text whose beginning is wanted; no credential is that long
_LONGEST_MESSAGE = 4000
_LONGEST_VALUE = 400
_MOST_VALUES = 20
EXCLUDED = "left out, as capture.exclude_tools says"


@dataclass(slots=True)
class Told:
    """What the records of a wind-down say, by call id and by place: filled in one pass, long texts cut."""

    calls: dict[str, JsonObject] = field(default_factory=dict)
    prompts: list[tuple[int, str]] = field(default_factory=list)  # start, words
    replies: list[tuple[int, str, int]] = field(
        default_factory=list
    )  # start, beginning of the words, their length


def told_by(
    records: Iterable[Record],
    typed: Callable[[Record], str],
    clean: Callable[[JsonValue], JsonValue],
    *,
    exclude_tools: Collection[str],
) -> Told:
    """What the records say; ``typed`` gives the user's own words of a prompt, ``clean`` takes credentials out."""
    told = Told()
    for record in records:
        if record.actor is None and record.kind is RecordKind.PROMPT:
            words = str(clean(typed(record)))[:_LONGEST_MESSAGE]
            told.prompts.append((record.place.start, words))
        elif record.actor is None and record.kind is RecordKind.REPLY and record.text:
            told.replies.append((record.place.start, summary(record.text, clean), len(record.text)))
        for block in record.blocks:
            if isinstance(block, ToolUse):
                told.calls[block.call_id] = _asked(block, clean, exclude_tools)
            elif isinstance(block, ToolResult) and "result_summary" in told.calls.get(block.call_id, {}):
                told.calls[block.call_id]["result_summary"] = summary(block.text, clean)
    return told


def summary(text: str, clean: Callable[[JsonValue], JsonValue]) -> str:
    """The beginning of a text, without credentials."""
    return str(clean(text[:_LONGEST_CLEANED]))[:SUMMARY_CHARS]


def with_words(actions: Iterable[PauseAction], told: Told) -> list[PauseAction]:
    """The actions, the bare ones with what the transcript says of them. What a line has already is never replaced."""
    given = [*actions]
    worded = []
    for action, until in zip(given, _next_offsets(given), strict=True):
        found: JsonObject = {}
        offset = action.data.get("offset")
        if action.type == "tool_call":
            found = told.calls.get(str(action.data.get("call_id")), {})
        elif isinstance(offset, int) and action.type == "user_message":
            found = _message(offset, until, told)
        elif isinstance(offset, int) and action.type == "assistant_response":
            found = _response(offset, until, told)
        worded.append(replace(action, data=found | action.data) if found else action)
    return worded


def _asked(
    use: ToolUse, clean: Callable[[JsonValue], JsonValue], exclude_tools: Collection[str]
) -> JsonObject:
    if use.tool in exclude_tools:
        return {"tool": use.tool, "args": EXCLUDED}
    return {"tool": use.tool, "args": shortened(clean(use.input)), "result_summary": None}


def _next_offsets(actions: Sequence[PauseAction]) -> list[int | None]:
    """For each line how far the transcript was at the next one that says so; None behind the last."""
    following: int | None = None
    found: list[int | None] = []
    for action in reversed(actions):
        found.append(following)
        offset = action.data.get("offset")
        following = offset if isinstance(offset, int) else following
    return found[::-1]


def _message(offset: int, until: int | None, told: Told) -> JsonObject:
    """The prompt that was written between this event and the next; none where another hook had blocked it."""
    for start, words in told.prompts:
        if start >= offset and (until is None or start < until):
            return {"message": words}
    return {}


def _response(offset: int, until: int | None, told: Told) -> JsonObject:
    """The last words of the turn that the offset lies in, before the next event: the newest may come to disk late (L8)."""
    starts = [start for start, _ in told.prompts]
    turn = bisect_right(starts, offset - 1)
    begin = starts[turn - 1] if turn else 0
    ends = [end for end in (starts[turn] if turn < len(starts) else None, until) if end is not None]
    said = [reply for reply in told.replies if reply[0] >= begin and all(reply[0] < end for end in ends)]
    return {"summary": said[-1][1], "length": said[-1][2]} if said else {}


def shortened(value: JsonValue) -> JsonValue:
    """A tool's input small enough to be kept: long texts cut, deep structures as their text."""
    if isinstance(value, dict):
        kept = [*value.items()][:_MOST_VALUES]
        return {name: _cut(inner) for name, inner in kept}
    return _cut(value)


def _cut(value: JsonValue) -> JsonValue:
    text = value if isinstance(value, str) else None
    if isinstance(value, dict | list):
        text = json.dumps(value, ensure_ascii=False)
        if len(text) <= _LONGEST_VALUE:
            return value
    if text is None or len(text) <= _LONGEST_VALUE:
        return value
    return f"{text[:_LONGEST_VALUE]}… ({len(text):,} characters)"


def described(action: PauseAction) -> str:
    """One action in words, on one line; only what the line itself says."""
    data = action.data
    match action.type:
        case "tool_call":
            result = _text(data.get("result_summary"))
            return f"{tool_of(data)} {_given(data)}".strip() + (f" → {result}" if result else "")
        case "user_message":
            return _text(data.get("message")) or _text(data.get("summary")) or _no_words(data)
        case "assistant_response":
            return _text(data.get("summary")) or "(a reply)"
        case "pause_started":
            return "the pause began"
        case "pause_finalized":
            return "the pause was finalised" + (f": {data['reason']}" if data.get("reason") else "")
        case _:
            rest = {name: value for name, value in data.items() if name not in {"event", "offset", "process"}}
            return " ".join(filter(None, [_text(data.get("event")) or action.type, _listed(rest)]))


def _no_words(data: JsonObject) -> str:
    """A line of the fast path says where its words would stand."""
    return "(words not in the transcript)" if "offset" in data else "(a prompt)"


def _given(data: JsonObject) -> str:
    """What a tool was called with: the one value that tells most, else all of them."""
    bare = ("tool", "result_summary", "call_id", "offset", "actor")
    given = data.get("args") or {name: value for name, value in data.items() if name not in bare}
    if isinstance(given, dict):
        if len(given) == 1:
            return _text(next(iter(given.values())))
        return _listed(given)
    return _text(given)


def _listed(given: JsonObject) -> str:
    return ", ".join(f"{name}: {_text(value)}" for name, value in given.items())


def _text(value: JsonValue) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    flat = " ".join(text[: 2 * SUMMARY_CHARS].split())
    return flat if len(flat) <= SUMMARY_CHARS else flat[: SUMMARY_CHARS - 1] + "…"
