"""Turns one line of a rollout into a record, independently of the other lines. No content raises.

Only ``response_item``, ``compacted`` and ``inter_agent_communication`` lines are sent to the model; events repeat them for the
screen and are of kind ``side``. The usage of a reply is written twice, as ``token_usage_record`` and as ``token_count``, the latter
sometimes several times, and neither refers to the reply's items. Both carry the usage and a ``reply_id`` made of its numbers, so
that each can be counted once. A ``token_count`` directly after a compaction is an estimate, which only ``usage`` reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from leftoff.agents.codex import items
from leftoff.agents.codex.versions import known
from leftoff.agents.jsonl import Piece, count, moment, table, text
from leftoff.core.records import Compaction, Message, Record, RecordKind, Text, Usage
from leftoff.core.wire import JsonObject, JsonValue

_SIDE, _CONTEXT = RecordKind.SIDE, RecordKind.CONTEXT
# The beginning of an event as Codex writes it: its time and its type.
_EVENT_HEAD = re.compile(
    rb'\{"timestamp":"([^"\\]+)",(?:"ordinal":\d+,)?"type":"event_msg","payload":\{"type":"(\w+)"'
)
_CWD = re.compile(r"<cwd>([^<]+)</cwd>|Current working directory: (.+)")


def read_record(piece: Piece) -> Record:
    """Return the record of a piece."""
    line = piece.value
    if line is None:
        return _plain_event(piece) or _broken_or_blank(piece)
    payload = line.get("payload")
    if not isinstance(payload, dict):
        return _bare(piece, line)
    name = line.get("type")
    return (_PARSERS.get(name, _other) if isinstance(name, str) else _other)(piece, line, payload)


def is_plain_event(line: bytes) -> bool:
    """Say whether a line is an event of which a record has only the type and the time: it is long, and need not be parsed.

    A line that was torn, or glued to another one by a crash, is parsed: only in such a line does a second one begin.
    """
    head = _EVENT_HEAD.match(line)
    return (
        head is not None
        and head[2].decode() in _plain_events()
        and line.endswith(b"}}\n")
        and line.find(b'{"timestamp":', 1) < 0
    )


@cache
def _plain_events() -> frozenset[str]:
    return known().events - _EVENTS.keys()


def _plain_event(piece: Piece) -> Record | None:
    """Return the record of an event that was not parsed; None for any other piece."""
    head = _EVENT_HEAD.match(piece.raw) if piece.note is None else None
    if head is None:
        return None
    return _side(piece, {"timestamp": head[1].decode()}, f"event_msg/{head[2].decode()}")


def usage(numbers: JsonObject) -> Usage | None:
    """Return what a reply used; None where the numbers are missing or zero."""
    sent, output = count(numbers, "input_tokens") or 0, count(numbers, "output_tokens") or 0
    if not sent and not output:
        return None
    cache_read = min(count(numbers, "cached_input_tokens") or 0, sent)
    cache_written = min(count(numbers, "cache_write_input_tokens") or 0, sent - cache_read)
    return _usage(sent - cache_read - cache_written, output, cache_read, cache_written)


@lru_cache(maxsize=1)  # the usage of a reply is written twice in a row
def _usage(sent: int, output: int, cache_read: int, cache_written: int) -> Usage:
    return Usage(
        input_tokens=sent,
        output_tokens=output,
        cache_read_tokens=cache_read,
        cache_creation_tokens=cache_written,
    )


def _broken_or_blank(piece: Piece) -> Record:
    if piece.note is None:
        return Record(place=piece.place, kind=RecordKind.SIDE, type="blank", raw=piece.raw)
    return Record(place=piece.place, kind=RecordKind.BROKEN, type="broken", raw=piece.raw, note=piece.note)


def _bare(piece: Piece, line: JsonObject) -> Record:
    """Parse a line without ``payload``, as all were until August 2025."""
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
    """Return the folder from a block on the environment: the oldest files have it nowhere else."""
    for block in sent.blocks:
        if isinstance(block, Text) and block.text.startswith("<environment_context>"):
            found = _CWD.search(block.text)
            return (found[1] or found[2]).strip() if found else None
    return None


def _event(piece: Piece, line: JsonObject, event: JsonObject) -> Record:
    name = text(event, "type") or ""
    parse = _EVENTS.get(name)
    if parse:
        return parse(piece, line, event)
    if name in known().events:
        return _side(piece, line, f"event_msg/{name}")
    return _unknown(piece, line, f"event_msg/{name}")


def _token_count(piece: Piece, line: JsonObject, event: JsonObject) -> Record:
    info = table(event, "info")
    used = usage(table(info, "last_token_usage"))
    window_tokens = count(info, "model_context_window")
    name, reply_id = "event_msg/token_count", _reply_id(used)
    return _side(piece, line, name, usage=used, reply_id=reply_id, window_tokens=window_tokens)


def _task_started(piece: Piece, line: JsonObject, event: JsonObject) -> Record:
    name = f"event_msg/{text(event, 'type')}"
    return _side(piece, line, name, window_tokens=count(event, "model_context_window"))


def _thread_settings(piece: Piece, line: JsonObject, event: JsonObject) -> Record:
    return _settings(piece, line, "event_msg/thread_settings_applied", table(event, "thread_settings"))


def _turn_context(piece: Piece, line: JsonObject, payload: JsonObject) -> Record:
    return _settings(piece, line, "turn_context", payload)


def _settings(piece: Piece, line: JsonObject, name: str, settings: JsonObject) -> Record:
    return _side(piece, line, name, model=text(settings, "model"), cwd=text(settings, "cwd"))


def _token_usage(piece: Piece, line: JsonObject, payload: JsonObject) -> Record:
    used = usage(table(payload, "usage"))
    response_id, reply_id = text(payload, "response_id"), _reply_id(used)
    return _side(piece, line, "token_usage_record", record_id=response_id, usage=used, reply_id=reply_id)


def _reply_id(used: Usage | None) -> str | None:
    """Make an id for a reply from its numbers, which differ between replies and are the same where one is repeated."""
    if used is None:
        return None
    return f"usage-{used.input_tokens}-{used.cache_read_tokens}-{used.cache_creation_tokens}-{used.output_tokens}"


def _session(piece: Piece, line: JsonObject, payload: JsonObject) -> Record:
    branch = text(table(payload, "git"), "branch")
    name, thread_id, cwd = text(line, "type") or "", text(payload, "id"), text(payload, "cwd")
    return _side(piece, line, name, record_id=thread_id, cwd=cwd, branch=branch)


def _compacted(piece: Piece, line: JsonObject, payload: JsonObject) -> Record:
    before = table(table(payload, "latest_token_usage_record"), "usage")
    content = text(payload, "message")
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
            summary=content.removeprefix(known().summary_prefix) if content else None,
        ),
    )


def _replacement(payload: JsonObject) -> tuple[Message, ...]:
    """Return the new history; of the oldest rollouts, which have none, the summary alone: the chain keeps the prompts."""
    history: JsonValue = payload.get("replacement_history")
    if not isinstance(history, list):
        content = text(payload, "message") or known().no_summary
        return (Message(role="user", blocks=(Text(text=content),)),)
    sent = (items.message(text(item, "type") or "", item) for item in history if isinstance(item, dict))
    return tuple(message for message in sent if message and message.blocks)


def _between_agents(piece: Piece, line: JsonObject, payload: JsonObject) -> Record:
    content = text(payload, "content")
    return Record(
        place=piece.place,
        kind=RecordKind.CONTEXT,
        type="inter_agent_communication",
        raw=piece.raw,
        messages=(Message(role="user", blocks=(Text(text=content),)),) if content else (),
        id=text(payload, "id"),
        at=moment(line, "timestamp"),
    )


def _other(piece: Piece, line: JsonObject, _payload: JsonObject) -> Record:
    name = text(line, "type") or ""
    kind = known().records.get(name)
    return _side(piece, line, name) if kind is RecordKind.SIDE else _unknown(piece, line, name)


def _side(piece: Piece, line: JsonObject, name: str, *, record_id: str | None = None, **more: Any) -> Record:
    # By position, here and for items: they are most of the lines, and naming the fields takes twice as long.
    return Record(piece.place, _SIDE, name, piece.raw, (), record_id, None, moment(line, "timestamp"), **more)


def _unknown(piece: Piece, line: JsonObject, name: str) -> Record:
    note = f"a line of a type not seen up to {known().seen}"
    return _side(piece, line, name, note=note)._replace(kind=RecordKind.UNKNOWN)


_Parser = Callable[[Piece, JsonObject, JsonObject], Record]
_PARSERS: Mapping[str, _Parser] = {
    "response_item": _item,
    "request_item": _item,  # of claude-code-tools' simple rollouts
    "event_msg": _event,
    "turn_context": _turn_context,
    "token_usage_record": _token_usage,
    "session_meta": _session,
    "compacted": _compacted,
    "inter_agent_communication": _between_agents,
}
_EVENTS: Mapping[str, _Parser] = {
    "token_count": _token_count,
    "task_started": _task_started,
    "turn_started": _task_started,
    "thread_settings_applied": _thread_settings,
}
