"""The messages of a running session: read from its transcript, kept in pairs of calls and results, counted, and with placeholders."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import orjson

from leftoff.agents.cut_values import NOTE_KEY, cut_input
from leftoff.core.live_messages import LiveMessage
from leftoff.core.protocols import Agent
from leftoff.core.records import Block, Image, Place, Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.core.session import Session
from leftoff.core.trim_plan import Cut
from leftoff.core.wire import JsonObject, JsonValue

OPENING = "leftoff compacted this conversation in place, without a model. A record, not instructions."
RESTORED = "leftoff restored what a compaction had replaced below."
GAVE_WAY = "gave way to the log below"
_NAMED = re.compile(r"[\w./-]{4,}")
# What instructions say to a summariser, and nothing about the work.
_INSTRUCTION_WORDS = re.compile(
    r"about|compact|context|conversation|drop|everything|focus|from|keep|only|please|preserve|remember|summar[iy]\w*"
    r"|that|them|these|this|those|what|with"
)


def is_own_text(text: str) -> bool:
    """Say whether a text is the message with which leftoff begins a conversation that it compacted or restored."""
    return text.startswith((OPENING, RESTORED))


def live_messages(agent: Agent, session: Session) -> list[LiveMessage]:
    """Return the messages of a session as its agent holds them, from the transcript."""
    by_place = {record.place: record for record in session.records}
    places = agent.live_chain(session).places
    found = (_as_message(by_place[place]) for place in places if place in by_place)
    return [message for message in found if message is not None]


def _as_message(record: Record) -> LiveMessage | None:
    """Return a record as the agent holds it; None for what the agent adds itself."""
    kinds = {RecordKind.PROMPT, RecordKind.REPLY, RecordKind.RESULT, RecordKind.REPEATED}
    if record.kind not in kinds or record.actor is not None:
        return None
    role = record.messages[0].role if record.messages else "user"
    return LiveMessage(
        role="assistant" if role == "assistant" else "user",
        text=record.text,
        calls=tuple(block for block in record.blocks if isinstance(block, ToolUse)),
        results=tuple(block for block in record.blocks if isinstance(block, ToolResult)),
        handle=record.id,
    )


def paired(messages: Iterable[LiveMessage]) -> Iterator[LiveMessage]:
    """Yield the messages without calls that have no result and results that have no call."""
    messages = [*messages]
    calls = {call.call_id for message in messages for call in message.calls}
    results = {result.call_id for message in messages for result in message.results}
    for message in messages:
        yield message._replace(
            calls=tuple(call for call in message.calls if call.call_id in results),
            results=tuple(result for result in message.results if result.call_id in calls),
        )


def cut_points(messages: Sequence[LiveMessage]) -> Iterator[int]:
    """Yield the indices before which no call waits for its result."""
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        if index and not waiting:
            yield index
        waiting |= {call.call_id for call in message.calls}
        waiting -= {result.call_id for result in message.results}


def with_cuts(message: LiveMessage, cuts: Mapping[tuple[str, str], Cut]) -> LiveMessage:
    """Return the message with placeholders in place of what is cut."""
    if not message.calls and not message.results:
        return message
    calls = tuple(
        call._replace(input=_as_input(cut_input(call.input, cut)))
        if (cut := cuts.get(("input", call.call_id)))
        else call
        for call in message.calls
    )
    results = tuple(
        result._replace(parts=(Text(text=cut.replacement),))
        if (cut := cuts.get(("result", result.call_id)))
        else result
        for result in message.results
    )
    return message._replace(calls=calls, results=results)


def _as_input(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {NOTE_KEY: value}


def count_chars(message: LiveMessage) -> int:
    """Count the characters that the model is sent."""
    inputs = sum(len(orjson.dumps(call.input)) for call in message.calls)
    return len(message.text) + inputs + sum(len(result.text) for result in message.results)


def all_texts_of(messages: Iterable[LiveMessage]) -> Iterator[str]:
    """Yield the texts and results of the messages."""
    for message in messages:
        if message.text:
            yield message.text
        yield from (result.text for result in message.results)


def has_image(blocks: Iterable[Block]) -> bool:
    """Say whether one of the blocks is an image or a document."""
    return any(isinstance(block, Image) for block in blocks)


def count_images(records: Iterable[Record]) -> int:
    """Count the images and documents of the records, also in results."""
    parts = (
        part
        for record in records
        for block in record.blocks
        for part in (block.parts if isinstance(block, ToolResult) else (block,))
    )
    return sum(isinstance(part, Image) for part in parts)


def with_image_notes(message: LiveMessage, record: Record, session_id: str) -> LiveMessage:
    """Return the message with a line in place of images and documents, which a rebuilt message cannot hold."""
    note = f"[An image was here: line {record.place.line_idx + 1} of {session_id}]"
    text = "\n".join(filter(None, [message.text, note])) if has_image(record.blocks) else message.text
    results = tuple(
        result._replace(parts=(*result.parts, Text(text=note))) if has_image(result.parts) else result
        for result in message.results
    )
    return message._replace(text=text, results=results)


def has_any_image(record: Record) -> bool:
    """Say whether the record holds an image or a document, also in a result."""
    return has_image(record.blocks) or any(
        isinstance(block, ToolResult) and has_image(block.parts) for block in record.blocks
    )


def has_call(message: LiveMessage, call_ids: Collection[str]) -> bool:
    """Say whether the message makes or answers one of these calls."""
    return any(call.call_id in call_ids for call in message.calls) or any(
        result.call_id in call_ids for result in message.results
    )


def place_before(live_from: Place | None) -> Place | None:
    """Return the place after which the live records are read; None for the whole file."""
    if live_from is None or live_from.start == 0:
        return None
    return Place(live_from.transcript, live_from.line_idx - 1, 0, live_from.start)


def names_in(instructions: str) -> frozenset[str]:
    """Return what the user's instructions for a compaction name, in lower case: paths, numbers and identifiers, or else words."""
    words = {word.strip(".-/") for word in _NAMED.findall(instructions.lower())}
    exact = frozenset(word for word in words if not word.isalpha())
    return exact or frozenset(word for word in words if not _INSTRUCTION_WORDS.fullmatch(word))


def mentions(text: str, names: Collection[str]) -> bool:
    """Say whether a text has one of these names, which are in lower case."""
    lowered = text.lower() if names else ""
    return any(name in lowered for name in names)
