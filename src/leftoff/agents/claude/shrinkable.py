"""Finds the content of the live chain that could be cut, and changes it in a line.

Pieces are answers, inputs, replies and thinking, each with its digest; not what the client adds itself, what the user said, and
summaries of compactions. Where the chain begins with a compaction only the lines since are read, if nothing in them points to
earlier ones. In a changed line a string stays a string and a list a list, so an image becomes a block of text. What the client
keeps beside a result, for its own screen, is shortened with it. ``apply`` and ``rejoin`` change the line that they are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import orjson

from leftoff.agents.claude import chain
from leftoff.agents.claude import tools as claude_tools
from leftoff.agents.claude.records import read_record
from leftoff.agents.claude.user_text import chars, result_parts, without_reminders
from leftoff.agents.collector import (
    Collector,
    Content,
    input_content,
    lines_before,
    newest_time_before,
    occurs_before,
    readable_text,
    restored_texts,
    text_content,
    text_value,
)
from leftoff.agents.cut_values import cut_input, shorten_repetition, suppressed_note
from leftoff.agents.jsonl import Piece, last_line, pieces, size, table, text
from leftoff.core.metrics import AgentWindow, Occupancy
from leftoff.core.records import Place, Record, Text, ToolResult, ToolUse
from leftoff.core.session import LiveChain, Session
from leftoff.core.trim_plan import Change, Cut, CutPart, LivePieces, RestoredPiece
from leftoff.core.wire import JsonObject, JsonValue

_BOUNDARY = b'"compact_boundary"'
_LEAF = b'"last-prompt"'
_ASK_THE_USER = ("AskUserQuestion", "ExitPlanMode")
_REFUSAL_CHARS = 2000
_SIMPLE = "tool_result"  # a type of line whose call has no id but its line
# Types of blocks whose text is at a key of the same name.
_TEXT_PARTS: tuple[CutPart, ...] = ("text", "thinking")


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

    def new_collector() -> Collector:
        return Collector(
            at_least_chars=at_least_chars, head=head, tail=tail, chars=chars, opening_rank=chain.opens
        )

    transcript = Path(session.transcript)
    collector = new_collector()
    live = _since_compaction(transcript, collector)
    if live is None:
        collector = new_collector()
        live = chain.live_chain(_collect(pieces(transcript), collector))
    return collector.collected(live, occupancy, agent_window)


def _since_compaction(transcript: Path, collector: Collector) -> LiveChain | None:
    """Return the chain from the last compaction on; None without a compaction, or if earlier lines matter too."""
    start = last_line(transcript, _BOUNDARY, is_boundary)
    if start is None:
        return None
    before = Place(str(transcript), lines_before(transcript, start) - 1, 0, start)
    newest = ""

    def records() -> Iterator[Record]:
        nonlocal newest
        for record in _collect(pieces(transcript, before), collector):
            if record.at is not None and record.actor is None:
                newest = max(newest, record.at.isoformat(timespec="milliseconds"))
            yield record

    found = chain.live_chain_since(records())
    if found is None:
        return None
    live, is_named = found
    if not is_named and (
        occurs_before(transcript, start, _LEAF)
        or newest_time_before(transcript, start)[:19] > newest[:19]  # a clock was set back
    ):
        return None
    return live


def is_boundary(line: bytes) -> bool:
    """Say whether the line is where the main conversation was compacted."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:  # damaged: then the whole file is read
        return False
    return (
        isinstance(value, dict)
        and value.get("type") == "system"
        and value.get("subtype") == "compact_boundary"
        and value.get("isSidechain") is not True
    )


def _collect(found: Iterable[Piece], collector: Collector) -> Iterator[Record]:
    for piece in found:
        record = read_record(piece)
        line = piece.value
        if line is not None:
            collector.add(record, partial(_contents, line, record))
        yield record


def _contents(line: JsonObject, record: Record, tools: dict[str, str]) -> Iterator[Content]:
    """Yield the pieces of a line."""
    message = table(line, "message")
    content = message.get("content")
    if record.type == "tool_result":
        yield _answer(f"line-{record.place.line_idx + 1}", text(message, "tool_name") or "", content, None)
    elif record.type == "user" and line.get("isCompactSummary") is not True:
        for block in _blocks_of(content, "tool_result"):
            call_id = text(block, "tool_use_id") or ""
            answer = _answer(call_id, tools.get(call_id), block.get("content"), block.get("is_error"))
            if not _is_from_user(answer):
                yield answer
    elif record.type == "assistant":
        yield from _reply_texts(content)
        for block in _blocks_of(content, "tool_use"):
            call_id, tool, tool_input = text(block, "id") or "", text(block, "name") or "", block.get("input")
            use = ToolUse(
                call_id=call_id, tool=tool, input=tool_input if isinstance(tool_input, dict) else ""
            )
            yield input_content(call_id, tool, size(tool_input), tool_input, claude_tools.actions(use))


