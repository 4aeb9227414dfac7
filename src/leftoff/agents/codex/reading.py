"""Turns one line of a rollout into a record: pure, and never surprised. Each record stands for itself, whatever came before.

Only ``response_item`` and ``compacted`` lines (and ``inter_agent_communication``) are sent to the model; events repeat them
for the screen and are of kind ``side``. What a reply took is said twice, in ``token_usage_record`` and in ``token_count``,
the latter sometimes several times, and neither is tied to the reply's items: both carry the usage, and a ``reply_id``
made of its numbers, so that whoever adds up takes each once. What ``token_count`` says right after a compaction is an
estimate of Codex and no reply's usage: it is left to ``tail``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from leftoff.agents.codex import items
from leftoff.agents.codex.known import known
from leftoff.agents.fields import count, moment, table, text
from leftoff.agents.jsonl import Piece
from leftoff.model.records import Compaction, Message, Record, RecordKind, Text, Usage
from leftoff.model.wire import JsonObject, JsonValue

_SIDE, _CONTEXT = RecordKind.SIDE, RecordKind.CONTEXT
_CWD = re.compile(r"<cwd>([^<]+)</cwd>|Current working directory: (.+)")


def record(piece: Piece) -> Record:
    """The record that a piece of the file is."""
    line = piece.value
    if line is None:
        return _no_record(piece)
    payload = line.get("payload")
    if not isinstance(payload, dict):
        return _bare(piece, line)
    name = line.get("type")
    return (_READERS.get(name, _other) if isinstance(name, str) else _other)(piece, line, payload)


def usage(said: JsonObject) -> Usage | None:
    """What a reply took, from the numbers of a response; None where they are missing or all zero."""
    taken, output = count(said, "input_tokens") or 0, count(said, "output_tokens") or 0
    if not taken and not output:
        return None
    read = min(count(said, "cached_input_tokens") or 0, taken)
    written = min(count(said, "cache_write_input_tokens") or 0, taken - read)
    return _usage(taken - read - written, output, read, written)


@lru_cache(maxsize=1)  # what a reply took is said twice, one behind the other
def _usage(taken: int, output: int, read: int, written: int) -> Usage:
    return Usage(
        input_tokens=taken, output_tokens=output, cache_read_tokens=read, cache_creation_tokens=written
    )


def _no_record(piece: Piece) -> Record:
    if piece.note is None:
        return Record(place=piece.place, kind=RecordKind.SIDE, type="blank", raw=piece.raw)
    return Record(place=piece.place, kind=RecordKind.BROKEN, type="broken", raw=piece.raw, note=piece.note)


def _bare(piece: Piece, line: JsonObject) -> Record:
    """A line without an envelope, as all were until August 2025."""
    name = text(line, "type")
    if name in known().items:
        return _item(piece, line, line)
    if name is None and text(line, "record_type"):
        return _other(piece, {"type": text(line, "record_type")}, line)
    if name is None and text(line, "id") and text(line, "timestamp"):
        return _session(piece, {"type": "header", **line}, line)
    return _unknown(piece, line, name or "")


def _item(piece: Piece, line: JsonObject, item: JsonObject) -> Record:
    name = text(item, "type") or ""
    sent = items.message(name, item)
    kind = items.kind(name, item, sent)
    if kind is RecordKind.UNKNOWN:
        return _unknown(piece, line, f"response_item/{name}")
    return Record(
        piece.place,
        kind,
        f"response_item/{name}",
        piece.raw,
        (sent,) if sent and sent.blocks else (),
        text(item, "id"),
        None,
        moment(line, "timestamp"),
        cwd=_cwd(sent) if kind is _CONTEXT and sent else None,
    )


def _cwd(sent: Message) -> str | None:
    """The folder in a block on the environment: in the oldest files it stands nowhere else."""
    for block in sent.blocks:
        if isinstance(block, Text) and block.text.startswith("<environment_context>"):
            found = _CWD.search(block.text)
            return (found[1] or found[2]).strip() if found else None
    return None


def _event(piece: Piece, line: JsonObject, event: JsonObject) -> Record:
    name = text(event, "type") or ""
    read = _EVENTS.get(name)
    if read:
        return read(piece, line, event)
    if name in known().events:
        return _side(piece, line, f"event_msg/{name}")
    return _unknown(piece, line, f"event_msg/{name}")


def _token_count(piece: Piece, line: JsonObject, event: JsonObject) -> Record:
    info = table(event, "info")
    taken = usage(table(info, "last_token_usage"))
    return Record(
        place=piece.place,
        kind=RecordKind.SIDE,
        type="event_msg/token_count",
        raw=piece.raw,
        at=moment(line, "timestamp"),
        usage=taken,
        reply_id=_reply_id(taken),
        window_tokens=count(info, "model_context_window"),
    )


def _task_started(piece: Piece, line: JsonObject, event: JsonObject) -> Record:
    return Record(
        place=piece.place,
        kind=RecordKind.SIDE,
        type=f"event_msg/{text(event, 'type')}",
        raw=piece.raw,
        at=moment(line, "timestamp"),
        window_tokens=count(event, "model_context_window"),
    )


def _thread_settings(piece: Piece, line: JsonObject, event: JsonObject) -> Record:
    return _settings(piece, line, "event_msg/thread_settings_applied", table(event, "thread_settings"))


def _turn_context(piece: Piece, line: JsonObject, payload: JsonObject) -> Record:
    return _settings(piece, line, "turn_context", payload)


def _settings(piece: Piece, line: JsonObject, name: str, said: JsonObject) -> Record:
    return Record(
        place=piece.place,
        kind=RecordKind.SIDE,
        type=name,
        raw=piece.raw,
        at=moment(line, "timestamp"),
        model=text(said, "model"),
        cwd=text(said, "cwd"),
    )


def _token_usage(piece: Piece, line: JsonObject, payload: JsonObject) -> Record:
    taken = usage(table(payload, "usage"))
    return Record(
        place=piece.place,
        kind=RecordKind.SIDE,
        type="token_usage_record",
        raw=piece.raw,
        id=text(payload, "response_id"),
        at=moment(line, "timestamp"),
        usage=taken,
        reply_id=_reply_id(taken),
    )


def _reply_id(taken: Usage | None) -> str | None:
    """A name for the reply made of its numbers: two replies of one session never had the same, its repeats always have."""
    if taken is None:
        return None
    return f"usage-{taken.input_tokens}-{taken.cache_read_tokens}-{taken.cache_creation_tokens}-{taken.output_tokens}"


def _session(piece: Piece, line: JsonObject, payload: JsonObject) -> Record:
    return Record(
        place=piece.place,
        kind=RecordKind.SIDE,
        type=text(line, "type") or "",
        raw=piece.raw,
        id=text(payload, "id"),
        at=moment(line, "timestamp"),
        cwd=text(payload, "cwd"),
        branch=text(table(payload, "git"), "branch"),
    )


def _compacted(piece: Piece, line: JsonObject, payload: JsonObject) -> Record:
    before = table(table(payload, "latest_token_usage_record"), "usage")
    words = text(payload, "message")
    return Record(
        place=piece.place,
        kind=RecordKind.COMPACTION,
        type="compacted",
        raw=piece.raw,
        messages=_replacement(payload),
        id=text(payload, "window_id"),
        at=moment(line, "timestamp"),
        compaction=Compaction(
            trigger=None,  # it does not say
            before_tokens=count(before, "input_tokens"),
            after_tokens=None,  # a token_count follows with an estimate
            summary=words.removeprefix(known().summary_prefix) if words else None,
        ),
    )


def _replacement(payload: JsonObject) -> tuple[Message, ...]:
    """The new history; where there is none (the oldest), the summary alone: the chain keeps the prompts before it."""
    history: JsonValue = payload.get("replacement_history")
    if not isinstance(history, list):
        words = text(payload, "message") or known().no_summary
        return (Message(role="user", blocks=(Text(text=words),)),)
    sent = (items.message(text(item, "type") or "", item) for item in history if isinstance(item, dict))
    return tuple(message for message in sent if message and message.blocks)


def _between_agents(piece: Piece, line: JsonObject, payload: JsonObject) -> Record:
    words = text(payload, "content")
    return Record(
        place=piece.place,
        kind=RecordKind.CONTEXT,
        type="inter_agent_communication",
        raw=piece.raw,
        messages=(Message(role="user", blocks=(Text(text=words),)),) if words else (),
        id=text(payload, "id"),
        at=moment(line, "timestamp"),
    )


def _other(piece: Piece, line: JsonObject, _payload: JsonObject) -> Record:
    name = text(line, "type") or ""
    kind = known().records.get(name)
    return _side(piece, line, name) if kind is RecordKind.SIDE else _unknown(piece, line, name)


def _side(piece: Piece, line: JsonObject, name: str) -> Record:
    # By place and not by name, here and for items: they are most of the lines, and naming takes twice as long.
    return Record(piece.place, _SIDE, name, piece.raw, (), None, None, moment(line, "timestamp"))


def _unknown(piece: Piece, line: JsonObject, name: str) -> Record:
    return Record(
        place=piece.place,
        kind=RecordKind.UNKNOWN,
        type=name,
        raw=piece.raw,
        at=moment(line, "timestamp"),
        note=f"a line of a type not seen up to {known().seen}",
    )


_Reader = Callable[[Piece, JsonObject, JsonObject], Record]
_READERS: Mapping[str, _Reader] = {
    "response_item": _item,
    "event_msg": _event,
    "turn_context": _turn_context,
    "token_usage_record": _token_usage,
    "session_meta": _session,
    "compacted": _compacted,
    "inter_agent_communication": _between_agents,
}
_EVENTS: Mapping[str, _Reader] = {
    "token_count": _token_count,
    "task_started": _task_started,
    "turn_started": _task_started,
    "thread_settings_applied": _thread_settings,
}
