"""The content of a rollout's live chain that could be cut: answers, inputs and replies, each with its digest.

Events that repeat an item for the screen are no pieces: who cuts the item cuts them too. No pieces either are what the API did
itself, what a compaction put in the place of the history, and thoughts, which are encrypted and go with the item behind them.
A history that was replaced is the whole truth of what came before, so only the lines since are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from leftoff.agents import collecting
from leftoff.agents.codex import chain, items
from leftoff.agents.codex.reading import record
from leftoff.agents.collecting import Collector, Content
from leftoff.agents.fields import rows, size, table, text
from leftoff.agents.jsonl import pieces
from leftoff.model.copying import LivePieces
from leftoff.model.occupancy import Occupancy
from leftoff.model.records import Block, Message, Place, Record, ToolResult, ToolUse
from leftoff.model.session import Session
from leftoff.model.wire import JsonObject, JsonValue

_COMPACTED = b'"compacted"'
_INPUTS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")


def live_pieces(
    session: Session, occupancy: Occupancy, *, at_least_chars: int, head: int, tail: int
) -> LivePieces:
    """The pieces of the live chain that are large enough."""
    collector = Collector(
        at_least_chars=at_least_chars, head=head, tail=tail, chars=_chars, opens=chain.opens
    )
    live = chain.live_chain(_seen(_records(session), collector))
    return collector.collected(live, occupancy)


def _records(session: Session) -> Iterable[Record]:
    """From the last compaction that replaced the history on; all of them where there is none."""
    transcript = Path(session.transcript)
    if transcript.suffix == ".zst":  # it cannot be read from its end
        return session.records
    start = collecting.last_line(transcript, _COMPACTED, _is_compaction)
    if start is None or not _replaces(transcript, start):
        return session.records
    before = Place(str(transcript), collecting.lines_before(transcript, start) - 1, 0, start)
    return map(record, pieces(transcript, before))


def _is_compaction(line: bytes) -> bool:
    value = _value(line)
    return value.get("type") == "compacted"


def _replaces(transcript: Path, start: int) -> bool:
    """Whether the compaction there brought a history of its own; the oldest did not."""
    with transcript.open("rb") as file:
        file.seek(start)
        payload = table(_value(file.readline()), "payload")
    return isinstance(payload.get("replacement_history"), list)


def _value(line: bytes) -> JsonObject:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _seen(records: Iterable[Record], collector: Collector) -> Iterator[Record]:
    for found in records:
        collector.see(found, lambda tools, found=found: _contents(found, tools))  # type: ignore[misc]
        yield found


def _contents(found: Record, tools: dict[str, str]) -> Iterator[Content]:
    """The piece of a line, where it holds one."""
    name = found.type.removeprefix("response_item/")
    if not (name in _INPUTS or name in _OUTPUTS or name == "message") or found.messages[0].role == "system":
        return
    line = _value(found.raw)
    payload = line.get("payload")
    item = payload if isinstance(payload, dict) else line
    block = found.blocks[0]
    if isinstance(block, ToolUse):
        yield _input(block, item.get(_INPUTS[name]))
    elif isinstance(block, ToolResult):
        yield _answer(block, item.get("output"), tools)
    elif found.messages[0].role == "assistant":
        yield from _said(found.messages[0], item)


def _input(use: ToolUse, value: JsonValue) -> Content:
    return Content(
        part="input",
        call_id=use.call_id,
        tool=use.tool,
        chars=size(use.input),
        value=value,
        words=collecting.longest(use.input),
    )


def _answer(result: ToolResult, value: JsonValue, tools: dict[str, str]) -> Content:
    return Content(
        part="result",
        call_id=result.call_id,
        tool=tools.get(result.call_id),
        chars=_chars((result,)),
        value=value,
        words=collecting.words_of(result.parts),
        is_error=result.is_error,
    )


def _said(message: Message, item: JsonObject) -> Iterator[Content]:
    texts = [text(part, "text") for part in rows(item, "content") if isinstance(part, dict)]
    words = [each for each in texts if each]
    if words:
        yield Content(
            part="text",
            call_id=None,
            tool=None,
            chars=_chars(message.blocks),
            value=words[0] if len(words) == 1 else [*words],
            words="\n".join(words),
        )


def _chars(blocks: tuple[Block, ...]) -> int:
    return items.chars(Message(role="user", blocks=blocks))
