"""Turns one line of a transcript into a record: pure, and never surprised.

A reply of the model stands on several lines, one per block, with the same ``reply_id`` and usage. A compaction is two
lines, both of that kind: the boundary, with the numbers, and the summary, with the words, which is sent. Before 2.0.76
there was no boundary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from leftoff.agents.claude import attachments
from leftoff.agents.claude.blocks import blocks, result_parts
from leftoff.agents.claude.known import known
from leftoff.agents.claude.typed import is_own
from leftoff.agents.fields import count, moment, table, text
from leftoff.agents.jsonl import Piece
from leftoff.model.records import (
    Compaction,
    Message,
    Record,
    RecordKind,
    ToolResult,
    ToolUse,
    Usage,
)
from leftoff.model.wire import JsonObject

_SHARED = ("uuid", "parentUuid", "cwd", "gitBranch")
_NO_BRANCH = ("", "HEAD")  # what stands there outside git and on no branch
SYNTHETIC_MODEL = "<synthetic>"  # words of the client in the model's place


def record(piece: Piece) -> Record:
    """The record that a piece of the file is."""
    line = piece.value
    if line is None:
        return _no_record(piece)
    name = line.get("type")
    return (_READERS.get(name, _other) if isinstance(name, str) else _other)(piece, line)


def usage(line: JsonObject) -> Usage | None:
    """What the reply took; None where nothing is said, or zeros, as clients write for words of their own (L2)."""
    message = table(line, "message")
    said = message.get("usage")
    if (
        not isinstance(said, dict)
        or message.get("model") == SYNTHETIC_MODEL
        or line.get("isApiErrorMessage") is True
    ):
        return None
    taken, output = count(said, "input_tokens") or 0, count(said, "output_tokens") or 0
    read, written = (
        count(said, "cache_read_input_tokens") or 0,
        count(said, "cache_creation_input_tokens") or 0,
    )
    return _usage(taken, output, read, written) if taken or output or read or written else None


@lru_cache(maxsize=1)  # a reply stands on several lines that say the same
def _usage(taken: int, output: int, read: int, written: int) -> Usage:
    return Usage(
        input_tokens=taken, output_tokens=output, cache_read_tokens=read, cache_creation_tokens=written
    )


def model(line: JsonObject) -> str | None:
    """The model as it was asked for: only that name keeps the suffix of a larger window."""
    name = text(line, "requestedModel") or text(table(line, "message"), "model")
    return None if name == SYNTHETIC_MODEL else name


def _no_record(piece: Piece) -> Record:
    if piece.note is None:
        return Record(place=piece.place, kind=RecordKind.SIDE, type="blank", raw=piece.raw)
    return Record(place=piece.place, kind=RecordKind.BROKEN, type="broken", raw=piece.raw, note=piece.note)


def _user(piece: Piece, line: JsonObject) -> Record:
    found = blocks(table(line, "message").get("content"))
    if line.get("isCompactSummary") is True:
        return _summary(piece, line)
    if is_own(line, found):
        kind = RecordKind.PROMPT
    elif ToolResult in map(type, found):
        kind = RecordKind.RESULT
    else:
        kind = RecordKind.CONTEXT
    if "origin" in line and text(table(line, "origin"), "kind") == "task-notification":
        found = tuple(attachments.notice(block) for block in found)
    sent = (Message(role="user", blocks=found),) if found else ()
    return _record(piece, line, kind=kind, type="user", messages=sent)


def _summary(piece: Piece, line: JsonObject) -> Record:
    sent = Message(role="user", blocks=blocks(table(line, "message").get("content")))
    return _record(
        piece,
        line,
        kind=RecordKind.COMPACTION,
        type="user",
        messages=(sent,),
        compaction=Compaction(trigger=None, before_tokens=None, after_tokens=None, summary=sent.text or None),
    )


def _assistant(piece: Piece, line: JsonObject) -> Record:
    message = table(line, "message")
    found = blocks(message.get("content"))
    sent = Message(role="assistant", blocks=found)
    if line.get("isApiErrorMessage") is True:  # shown to the user, never sent
        return _record(piece, line, kind=RecordKind.SIDE, type="assistant", note=sent.text)
    return _record(
        piece,
        line,
        kind=RecordKind.REPLY,
        type="assistant",
        messages=(sent,) if found else (),
        reply_id=text(message, "id"),
        usage=usage(line),
        model=model(line),
    )


def _attachment(piece: Piece, line: JsonObject) -> Record:
    name = text(table(line, "attachment"), "type") or ""
    kind = known().attachments.get(name)
    return _record(
        piece,
        line,
        kind=_refined(kind, line) if kind else RecordKind.UNKNOWN,
        type=f"attachment/{name}",
        messages=attachments.messages(line) if kind is not RecordKind.SIDE else (),
        note=None if kind else f"an attachment of a type not seen up to {known().seen}",
    )


def _refined(kind: RecordKind, line: JsonObject) -> RecordKind:
    return RecordKind.PROMPT if attachments.is_own(line) else kind


def _system(piece: Piece, line: JsonObject) -> Record:
    name = text(line, "subtype") or ""
    compaction = _COMPACTIONS.get(name)
    if compaction:
        return _record(
            piece, line, kind=RecordKind.COMPACTION, type=f"system/{name}", compaction=compaction(line)
        )
    kind = known().system.get(name, RecordKind.UNKNOWN if name else RecordKind.SIDE)
    words = blocks(line.get("content")) if kind is RecordKind.CONTEXT else ()
    return _record(
        piece,
        line,
        kind=kind,
        type=f"system/{name}" if name else "system",
        messages=(Message(role="user", blocks=words),) if words else (),
        note=f"a system line of a type not seen up to {known().seen}" if kind is RecordKind.UNKNOWN else None,
    )


def _boundary(line: JsonObject) -> Compaction:
    said = table(line, "compactMetadata")
    trigger = said.get("trigger")
    return Compaction(
        trigger="auto" if trigger == "auto" else "manual" if trigger == "manual" else None,
        before_tokens=count(said, "preTokens"),
        after_tokens=count(said, "postTokens"),
        summary=None,  # it stands on the next user's line
    )


def _micro_boundary(line: JsonObject) -> Compaction:
    """Old results are no longer sent. The numbers are of the conversation alone, without the fixed part of the context."""
    said = table(line, "microcompactMetadata")
    before, saved = count(said, "preTokens"), count(said, "tokensSaved")
    after = None if before is None or saved is None else max(0, before - saved)
    return Compaction(trigger="micro", before_tokens=before, after_tokens=after, summary=None)


def _tool_result(piece: Piece, line: JsonObject) -> Record:
    """The simple line of 002 (``message.tool_name``): the request is made up, so that the tool's name is kept."""
    message = table(line, "message")
    call_id = f"line-{piece.place.line_idx + 1}"
    asked = ToolUse(call_id=call_id, tool=text(message, "tool_name") or "", input={})
    answered = ToolResult(call_id=call_id, parts=result_parts(message.get("content")))
    return _record(
        piece,
        line,
        kind=RecordKind.RESULT,
        type="tool_result",
        messages=(Message(role="assistant", blocks=(asked,)), Message(role="user", blocks=(answered,))),
    )


