"""Turns one line of a transcript into a record. No content raises.

A reply of the model takes several lines, one per block, with the same ``reply_id`` and usage. A compaction is two lines, both of
that kind: the boundary has the numbers, the summary the text that is sent. Before 2.0.76 there was no boundary.

What the user typed while the agent worked is an attachment in newer versions. Older ones wrote only ``queue-operation`` lines:
text counts as a prompt at the line that takes it from the queue (``remove``), because until then the user could have taken it
back (``popAll``), or it became a user's line (``dequeue``). Such a record therefore depends on the lines before it in the file.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from orjson import loads

from leftoff.agents.claude import user_text
from leftoff.agents.claude.user_text import blocks, is_typed, is_user_prompt, result_parts
from leftoff.agents.claude.versions import known, version
from leftoff.agents.jsonl import Piece, count, moment, open_transcript, table, text
from leftoff.core.records import Compaction, Message, Record, RecordKind, Text, ToolResult, ToolUse, Usage
from leftoff.core.wire import JsonObject

_SHARED = ("uuid", "parentUuid", "cwd", "gitBranch")
_NO_BRANCH = ("", "HEAD")  # outside git, and on no branch
SYNTHETIC_MODEL = "<synthetic>"  # text that the client wrote in place of the model
_LOOK_BACK_BYTES = 1024 * 1024
_OPERATION = b'"queue-operation"'
_TYPE_BYTES = 80  # of a line, within which its type is named
_VERSION = re.compile(rb'"version": ?"([0-9.]+)"')


def read_record(piece: Piece) -> Record:
    """Return the record of a piece; a line that takes text from the queue of typed messages becomes a prompt with that text."""
    line = piece.value
    if line is None:
        return _broken_or_blank(piece)
    name = line.get("type")
    record = (_PARSERS.get(name, _other) if isinstance(name, str) else _other)(piece, line)
    if record.type != "queue-operation" or line.get("operation") != "remove" or "content" in line:
        return record  # newer clients repeat the content here, and write the attachment
    queued = _oldest_queued(_lines_before(Path(piece.place.transcript), piece.place.start))
    if queued is None or not is_typed(queued):
        return record
    message = Message(role="user", blocks=(Text(text=queued),))
    return record._replace(kind=RecordKind.PROMPT, messages=(message,))


def queued_prompt(record: Record) -> str | None:
    """Return the prompt that a line puts into the queue of typed messages; empty where the user takes all of them back."""
    line = loads(record.raw)
    if line.get("operation") == "popAll":
        return ""
    content = text(line, "content") if line.get("operation") == "enqueue" else None
    if content is None or content.startswith("/"):  # most commands, such as /compact, only the client runs
        return None
    return content if is_typed(content) else None


def usage(line: JsonObject) -> Usage | None:
    """Return what a reply used; None where it is missing or zero, as for text that the client itself wrote."""
    message = table(line, "message")
    numbers = message.get("usage")
    if (
        not isinstance(numbers, dict)
        or message.get("model") == SYNTHETIC_MODEL
        or line.get("isApiErrorMessage") is True
    ):
        return None
    return _usage(
        count(numbers, "input_tokens") or 0,
        count(numbers, "output_tokens") or 0,
        count(numbers, "cache_read_input_tokens") or 0,
        count(numbers, "cache_creation_input_tokens") or 0,
    )


@lru_cache(maxsize=1)  # a reply takes several lines with the same numbers
def _usage(sent: int, output: int, cache_read: int, cache_written: int) -> Usage | None:
    if not (sent or output or cache_read or cache_written):
        return None
    return Usage(
        input_tokens=sent,
        output_tokens=output,
        cache_read_tokens=cache_read,
        cache_creation_tokens=cache_written,
    )


def model(line: JsonObject) -> str | None:
    """Return the model that was requested: only that name keeps the suffix of a larger window."""
    name = text(line, "requestedModel") or text(table(line, "message"), "model")
    return None if name == SYNTHETIC_MODEL else name


def _broken_or_blank(piece: Piece) -> Record:
    if piece.note is None:
        return Record(place=piece.place, kind=RecordKind.SIDE, type="blank", raw=piece.raw)
    return Record(place=piece.place, kind=RecordKind.BROKEN, type="broken", raw=piece.raw, note=piece.note)


def _user(piece: Piece, line: JsonObject) -> Record:
    content = blocks(table(line, "message").get("content"))
    if line.get("isCompactSummary") is True:
        return _summary(piece, line, Message(role="user", blocks=content))
    if is_user_prompt(line, content):
        kind = RecordKind.PROMPT
    elif ToolResult in map(type, content):
        kind = RecordKind.RESULT
    else:
        kind = RecordKind.CONTEXT
    if "origin" in line and text(table(line, "origin"), "kind") == "task-notification":
        content = tuple(user_text.task_notification(block) for block in content)
    sent = (Message(role="user", blocks=content),) if content else ()
    return _record(piece, line, kind=kind, type="user", messages=sent)


def _summary(piece: Piece, line: JsonObject, summary: Message) -> Record:
    return _record(
        piece,
        line,
        kind=RecordKind.COMPACTION,
        type="user",
        messages=(summary,),
        compaction=Compaction(
            trigger=None, before_tokens=None, after_tokens=None, summary=summary.text or None
        ),
    )


def _assistant(piece: Piece, line: JsonObject) -> Record:
    message = table(line, "message")
    content = blocks(message.get("content"))
    sent = Message(role="assistant", blocks=content)
    if line.get("isApiErrorMessage") is True:  # shown to the user, never sent
        return _record(piece, line, kind=RecordKind.SIDE, type="assistant", note=sent.text)
    return _record(
        piece,
        line,
        kind=RecordKind.REPLY,
        type="assistant",
        messages=(sent,) if content else (),
        reply_id=text(message, "id"),
        usage=usage(line),
        model=model(line),
    )


def _attachment(piece: Piece, line: JsonObject) -> Record:
    name = text(table(line, "attachment"), "type") or ""
    kind = known().attachments.get(name)
    is_prompt = kind is not None and user_text.is_queued_prompt(line)
    return _record(
        piece,
        line,
        kind=RecordKind.PROMPT if is_prompt else kind or RecordKind.UNKNOWN,
        type=f"attachment/{name}",
        messages=user_text.messages(line) if kind is not RecordKind.SIDE else (),
        note=None if kind else f"an attachment of a type not seen up to {known().seen}",
    )


def _system(piece: Piece, line: JsonObject) -> Record:
    name = text(line, "subtype") or ""
    compaction = _COMPACTIONS.get(name)
    if compaction:
        return _record(
            piece, line, kind=RecordKind.COMPACTION, type=f"system/{name}", compaction=compaction(line)
        )
    kind = known().system.get(name, RecordKind.UNKNOWN if name else RecordKind.SIDE)
    content = blocks(line.get("content")) if kind is RecordKind.CONTEXT else ()
    return _record(
        piece,
        line,
        kind=kind,
        type=f"system/{name}" if name else "system",
        messages=(Message(role="user", blocks=content),) if content else (),
        note=f"a system line of a type not seen up to {known().seen}" if kind is RecordKind.UNKNOWN else None,
    )


def _boundary(line: JsonObject) -> Compaction:
    metadata = table(line, "compactMetadata")
    trigger = metadata.get("trigger")
    return Compaction(
        trigger="auto" if trigger == "auto" else "manual" if trigger == "manual" else None,
        before_tokens=count(metadata, "preTokens"),
        after_tokens=count(metadata, "postTokens"),
        summary=None,  # the next user's line has it
    )


def _micro_boundary(line: JsonObject) -> Compaction:
    """Read that old results are no longer sent. The numbers leave out the fixed part of the context."""
    metadata = table(line, "microcompactMetadata")
    before, saved = count(metadata, "preTokens"), count(metadata, "tokensSaved")
    after = None if before is None or saved is None else max(0, before - saved)
    return Compaction(trigger="micro", before_tokens=before, after_tokens=after, summary=None)


def _tool_result(piece: Piece, line: JsonObject) -> Record:
    """Read a simple line with ``message.tool_name``; a request is added to it, so that the tool's name is kept."""
    message = table(line, "message")
    call_id = f"line-{piece.place.line_idx + 1}"
    request = ToolUse(call_id=call_id, tool=text(message, "tool_name") or "", input={})
    result = ToolResult(call_id=call_id, parts=result_parts(message.get("content")))
    return _record(
        piece,
        line,
        kind=RecordKind.RESULT,
        type="tool_result",
        messages=(Message(role="assistant", blocks=(request,)), Message(role="user", blocks=(result,))),
    )


