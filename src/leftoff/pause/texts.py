"""A pause in text and numbers: its actions described, texts from the transcript added, and its summary. Pure.

The fast hook's lines name a tool call by its id and other moments by their byte offset; their texts are in the transcript.
A line whose text is not found stays as it is. Credentials are removed before a text is cut, because half of one is not
recognized.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from leftoff.core.records import Record, RecordKind, ToolResult, ToolUse
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.pause.journal import PauseAction, Recording
from leftoff.platform import clock
from leftoff.workspace import EXCLUDED

SUMMARY_CHARS = 200
_LONGEST_CLEANED = (
    8000  # characters searched for credentials if only the beginning is kept; no credential is that long
)
_LONGEST_MESSAGE = 4000
_LONGEST_VALUE = 400
_MOST_VALUES = 20
_BARS = "▁▂▃▄▅▆▇█"
NO_TOOL = "unknown"


@dataclass(slots=True)
class TranscriptTexts:
    """The texts of a transcript, shortened: tool calls by id, prompts and replies by byte offset."""

    calls: dict[str, JsonObject] = field(default_factory=dict)
    prompts: list[tuple[int, str]] = field(default_factory=list)  # offset, text
    replies: list[tuple[int, str, int]] = field(default_factory=list)  # offset, beginning, length


def collect_texts(
    records: Iterable[Record],
    typed: Callable[[Record], str],
    clean: Callable[[JsonValue], JsonValue],
    *,
    exclude_tools: Collection[str],
) -> TranscriptTexts:
    """Collect the texts of ``records``; ``typed`` returns what the user typed in a prompt, ``clean`` removes credentials."""
    texts = TranscriptTexts()
    for record in records:
        if record.actor is None and record.kind is RecordKind.PROMPT:
            texts.prompts.append((record.place.start, str(clean(typed(record)))[:_LONGEST_MESSAGE]))
        elif record.actor is None and record.kind is RecordKind.REPLY and record.text:
            texts.replies.append((record.place.start, excerpt(record.text, clean), len(record.text)))
        for block in record.blocks:
            if isinstance(block, ToolUse):
                texts.calls[block.call_id] = _call_data(block, clean, exclude_tools)
            elif isinstance(block, ToolResult) and "result_summary" in texts.calls.get(block.call_id, {}):
                texts.calls[block.call_id]["result_summary"] = excerpt(block.text, clean)
    return texts


def excerpt(text: str, clean: Callable[[JsonValue], JsonValue]) -> str:
    """Return the beginning of a text, without credentials."""
    return str(clean(text[:_LONGEST_CLEANED]))[:SUMMARY_CHARS]


def add_texts(actions: Iterable[PauseAction], texts: TranscriptTexts) -> list[PauseAction]:
    """Return the actions with their texts from the transcript. What a line has already is never replaced."""
    actions = [*actions]
    completed = []
    for action, until in zip(actions, _next_offsets(actions), strict=True):
        found: JsonObject = {}
        offset = action.data.get("offset")
        if action.type == "tool_call":
            found = texts.calls.get(str(action.data.get("call_id")), {})
        elif isinstance(offset, int) and action.type == "user_message":
            found = _prompt_data(offset, until, texts)
        elif isinstance(offset, int) and action.type == "assistant_response":
            found = _reply_data(offset, until, texts)
        completed.append(replace(action, data=found | action.data) if found else action)
    return completed


def _call_data(
    use: ToolUse, clean: Callable[[JsonValue], JsonValue], exclude_tools: Collection[str]
) -> JsonObject:
    if use.tool in exclude_tools:
        return {"tool": use.tool, "args": EXCLUDED}
    return {"tool": use.tool, "args": shorten(clean(use.input)), "result_summary": None}


def _next_offsets(actions: Sequence[PauseAction]) -> list[int | None]:
    """Return for each action the offset of the next one that has any; None after the last."""
    following: int | None = None
    offsets: list[int | None] = []
    for action in reversed(actions):
        offsets.append(following)
        offset = action.data.get("offset")
        following = offset if isinstance(offset, int) else following
    return offsets[::-1]


def _prompt_data(offset: int, until: int | None, texts: TranscriptTexts) -> JsonObject:
    """Return the prompt written between this event and the next; empty if another hook blocked it."""
    for start, text in texts.prompts:
        if start >= offset and (until is None or start < until):
            return {"message": text}
    return {}


def _reply_data(offset: int, until: int | None, texts: TranscriptTexts) -> JsonObject:
    """Return the last reply of the turn at ``offset``, before the next event; clients may write the reply late."""
    starts = [start for start, _ in texts.prompts]
    turn = bisect_right(starts, offset - 1)
    begin = starts[turn - 1] if turn else 0
    ends = [end for end in (starts[turn] if turn < len(starts) else None, until) if end is not None]
    replies = [reply for reply in texts.replies if reply[0] >= begin and all(reply[0] < end for end in ends)]
    return {"summary": replies[-1][1], "length": replies[-1][2]} if replies else {}


def shorten(value: JsonValue) -> JsonValue:
    """Return a tool's input in a size worth keeping: long texts cut, large structures as their JSON text, cut too."""
    if isinstance(value, dict):
        return {name: _cut(inner) for name, inner in [*value.items()][:_MOST_VALUES]}
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


