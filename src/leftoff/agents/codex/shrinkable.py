"""Finds the content of the live chain that could be cut, changes it in a line, and finds content that earlier cuts removed.

Pieces are answers, inputs and replies, each with its digest. Not among them are what the API did itself, a replaced history, and
thinking, which is encrypted and belongs to the item after it. Where a compaction replaced the history only the lines since are read.

A changed answer keeps its form: text stays text, a list of parts a list, the object of 2025 an object. Arguments are JSON in a
string and stay that. Events repeat items for the screen and are shortened with them. They have no placeholder that could be
expanded, so they are matched with the events of earlier sessions: by time, type and call id, which copies and forks keep, and
where several are alike by their order. ``apply``, ``shorten_repeated`` and ``rejoin`` change the line that they are given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import orjson

from leftoff.agents.codex import chain, items, rollouts
from leftoff.agents.codex import tools as codex_tools
from leftoff.agents.codex.records import read_record
from leftoff.agents.codex.versions import known, version
from leftoff.agents.collector import (
    Collector,
    Content,
    input_content,
    lines_before,
    readable_text,
    restored_texts,
    text_content,
    text_value,
)
from leftoff.agents.copy_writer import to_json
from leftoff.agents.cut_values import cut_input, shorten_repetition, suppressed_note
from leftoff.agents.jsonl import last_line, pieces, rows, size, table, text
from leftoff.core.metrics import AgentWindow, Occupancy
from leftoff.core.records import Block, Message, Place, Record, ToolResult, ToolUse
from leftoff.core.session import Session
from leftoff.core.trim_plan import (
    Change,
    Cut,
    CutPart,
    LivePieces,
    RemovedContent,
    RestoredPart,
    RestoredPiece,
)
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import TranscriptError

_COMPACTED = b'"compacted"'
_INPUTS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
# Where events repeat a tool's input, its answer, and the model's reply.
_REPEATED_INPUTS = ("command", "parsed_cmd", "changes", "arguments", "invocation", "input")
_REPEATED_ANSWERS = (
    "aggregated_output",
    "formatted_output",
    "stdout",
    "stderr",
    "output",
    "result",
    "content_items",
)
_REPEATED_REPLIES = ("message", "last_agent_message", "content")
_EVENT = b'"event_msg"'
_EventKey = tuple[str | int | None, ...]


def live_pieces(
    session: Session,
    occupancy: Occupancy,
    agent_window: AgentWindow,
    *,
    at_least_chars: int,
    head: int,
    tail: int,
) -> LivePieces:
    """Return the pieces of the live chain that are large enough."""
    collector = Collector(
        at_least_chars=at_least_chars,
        head=head,
        tail=tail,
        chars=_chars,
        opening_rank=chain.opens,
        usage_first=version(session.client_version or "") <= known().usage_before_reply_until,
    )
    live = chain.live_chain(_collect(_live_records(session), collector))
    return collector.collected(live, occupancy, agent_window)


def _live_records(session: Session) -> Iterable[Record]:
    """Return the records from the last compaction that replaced the history on; without one, all of them."""
    transcript = Path(session.transcript)
    if transcript.suffix == ".zst":  # it cannot be read from its end
        return session.records
    start = last_line(transcript, _COMPACTED, _is_compaction)
    if start is None or not _replaces(transcript, start):
        return session.records
    before = Place(str(transcript), lines_before(transcript, start) - 1, 0, start)
    return map(read_record, pieces(transcript, before))


def _is_compaction(line: bytes) -> bool:
    return _parse(line).get("type") == "compacted"


def _replaces(transcript: Path, start: int) -> bool:
    """Say whether the compaction at that position has a replacement history; the oldest have none."""
    with transcript.open("rb") as file:
        file.seek(start)
        payload = table(_parse(file.readline()), "payload")
    return isinstance(payload.get("replacement_history"), list)


def _parse(line: bytes) -> JsonObject:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _collect(records: Iterable[Record], collector: Collector) -> Iterator[Record]:
    for record in records:
        collector.add(record, partial(_contents, record))
        yield record


def _contents(record: Record, tools: dict[str, str]) -> Iterator[Content]:
    """Yield the piece of a record, if it has one."""
    name = record.type.removeprefix("response_item/")
    if not (name in _INPUTS or name in _OUTPUTS or name == "message") or record.messages[0].role == "system":
        return
    item = item_of(_parse(record.raw))
    block = record.blocks[0]
    if isinstance(block, ToolUse):
        content = input_content(
            block.call_id, block.tool, size(block.input), block.input, codex_tools.actions(block)
        )
        yield content._replace(value=item.get(_INPUTS[name]))
    elif isinstance(block, ToolResult):
        yield Content(
            part="result",
            call_id=block.call_id,
            tool=tools.get(block.call_id),
            chars=_chars((block,)),
            value=item.get("output"),
            text=readable_text(block.parts),
            is_error=block.is_error,
        )
    elif record.messages[0].role == "assistant" and (texts := _texts(item)):
        yield text_content("text", texts, _chars(record.blocks))


def _chars(blocks: tuple[Block, ...]) -> int:
    return items.chars(Message(role="user", blocks=blocks))


def value_of(line: JsonObject, part: CutPart, call_id: str | None) -> JsonValue:
    """Return the piece as JSON; None when the line has none."""
    item = item_of(line)
    name = text(item, "type")
    if part == "text":
        return text_value(_texts(item)) if name == "message" else None
    if part == "thinking":
        return item.get("summary") if name == "reasoning" else None
    key = _key(item, part, call_id)
    return item.get(key) if key else None


def apply(line: JsonObject, change: Change) -> bool:
    """Make the change; False when the line has no such piece."""
    item = item_of(line)
    if change.part == "text":
        return _change_texts(item, change)
    key = _key(item, change.part, change.call_id)
    if key is None:
        return change.part == "thinking" and text(item, "type") == "reasoning"
    if isinstance(change, RestoredPiece):
        item[key] = change.value
    elif change.part == "result":
        item[key] = _answer_like(item.get(key), change.replacement)
    else:
        item[key] = _cut_input(item.get(key), change, is_json=key == "arguments")
    return True


def shorten_repeated(line: JsonObject, cut: Cut) -> None:
    """Shorten an event that repeats a cut call for the screen."""
    event = _screen_item(line)
    for key in _REPEATED_ANSWERS if cut.part == "result" else _REPEATED_INPUTS:
        if key in event:
            event[key] = shorten_repetition(event[key], suppressed_note(cut))


def repeated(line: JsonObject) -> JsonObject:
    """Return what an event repeats of calls and replies, by key; nothing for other lines."""
    event = _screen_item(line) if line.get("type") == "event_msg" else {}
    return {
        key: event[key] for key in (*_REPEATED_INPUTS, *_REPEATED_ANSWERS, *_REPEATED_REPLIES) if key in event
    }


def rejoin(line: JsonObject, original: JsonObject) -> None:
    """Give an event back what it repeated before cuts shortened it."""
    _screen_item(line).update(repeated(original))


def item_of(line: JsonObject) -> JsonObject:
    """Return the item of a line; until August 2025 the line itself was the item."""
    payload = line.get("payload")
    return payload if isinstance(payload, dict) else line


def _screen_item(line: JsonObject) -> JsonObject:
    event = table(line, "payload")
    return table(event, "item") or event


def _key(item: JsonObject, part: CutPart, call_id: str | None) -> str | None:
    name = text(item, "type") or ""
    if call_id is None or (text(item, "call_id") or text(item, "id")) != call_id:
        return None
    if part == "result":
        return "output" if name in _OUTPUTS else None
    return _INPUTS.get(name) if part == "input" else None


def _answer_like(output: JsonValue, content: str) -> JsonValue:
    """Return an answer with that content, in the form of ``output``."""
    parts: list[JsonValue] = [{"type": "input_text", "text": content}]
    if isinstance(output, list):
        return parts
    if isinstance(output, dict):
        items: JsonObject = {"content_items": parts} if "content_items" in output else {}
        return {**output, "content": content, **items}
    return content


def _cut_input(tool_input: JsonValue, cut: Cut, *, is_json: bool) -> JsonValue:
    if not (is_json and isinstance(tool_input, str)):
        return cut_input(tool_input, cut)
    try:
        value = orjson.loads(tool_input)
    except orjson.JSONDecodeError:
        return cut.replacement
    return to_json(cut_input(value, cut)).decode("utf-8", "surrogateescape")


def _texts(item: JsonObject) -> list[str]:
    parts = [part for part in rows(item, "content") if isinstance(part, dict)]
    return [part_text for part in parts if (part_text := text(part, "text"))]


def _change_texts(item: JsonObject, change: Change) -> bool:
    """Put the new texts where the first part with text is, and remove the others."""
    if text(item, "type") != "message" or not _texts(item):
        return False
    new = [change.replacement] if isinstance(change, Cut) else restored_texts(change)
    content: list[JsonValue] = []
    for part in rows(item, "content"):
        if isinstance(part, dict) and text(part, "text"):
            content += [{**part, "text": each} for each in new]
            new = []
        else:
            content.append(part)
    item["content"] = content
    return True


class _Event(NamedTuple):
    """An event that repeats something, and the size of that."""

    place: Place
    raw: bytes
    repeated_bytes: int


def removed_content(home: Path, session: Session, ancestors: Sequence[Path]) -> RemovedContent:
    """Find what events of the ancestors, oldest first, still show and those of the session show no longer."""
    if not ancestors:
        return RemovedContent()
    present = dict(_events(Path(session.transcript), home))
    restored: dict[_EventKey, RestoredPart] = {}
    for path in ancestors:
        with suppress(TranscriptError):  # one that cannot be read must not hide the others
            for key, original in _events(path, home):
                event = present.get(key)
                is_shortened = event is not None and event.repeated_bytes < original.repeated_bytes
                if event is not None and is_shortened and key not in restored:
                    restored[key] = RestoredPart(place=event.place, raw=original.raw)
    return RemovedContent(parts=tuple(restored.values()))


def _events(transcript: Path, home: Path) -> Iterator[tuple[_EventKey, _Event]]:
    """Yield the events that repeat something, each with a key that copies and forks keep."""
    alike: Counter[_EventKey] = Counter()
    for piece in rollouts.oldest_first(rollouts.lineage(transcript, home)):
        if piece.value is None or _EVENT not in piece.raw:
            continue
        shown = repeated(piece.value)
        if shown:
            event = table(piece.value, "payload")
            item = table(event, "item")
            key = (
                text(piece.value, "timestamp"),
                text(event, "type"),
                text(item, "type"),
                text(event, "call_id") or text(item, "id"),
            )
            alike[key] += 1
            yield (*key, alike[key]), _Event(piece.place, piece.raw, len(to_json(shown)))