def _other(piece: Piece, line: JsonObject) -> Record:
    name = text(line, "type")
    kind = known().records.get(name or "", RecordKind.UNKNOWN)
    if name is None:
        # Other trimmers put a line of metadata without a type at the head of their copies.
        is_metadata = "trim_metadata" in line or "continue_metadata" in line
        kind = RecordKind.SIDE if is_metadata else RecordKind.UNKNOWN
    note = f"a line of a type not seen up to {known().seen}" if kind is RecordKind.UNKNOWN else None
    return _record(piece, line, kind=kind, type=name or "", note=note)


_COMPACTIONS: Mapping[str, Callable[[JsonObject], Compaction]] = {
    "compact_boundary": _boundary,
    "microcompact_boundary": _micro_boundary,
}


def _record(
    piece: Piece,
    line: JsonObject,
    *,
    kind: RecordKind,
    type: str,  # noqa: A002 - the name of the field
    messages: tuple[Message, ...] = (),
    reply_id: str | None = None,
    usage: Usage | None = None,
    model: str | None = None,
    compaction: Compaction | None = None,
    note: str | None = None,
) -> Record:
    """Return a record with the fields that all lines share."""
    # Without ``text`` and by position, because this runs for every line and naming seventeen fields takes longer.
    name, parent, cwd, branch = map(line.get, _SHARED)
    return Record(
        piece.place,
        kind,
        type,
        piece.raw,
        messages,
        name if isinstance(name, str) else None,
        parent if isinstance(parent, str) else None,
        moment(line, "timestamp"),
        (text(line, "agentId") or "sidechain") if line.get("isSidechain") is True else None,
        reply_id,
        usage,
        None,  # the window's size: no line says it
        model,
        compaction,
        cwd if isinstance(cwd, str) else None,
        branch if isinstance(branch, str) and branch not in _NO_BRANCH else None,
        note,
    )