def _other(piece: Piece, line: JsonObject) -> Record:
    name = text(line, "type")
    kind = known().records.get(name or "", RecordKind.UNKNOWN)
    if name is None:
        kind = RecordKind.SIDE if _is_metadata(line) else RecordKind.UNKNOWN
    note = f"a line of a type not seen up to {known().seen}" if kind is RecordKind.UNKNOWN else None
    return _record(piece, line, kind=kind, type=name or "", note=note)


def _is_metadata(line: JsonObject) -> bool:
    """Whether the line is one that a trimmer put at the head of its copy (002)."""
    return "trim_metadata" in line or "continue_metadata" in line


_READERS: Mapping[str, Callable[[Piece, JsonObject], Record]] = {
    "user": _user,
    "assistant": _assistant,
    "attachment": _attachment,
    "system": _system,
    "tool_result": _tool_result,
}
_COMPACTIONS: Mapping[str, Callable[[JsonObject], Compaction]] = {
    "compact_boundary": _boundary,
    "microcompact_boundary": _micro_boundary,
}


def _record(
    piece: Piece,
    line: JsonObject,
    *,
    kind: RecordKind,
    type: str,  # noqa: A002 - the field's name
    messages: tuple[Message, ...] = (),
    reply_id: str | None = None,
    usage: Usage | None = None,
    model: str | None = None,
    compaction: Compaction | None = None,
    note: str | None = None,
) -> Record:
    """A record with the fields that all lines share."""
    # Not by ``text``, and not by name: this is done for every line there is, and naming seventeen fields takes longer.
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
        _actor(line) if line.get("isSidechain") is True else None,
        reply_id,
        usage,
        None,  # the window: no line says it
        model,
        compaction,
        cwd if isinstance(cwd, str) else None,
        branch if isinstance(branch, str) and branch not in _NO_BRANCH else None,
        note,
    )


def _actor(line: JsonObject) -> str:
    return text(line, "agentId") or "sidechain"
