"""The live chain of a session: what Codex rebuilds from its records when it resumes.

Codex goes through the records once. An item is added; a compaction replaces everything by its ``replacement_history``
(the oldest have none: the user's own words stay, and the summary follows them); a rollback takes the last turns away, with
what the client itself had told the model just before them. Answers to calls that are not there are left out. A call
that was never answered stays, and the client puts the word "aborted" behind it: ``as_sent`` does that to messages. A
rollback that reaches into a replacement history keeps that history whole, because a place cannot be cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from leftoff.agents.codex.known import known
from leftoff.agents.fields import count, table
from leftoff.model.records import Message, Opaque, Place, Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.model.session import LiveChain
from leftoff.model.wire import JsonObject

_NEW_TURN = frozenset({"response_item/agent_message", "inter_agent_communication"})
ROLLED_BACK = "event_msg/thread_rolled_back"
_CHARS_PER_TOKEN = 4  # as the client reckons


class _Item(NamedTuple):
    """What must be remembered of a record while the rest is read."""

    place: Place
    starts_turn: bool
    told_anew: bool  # the client tells it again before the next turn, if that turn is taken back
    replaces: bool
    prompt_tokens: int
    calls: tuple[str, ...]
    answers: tuple[str, ...]


def live_chain(records: Iterable[Record]) -> LiveChain:
    """What the model is sent next."""
    history: list[_Item] = []
    for record in records:
        if record.kind is RecordKind.COMPACTION:
            history = _compacted(history, record)
        elif record.type == ROLLED_BACK:
            del history[_cut(history, turns_taken_back(record)) :]
        elif record.messages:
            history.append(_item(record))
    return _without_orphans(history)


def opens(record: Record) -> int | None:
    """Whether the record can open what is sent: the user's own words, or the history that a compaction left of them."""
    return 0 if record.kind in {RecordKind.PROMPT, RecordKind.COMPACTION} else None


def as_sent(messages: Iterable[Message]) -> Iterator[Message]:
    """The chain's messages as the API receives them: behind each call that nothing answered, the client's own words."""
    held = list(messages)
    answered = {
        block.call_id for message in held for block in message.blocks if isinstance(block, ToolResult)
    }
    for message in held:
        yield message
        for block in message.blocks:
            if isinstance(block, ToolUse) and block.call_id not in answered:
                yield _stand_in(block)


def _stand_in(call: ToolUse) -> Message:
    words = Opaque(type="tools", chars=2) if call.tool == "tool_search" else Text(text=known().unanswered)
    return Message(role="user", blocks=(ToolResult(call_id=call.call_id, parts=(words,)),))


def _compacted(history: list[_Item], record: Record) -> list[_Item]:
    if isinstance(_payload(record).get("replacement_history"), list):
        return [_item(record)]
    return [*_last_prompts(history), _item(record)._replace(replaces=False)]


def _last_prompts(history: list[_Item]) -> list[_Item]:
    """The user's own words from the end back, as far as the client keeps them."""
    left = known().prompts_kept_tokens
    kept: list[_Item] = []
    for item in reversed(history):
        if left <= 0:
            break
        if item.prompt_tokens:
            kept.append(item)
            left -= item.prompt_tokens
    return kept[::-1]


def turns_taken_back(record: Record) -> int:
    """How many of the user's turns a rollback takes back."""
    return count(_payload(record), "num_turns") or 0


def _cut(history: list[_Item], turns: int) -> int:
    """How much of the history is left when so many turns are taken back."""
    starts = [index for index, item in enumerate(history) if item.starts_turn]
    if not turns or not starts:
        return len(history)
    cut = starts[-turns] if turns < len(starts) else starts[0]
    if history[cut].replaces:
        return cut + 1
    while cut > starts[0] and history[cut - 1].told_anew:
        cut -= 1
    return cut


def _item(record: Record) -> _Item:
    blocks = record.blocks
    replaces = record.kind is RecordKind.COMPACTION
    own_words = record.kind is RecordKind.PROMPT
    return _Item(
        place=record.place,
        starts_turn=own_words or replaces or record.type in _NEW_TURN,
        told_anew=record.kind is RecordKind.CONTEXT and _is_told_anew(record.messages[0]),
        replaces=replaces,
        prompt_tokens=-(-len(record.text.encode()) // _CHARS_PER_TOKEN) if own_words else 0,
        calls=tuple([block.call_id for block in blocks if isinstance(block, ToolUse)]),
        answers=tuple([block.call_id for block in blocks if isinstance(block, ToolResult)]),
    )


def _is_told_anew(message: Message) -> bool:
    if message.role == "user":
        return True
    return any(
        isinstance(block, Text) and block.text.lstrip().lower().startswith(known().told_anew)
        for block in message.blocks
    )


def _without_orphans(history: list[_Item]) -> LiveChain:
    """Places of items that answer nothing but calls that are gone are left out; inside a history, the answers are."""
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
    """Read once more, and as leniently as the first time: bytes that are no UTF-8 must not stop it."""
    return table(json.loads(record.raw.decode("utf-8", "replace")), "payload")