def _answer(call_id: str, tool: str | None, content: JsonValue, is_error: JsonValue) -> Content:
    parts = result_parts(content)
    return Content(
        part="result",
        call_id=call_id,
        tool=tool,
        chars=chars(parts),
        value=content,
        text=without_reminders(readable_text(parts)),
        is_error=is_error if isinstance(is_error, bool) else None,
    )


def _is_from_user(answer: Content) -> bool:
    """Say whether the user wrote the answer: a choice, an opinion on a plan, or why a call was refused."""
    if answer.tool in _ASK_THE_USER:
        return True
    use = ToolUse(call_id="", tool=answer.tool or "", input={})
    beginning = Text(text=answer.text[:_REFUSAL_CHARS])
    result = ToolResult(call_id="", parts=(beginning,), is_error=answer.is_error)
    return bool(answer.is_error) and claude_tools.answer(use, result).refused


def _reply_texts(content: JsonValue) -> Iterator[Content]:
    """Yield the text and the thinking of a reply; several blocks of a kind are one piece."""
    for part in _TEXT_PARTS:
        texts = _texts(content, part)
        if texts:
            yield text_content(part, texts, sum(map(len, texts)))


def value_of(line: JsonObject, part: CutPart, call_id: str | None) -> JsonValue:
    """Return the piece as JSON; None when the line has none."""
    if part in _TEXT_PARTS:
        return text_value(_texts(table(line, "message").get("content"), part))
    block = _find_block(line, part, call_id)
    return None if block is None else block.get("content" if part == "result" else "input")


def apply(line: JsonObject, change: Change) -> bool:
    """Make the change; False when the line has no such piece."""
    if change.part in _TEXT_PARTS:
        return _change_texts(line, change)
    block = _find_block(line, change.part, change.call_id)
    if block is None:
        return False
    key = "content" if change.part == "result" else "input"
    if isinstance(change, RestoredPiece):
        block[key] = change.value
    elif change.part == "result":
        is_list = isinstance(block.get(key), list)
        block[key] = [{"type": "text", "text": change.replacement}] if is_list else change.replacement
        if "toolUseResult" in line:
            line["toolUseResult"] = shorten_repetition(line["toolUseResult"], suppressed_note(change))
    else:
        block[key] = cut_input(block.get(key), change)
    return True


def rejoin(line: JsonObject, original: JsonObject) -> None:
    """Give a line back what it lost without a placeholder: its thinking, and what it repeats for the screen."""
    if "toolUseResult" in line and "toolUseResult" in original:
        line["toolUseResult"] = original["toolUseResult"]
    message, content = table(line, "message"), table(line, "message").get("content")
    original_content = table(original, "message").get("content")
    if not (isinstance(content, list) and isinstance(original_content, list)):
        return
    blocks = [block for block in content if not _is_thinking(block)]
    for index, block in enumerate(original_content):
        if _is_thinking(block):
            blocks.insert(index, block)
    message["content"] = blocks


def is_answer(line: JsonObject) -> bool:
    """Say whether the line answers a call."""
    return bool(_blocks_of(table(line, "message").get("content"), "tool_result"))


def is_empty(line: JsonObject) -> bool:
    """Say whether nothing is left of the line's message."""
    content = table(line, "message").get("content")
    return content is None or content == "" or content == []


def _find_block(line: JsonObject, part: CutPart, call_id: str | None) -> JsonObject | None:
    """Return the block that holds the piece; in a simple line, the message."""
    message = table(line, "message")
    if line.get("type") == _SIMPLE:
        return message if part == "result" and "content" in message else None
    kind, key = ("tool_result", "tool_use_id") if part == "result" else ("tool_use", "id")
    return next(
        (block for block in _blocks_of(message.get("content"), kind) if block.get(key) == call_id), None
    )


def _blocks_of(content: JsonValue, kind: str) -> list[JsonObject]:
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]


def _is_thinking(block: JsonValue) -> bool:
    return isinstance(block, dict) and block.get("type") == "thinking" and bool(text(block, "thinking"))


def _texts(content: JsonValue, part: CutPart) -> list[str]:
    """Return the texts of a message's blocks of that type; plain content is one text."""
    if isinstance(content, str):
        return [content] if part == "text" and content else []
    return [block_text for block in _blocks_of(content, part) if (block_text := text(block, part))]


def _change_texts(line: JsonObject, change: Change) -> bool:
    """Put the new texts where the first block of that type is, and remove the others."""
    message, part = table(line, "message"), change.part
    content = message.get("content")
    if not _texts(content, part):
        return False
    new = _new_texts(change)
    if not isinstance(content, list):
        message["content"] = "\n".join(new)
        return True
    blocks: list[JsonValue] = []
    for block in content:
        if isinstance(block, dict) and block.get("type") == part and text(block, part):
            blocks += [{**block, part: each} for each in new]
            new = []
        else:
            blocks.append(block)
    message["content"] = blocks
    return True


def _new_texts(change: Change) -> list[str]:
    if isinstance(change, Cut):
        return [change.replacement] if change.replacement else []
    return restored_texts(change)
