"""The content of a transcript's live chain that could be cut: answers, inputs, replies and thoughts, each with its digest.

What the client adds itself, what the user said, and summaries of compactions are no pieces. Where a compaction begins the chain,
only the lines since are read; they are the whole truth where nothing in them points to what stands before, and else the
whole file is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from leftoff.agents import collecting
from leftoff.agents.claude import actions, chain
from leftoff.agents.claude.blocks import chars, result_parts
from leftoff.agents.claude.queued import record_of
from leftoff.agents.collecting import Collector, Content
from leftoff.agents.fields import rows, size, table, text
from leftoff.agents.jsonl import Piece, pieces
from leftoff.model.copying import LivePieces
from leftoff.model.occupancy import Occupancy
from leftoff.model.records import Place, Record, Text, ToolResult, ToolUse
from leftoff.model.session import LiveChain, Session
from leftoff.model.trim_plan import CutPart
from leftoff.model.wire import JsonObject, JsonValue

_BOUNDARY = b'"compact_boundary"'
_LEAF = b'"last-prompt"'
_ASK_THE_USER = ("AskUserQuestion", "ExitPlanMode")
_REFUSAL_CHARS = 2000


def live_pieces(
    session: Session, occupancy: Occupancy, *, at_least_chars: int, head: int, tail: int
) -> LivePieces:
    """The pieces of the live chain that are large enough."""

    def collector() -> Collector:
        return Collector(at_least_chars=at_least_chars, head=head, tail=tail, chars=chars, opens=chain.opens)

    transcript = Path(session.transcript)
    found = collector()
    live = _since_compaction(transcript, found)
    if live is None:
        found = collector()
        live = chain.live_chain(_seen(transcript, pieces(transcript), found))
    return found.collected(live, occupancy)


def _since_compaction(transcript: Path, collector: Collector) -> LiveChain | None:
    """The chain from the last compaction on; None where there is none, or where that is not the whole truth."""
    start = collecting.last_line(transcript, _BOUNDARY, _is_boundary)
    if start is None:
        return None
    before = Place(str(transcript), collecting.lines_before(transcript, start) - 1, 0, start)
    newest = ""

    def tapped() -> Iterator[Record]:
        nonlocal newest
        for record in _seen(transcript, pieces(transcript, before), collector):
            if record.at is not None and record.actor is None:
                newest = max(newest, record.at.isoformat(timespec="milliseconds"))
            yield record

    found = chain.live_chain_since(tapped())
    if found is None:
        return None
    live, is_named = found
    if not is_named and (
        collecting.stands_before(transcript, start, _LEAF)
        or collecting.newest_time_before(transcript, start)[:19] > newest[:19]  # a clock was set back
    ):
        return None
    return live


def _is_boundary(line: bytes) -> bool:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:  # torn or glued: the whole file is read then
        return False
    return (
        isinstance(value, dict)
        and value.get("type") == "system"
        and value.get("subtype") == "compact_boundary"
        and value.get("isSidechain") is not True
    )


def _seen(transcript: Path, found: Iterable[Piece], collector: Collector) -> Iterator[Record]:
    for piece in found:
        record = record_of(transcript, piece)
        line = piece.value
        if line is not None:
            collector.see(record, lambda tools, line=line, record=record: _contents(line, record, tools))  # type: ignore[misc]
        yield record


def _contents(line: JsonObject, record: Record, tools: dict[str, str]) -> Iterator[Content]:
    """The pieces of a line."""
    message = table(line, "message")
    content = message.get("content")
    if record.type == "tool_result":  # the simple line of 002
        yield _answer(f"line-{record.place.line_idx + 1}", text(message, "tool_name") or "", content, None)
    elif record.type == "user" and line.get("isCompactSummary") is not True:
        for block in _blocks_of(content, "tool_result"):
            call_id = text(block, "tool_use_id") or ""
            found = _answer(call_id, tools.get(call_id), block.get("content"), block.get("is_error"))
            if not _is_users(found):
                yield found
    elif record.type == "assistant":
        yield from _said(content)
        for block in _blocks_of(content, "tool_use"):
            given = block.get("input")
            yield Content(
                part="input",
                call_id=text(block, "id") or "",
                tool=text(block, "name"),
                chars=size(given),
                value=given,
                words=collecting.longest(given),
            )


def _answer(call_id: str, tool: str | None, content: JsonValue, failed: JsonValue) -> Content:
    parts = result_parts(content)
    return Content(
        part="result",
        call_id=call_id,
        tool=tool,
        chars=chars(parts),
        value=content,
        words=collecting.words_of(parts),
        is_error=failed if isinstance(failed, bool) else None,
    )


def _is_users(found: Content) -> bool:
    """Whether an answer holds the user's own words: a choice, a word on a plan, or why a call was refused."""
    if found.tool in _ASK_THE_USER:
        return True
    use = ToolUse(call_id="", tool=found.tool or "", input={})
    result = ToolResult(call_id="", parts=(Text(text=found.words[:_REFUSAL_CHARS]),), is_error=found.is_error)
    return bool(found.is_error) and actions.answer(use, result).refused


def _said(content: JsonValue) -> Iterator[Content]:
    """The words and the thoughts of a reply; of several blocks, all together."""
    words = [content] if isinstance(content, str) else _texts(content, "text", "text")
    if words:
        yield _own("text", words)
    thoughts = _texts(content, "thinking", "thinking")
    if thoughts:
        yield _own("thinking", thoughts)


def _own(part: CutPart, texts: list[str]) -> Content:
    return Content(
        part=part,
        call_id=None,
        tool=None,
        chars=sum(map(len, texts)),
        value=texts[0] if len(texts) == 1 else [*texts],
        words="\n".join(texts),
    )


def _texts(content: JsonValue, kind: str, key: str) -> list[str]:
    return [words for block in _blocks_of(content, kind) if (words := text(block, key))]


def _blocks_of(content: JsonValue, kind: str) -> Iterator[JsonObject]:
    return (
        block for block in rows({"": content}, "") if isinstance(block, dict) and block.get("type") == kind
    )
