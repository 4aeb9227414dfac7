"""Finds the live chain: what Codex rebuilds from the records of a session when it resumes.

Codex reads the records once. An item is added. A compaction replaces everything by its ``replacement_history``; the oldest have
none: then the user's prompts stay, followed by the summary. A rollback removes the last turns, with what the client itself had
sent just before them. Answers to calls that are not there are left out. A call that was never answered stays, and the client
adds the answer "aborted" when it sends it. A rollback into a replacement history keeps that history whole, because a place
cannot be cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from leftoff.agents.codex.versions import ROLLED_BACK, known
from leftoff.agents.jsonl import count, table
from leftoff.core.records import Message, Place, Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.core.session import LiveChain
from leftoff.core.wire import JsonObject

_NEW_TURN = frozenset({"response_item/agent_message", "inter_agent_communication"})
_CHARS_PER_TOKEN = 4  # as the client estimates


class _Item(NamedTuple):
    """What must be remembered of a record while the rest is read."""

    place: Place
    starts_turn: bool
    goes_with_next: (
        bool  # context that a rollback of the next turn removes too, because the client sends it again
    )
    replaces: bool
    prompt_tokens: int
    calls: tuple[str, ...]
    answers: tuple[str, ...]


def live_chain(records: Iterable[Record]) -> LiveChain:
    """Return what the model is sent next."""
    history: list[_Item] = []
    for record in records:
        if record.kind is RecordKind.COMPACTION:
            history = _compacted(history, record)
        elif record.type == ROLLED_BACK:
            del history[_length_without(history, turns_rolled_back(record)) :]
        elif record.messages:
            history.append(_item(record))
    return _without_orphans(history)


def opens(record: Record) -> int | None:
    """Rank a record as the first message for the lineage block: 0 for a prompt and for a replaced history, None for all others."""
    return 0 if record.kind in {RecordKind.PROMPT, RecordKind.COMPACTION} else None


def _compacted(history: list[_Item], record: Record) -> list[_Item]:
    if isinstance(_payload(record).get("replacement_history"), list):
        return [_item(record)]
    return [*_last_prompts(history), _item(record)._replace(replaces=False)]


def _last_prompts(history: list[_Item]) -> list[_Item]:
    """Return the newest prompts, as many as the client keeps."""
    tokens_left = known().prompts_kept_tokens
    newest: list[_Item] = []
    for item in reversed(history):
        if tokens_left <= 0:
            break
        if item.prompt_tokens:
            newest.append(item)
            tokens_left -= item.prompt_tokens
    return newest[::-1]


def turns_rolled_back(record: Record) -> int:
    """Return how many of the user's turns a rollback removes."""
    return count(_payload(record), "num_turns") or 0


def _length_without(history: list[_Item], turns: int) -> int:
    """Return how much of the history is left when so many turns are removed."""
    starts = [index for index, item in enumerate(history) if item.starts_turn]
    if not turns or not starts:
        return len(history)
    cut = starts[-turns] if turns < len(starts) else starts[0]
    if history[cut].replaces:
        return cut + 1
    while cut > starts[0] and history[cut - 1].goes_with_next:
        cut -= 1
    return cut


def _item(record: Record) -> _Item:
    blocks = record.blocks
    replaces = record.kind is RecordKind.COMPACTION
    is_prompt = record.kind is RecordKind.PROMPT
    return _Item(
        place=record.place,
        starts_turn=is_prompt or replaces or record.type in _NEW_TURN,
        goes_with_next=record.kind is RecordKind.CONTEXT and _is_sent_again(record.messages[0]),
        replaces=replaces,
        prompt_tokens=-(-len(record.text.encode()) // _CHARS_PER_TOKEN) if is_prompt else 0,
        calls=tuple([block.call_id for block in blocks if isinstance(block, ToolUse)]),
        answers=tuple([block.call_id for block in blocks if isinstance(block, ToolResult)]),
    )


def _is_sent_again(message: Message) -> bool:
    if message.role == "user":
        return True
    return any(
        isinstance(block, Text) and block.text.lstrip().lower().startswith(known().repeated_after_rollback)
        for block in message.blocks
    )


def _without_orphans(history: list[_Item]) -> LiveChain:
    """Leave out items that only answer calls that are gone; inside a replaced history, leave out the answers."""
    called = {call for item in history for call in item.calls}
    orphans = {answer for item in history for answer in item.answers} - called
    return LiveChain(
        places=tuple(
            item.place
            for item in history
            if item.replaces or not item.answers or not orphans.issuperset(item.answers)
        ),
        cleared_calls=frozenset(orphans),
    )


def _payload(record: Record) -> JsonObject:
    """Parse the line again, as leniently as the first time: bytes that are not UTF-8 must not raise."""
    return table(json.loads(record.raw.decode("utf-8", "replace")), "payload")