_PARSERS: Mapping[str, Callable[[Piece, JsonObject], Record]] = {
    "user": _user,
    "assistant": _assistant,
    "attachment": _attachment,
    "system": _system,
    "tool_result": _tool_result,
}


def _lines_before(transcript: Path, start: int) -> bytes:
    """Return the whole lines before ``start``, as far as we look back."""
    begin = max(0, start - _LOOK_BACK_BYTES)
    with open_transcript(transcript) as file:
        file.seek(begin)
        before = file.read(start - begin)
    return before[before.find(b"\n") + 1 :] if begin else before


def _oldest_queued(before: bytes) -> str | None:
    """Return the oldest text in the queue; None when it is empty, or when an attachment will have it."""
    if _client_version(before) >= known().queued_attachments_since:
        return None
    queue: deque[str] = deque()
    for line in _queue_operations(before):
        match line.get("operation"):
            case "enqueue":
                queue.append(text(line, "content") or "")
            case "popAll":
                queue.clear()
            case "remove" | "dequeue" if queue:
                queue.popleft()
            case _:
                pass
    return queue[0] if queue else None


def _client_version(before: bytes) -> tuple[int, ...]:
    """Return the version of the client that wrote the last of the lines."""
    found = _VERSION.match(before, max(0, before.rfind(b'"version":')))
    return version(found[1].decode("ascii")) if found else ()


def _queue_operations(before: bytes) -> Iterator[JsonObject]:
    end = 0
    while (found := before.find(_OPERATION, end)) >= 0:
        begin = before.rfind(b"\n", end, found) + 1 or end
        end = before.find(b"\n", found) + 1 or len(before)
        if found - begin < _TYPE_BYTES:
            with suppress(ValueError):
                line = loads(before[begin:end])
                if isinstance(line, dict):
                    yield line