def describe_action(action: PauseAction) -> str:
    """Describe an action on one line, using nothing but its own data."""
    data = action.data
    match action.type:
        case "tool_call":
            result = _text(data.get("result_summary"))
            return f"{tool_name(data)} {_input_text(data)}".strip() + (f" → {result}" if result else "")
        case "user_message":
            missing = "(words not in the transcript)" if "offset" in data else "(a prompt)"
            return _text(data.get("message")) or _text(data.get("summary")) or missing
        case "assistant_response":
            return _text(data.get("summary")) or "(a reply)"
        case "pause_started":
            return "the pause began"
        case "pause_finalized":
            return "the pause was finalised" + (f": {data['reason']}" if data.get("reason") else "")
        case _:
            rest = {name: value for name, value in data.items() if name not in {"event", "offset", "process"}}
            return " ".join(filter(None, [_text(data.get("event")) or action.type, _join_values(rest)]))


def _input_text(data: JsonObject) -> str:
    """Return a tool's input: its only value, else all values with their names."""
    known = ("tool", "result_summary", "call_id", "offset", "actor")
    args = data.get("args") or {name: value for name, value in data.items() if name not in known}
    if isinstance(args, dict):
        return _text(next(iter(args.values()))) if len(args) == 1 else _join_values(args)
    return _text(args)


def _join_values(values: JsonObject) -> str:
    return ", ".join(f"{name}: {_text(value)}" for name, value in values.items())


def _text(value: JsonValue) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    flat = " ".join(text[: 2 * SUMMARY_CHARS].split())
    return flat if len(flat) <= SUMMARY_CHARS else flat[: SUMMARY_CHARS - 1] + "…"


class PauseSummary(NamedTuple):
    """A pause in numbers. ``context_range`` (first, last) and ``last_action_type`` are None if no line can be read."""

    session_id: str
    action_count: int
    duration_seconds: int
    context_range: tuple[float, float] | None
    pause_started_at: str
    last_action_type: str | None
    last_updated: str
    kinds: Mapping[str, int]
    tools: Mapping[str, int]
    bad_lines: int
    fractions: tuple[float, ...]

    @property
    def tool_calls(self) -> int:
        """The number of tool calls."""
        return self.kinds.get("tool_call", 0)

    def to_dict(self) -> JsonObject:
        """Return the form that scripts rely on."""
        return {
            "session_id": self.session_id,
            "action_count": self.action_count,
            "duration_seconds": self.duration_seconds,
            "context_range": None if self.context_range is None else [*self.context_range],
            "pause_started_at": self.pause_started_at,
            "last_action_type": self.last_action_type,
            "last_updated": self.last_updated,
            "tool_calls": self.tool_calls,
            "bad_lines": self.bad_lines,
            "context_history": [*self.fractions],
        }


def summarize(recorded: Recording, until: datetime) -> PauseSummary:
    """Summarize a pause that lasted until ``until``. The duration is never negative, even if the clock was set back."""
    actions = recorded.actions
    begun, last = first_and_last_time(recorded)
    fractions = tuple(action.context_percentage for action in actions)
    return PauseSummary(
        session_id=recorded.session_id,
        action_count=len(actions),
        duration_seconds=max(0, int((until - begun).total_seconds())),
        context_range=(fractions[0], fractions[-1]) if fractions else None,
        pause_started_at=clock.format_rfc3339(begun),
        last_action_type=actions[-1].type if actions else None,
        last_updated=clock.format_rfc3339(last),
        kinds=Counter(action.type for action in actions),
        tools=Counter(tool_name(action.data) for action in actions if action.type == "tool_call"),
        bad_lines=recorded.bad_lines,
        fractions=fractions,
    )


def first_and_last_time(recorded: Recording) -> tuple[datetime, datetime]:
    """Return when the first and the last action happened; the file's time if no line says."""
    actions = recorded.actions
    first, last = (
        next(filter(None, (clock.parse_rfc3339(action.timestamp) for action in order)), recorded.modified_at)
        for order in (actions, reversed(actions))
    )
    return first, last


def tool_name(data: JsonObject) -> str:
    """Return the tool that a call names."""
    tool = data.get("tool")
    return tool if isinstance(tool, str) and tool else NO_TOOL


def sparkline(fractions: Sequence[float], width: int) -> str:
    """Draw ``▁▂▃▅▇``, from the lowest value to a full window. Surplus values are thinned out; the last one stays."""
    if not fractions:
        return ""
    shown = [fractions[len(fractions) * (column + 1) // width - 1] for column in range(width)]
    shown = shown if len(fractions) > width else [*fractions]
    low = min(shown)
    span = max(1.0, *shown) - low
    return "".join(_BARS[0 if span <= 0 else int((each - low) / span * (len(_BARS) - 1))] for each in shown)
