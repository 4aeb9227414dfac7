"""Write an invented session as Claude Code 2.1.325 would, so that the client itself can resume it.

One line per block of a reply, parallel tool calls as branches, the bookkeeping lines of an interactive session, subagents
in separate files, large output beside the transcript. Ids are derived from the session's id, so the same script gives the
same bytes. Instructions and lists of tools are left out, because the client adds them when it resumes. A tool without a
counterpart in Claude Code is written unchanged.
"""

from __future__ import annotations

import base64
import hashlib
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

from leftoff.agents.jsonl import count, rows, text
from leftoff.core.records import Usage
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import TranscriptError
from leftoff.testing.script import Asked, Call, Compacted, DelegatedTask, Event, Replied, Script

_LONGEST_OUTPUT = 30_000  # characters; longer output is saved in a separate file
_PREVIEW = 2_000
_SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. "
    "The summary below covers the earlier portion of the conversation.\n\nSummary:\n"
)
_LAUNCHED = "Async agent launched successfully.\nagentId: {} (internal ID - do not mention to user.)"
_NOTICE = (
    "<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{call}</tool-use-id>\n<status>completed</status>\n"
    '<summary>Agent "{description}" finished</summary>\n<result>{answer}</result>\n</task-notification>'
)
_PROMPT_FIELDS: JsonObject = {
    "permissionMode": "default",
    "origin": {"kind": "human"},
    "promptSource": "typed",
    "turnOrigin": "human",
}
_NOTICE_FIELDS: JsonObject = {
    "permissionMode": "default",
    "origin": {"kind": "task-notification", "producer": "session-task"},
    "promptSource": "system",
    "turnOrigin": "task_notification",
}


def write_transcript(script: Script, transcript: Path) -> None:
    """Write the script to ``transcript``, where there must be no file yet."""
    _write(transcript, _session(LineWriter(script), script.events, transcript.with_suffix("").absolute()))


def _write(path: Path, lines: Iterable[JsonObject]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise TranscriptError(f"{path}: the file exists already and is not replaced.", path=path) from error
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(orjson.dumps(line) + b"\n" for line in lines)


def _session(writer: LineWriter, events: Iterable[Event], folder: Path) -> Iterator[JsonObject]:
    yield writer.bookkeeping_line("mode", {"mode": "normal"})
    yield writer.bookkeeping_line("permission-mode", {"permissionMode": "default"})
    prompt: Asked | None = None
    for event in events:
        match event:
            case Asked():
                if prompt:
                    yield from _turn_end(writer, prompt)
                yield from _prompt(writer, event, is_first=prompt is None)
                prompt = event
            case Replied():
                yield from _reply(writer, event, folder)
            case DelegatedTask():
                yield from _delegated(writer, event, folder)
            case Compacted():
                yield from _compacted(writer, event)
    if prompt:
        yield from _turn_end(writer, prompt)


def _prompt(writer: LineWriter, event: Asked, *, is_first: bool) -> Iterator[JsonObject]:
    writer.prompt = writer.new_uuid()
    fields: JsonObject = {
        "promptId": writer.prompt,
        "message": {"role": "user", "content": event.text},
        **_PROMPT_FIELDS,
    }
    line = writer.chain_line("user", fields, event.at)
    snapshot: JsonObject = {
        "messageId": writer.leaf,
        "trackedFileBackups": {},
        "timestamp": line["timestamp"],
    }
    yield {
        "type": "file-history-snapshot",
        "messageId": writer.leaf,
        "snapshot": snapshot,
        "isSnapshotUpdate": False,
    }
    yield line
    if is_first:
        day = f"{event.at:%Y-%m-%d}"
        shown = f"<system-reminder>\nToday's date is {day}.\n</system-reminder>"
        date: JsonObject = {"attachment": {"type": "date", "date": day}, "rendered": [{"content": shown}]}
        yield writer.chain_line("attachment", {**date, "renderedRole": "system"}, event.at)


def _turn_end(writer: LineWriter, prompt: Asked) -> Iterator[JsonObject]:
    """Yield what the client writes when it waits for the user again."""
    prompt_text = " ".join(prompt.text.split())
    yield writer.bookkeeping_line("last-prompt", {"lastPrompt": prompt_text[:200], "leafUuid": writer.leaf})
    turn: JsonObject = {"subtype": "turn_duration", "durationMs": 502, "isMeta": False}
    yield writer.chain_line("system", turn, prompt.at)


def _reply(writer: LineWriter, event: Replied, folder: Path) -> Iterator[JsonObject]:
    identified_calls = [(writer.new_name("toolu_01"), call) for call in event.calls]
    blocks: list[JsonObject] = []
    if event.thinking:
        signature = writer.new_name("", 64)
        blocks.append({"type": "thinking", "thinking": event.thinking, "signature": signature})
    if event.text or not (event.thinking or identified_calls):
        blocks.append({"type": "text", "text": event.text})
    for call_id, call in identified_calls:
        tool, given = _tool_call(call)
        blocks.append({"type": "tool_use", "id": call_id, "name": tool, "input": given})
    written = [*_blocks(writer, blocks, event)]
    yield from written
    leaf = writer.leaf
    for (call_id, call), line in zip(
        identified_calls, written[len(written) - len(identified_calls) :], strict=True
    ):
        if call.answer is not None:
            writer.leaf = str(line["uuid"])
            yield _answer(writer, call_id, call, call.answer, event, folder)
            leaf = writer.leaf
    writer.leaf = leaf


def _blocks(
    writer: LineWriter, blocks: list[JsonObject], event: Replied | DelegatedTask
) -> Iterator[JsonObject]:
    """Yield a reply: one line for each block, all with the same id and usage."""
    message_id, request_id = writer.new_name("msg_01"), writer.new_name("req_01")
    has_calls = blocks[-1]["type"] == "tool_use"
    for number, block in enumerate(blocks):
        message: JsonObject = {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": writer.script.model.removesuffix("[1m]"),
            "content": [block],
            "stop_reason": "tool_use" if has_calls else "end_turn",
            "stop_sequence": None,
            "usage": _usage(event.usage),
        }
        fields: JsonObject = {
            "message": message,
            "apiBlockIndex": number,
            "requestId": request_id,
            "requestedModel": writer.script.model,
            "madeBy": "model",
        }
        yield writer.chain_line("assistant", fields, event.at)


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
        "service_tier": "standard",
        "cache_creation": {
            "ephemeral_1h_input_tokens": 0,
            "ephemeral_5m_input_tokens": usage.cache_creation_tokens,
        },
        "iterations": [],
        "speed": "standard",
    }


def _answer(
    writer: LineWriter, call_id: str, call: Call, answer: str, event: Replied, folder: Path
) -> JsonObject:
    sent, client_result = _answer_content(call, answer), _tool_use_result(call, answer)
    if call.tool == "shell" and len(answer) > _LONGEST_OUTPUT:
        file = folder / "tool-results" / f"{writer.new_name('b', 8)}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(answer, encoding="utf-8", newline="")
        sent = _persisted_output(answer, file)
        if isinstance(client_result, dict):
            client_result |= {"stdout": answer[:_LONGEST_OUTPUT], "persistedOutputPath": str(file)}
    result: JsonObject = {"tool_use_id": call_id, "type": "tool_result", "content": sent}
    if call.tool == "shell" or call.failed:
        result["is_error"] = call.failed
    return _tool_line(writer, result, client_result, event)


def _persisted_output(answer: str, file: Path) -> str:
    size = f"{len(answer.encode()) / 1024:.1f}KB"
    return (
        f"<persisted-output>\nOutput too large ({size}). Full output saved to: {file}\n\n"
        f"Preview (first 2KB):\n{answer[:_PREVIEW]}\n...\n</persisted-output>"
    )


def _tool_line(
    writer: LineWriter, result: JsonObject, client_result: JsonValue, event: Replied | DelegatedTask
) -> JsonObject:
    fields: JsonObject = {
        "promptId": writer.prompt,
        "message": {"role": "user", "content": [result]},
        "toolUseResult": client_result,
        "sourceToolAssistantUUID": writer.leaf,
    }
    return writer.chain_line("user", fields, event.at)


def _delegated(writer: LineWriter, event: DelegatedTask, folder: Path) -> Iterator[JsonObject]:
    """Yield a subagent in the background: its launch, and a notice with its answer."""
    description = " ".join(event.task.split())[:40]
    call_id, agent_id = writer.new_name("toolu_01"), writer.new_name("a", 16)
    given: JsonObject = {"description": description, "prompt": event.task, "subagent_type": "general-purpose"}
    use: JsonObject = {"type": "tool_use", "id": call_id, "name": "Agent", "input": given}
    yield from _blocks(writer, [use], event)
    launched: JsonObject = {"isAsync": True, "status": "async_launched", "agentId": agent_id, **given}
    shown: JsonObject = {"type": "text", "text": _LAUNCHED.format(agent_id)}
    result: JsonObject = {"tool_use_id": call_id, "type": "tool_result", "content": [shown]}
    yield _tool_line(writer, result, launched, event)
    _write_subagent(writer.script, agent_id, event, folder)
    notice = _NOTICE.format(task=agent_id, call=call_id, description=description, answer=event.answer)
    for operation in ({"operation": "enqueue", "content": notice}, {"operation": "dequeue"}):
        yield writer.bookkeeping_line("queue-operation", {**operation, "timestamp": writer.stamp(event.at)})
    writer.prompt = writer.new_uuid()
    fields: JsonObject = {
        "promptId": writer.prompt,
        "message": {"role": "user", "content": notice},
        **_NOTICE_FIELDS,
    }
    yield writer.chain_line("user", fields, event.at)


def _write_subagent(script: Script, agent_id: str, event: DelegatedTask, folder: Path) -> None:
    file = folder / "subagents" / f"agent-{agent_id}.jsonl"
    writer = LineWriter(script, agent_id=agent_id)
    _write(file, _subagent(writer, event, folder))
    _write(file.with_suffix(".meta.json"), [{"agentType": "general-purpose"}])


def _subagent(writer: LineWriter, event: DelegatedTask, folder: Path) -> Iterator[JsonObject]:
    yield writer.chain_line("user", {"message": {"role": "user", "content": event.task}}, event.at)
    for step in event.steps:
        yield from _reply(writer, step, folder)


def _compacted(writer: LineWriter, event: Compacted) -> Iterator[JsonObject]:
    """Yield a boundary without a parent and the summary below it, so that older lines are no longer in the chain."""
    metadata: JsonObject = {
        "trigger": "auto" if event.automatic else "manual",
        "preTokens": event.before_tokens,
        "postTokens": event.after_tokens,
        "cumulativeDroppedTokens": max(0, event.before_tokens - event.after_tokens),
    }
    fields: JsonObject = {
        "logicalParentUuid": writer.leaf,
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "level": "info",
        "compactMetadata": metadata,
    }
    writer.leaf = None
    yield writer.chain_line("system", fields, event.at)
    message: JsonObject = {"role": "user", "content": _SUMMARY + event.summary}
    flags: JsonObject = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
    yield writer.chain_line("user", {"message": message, **flags}, event.at)


def as_compacted_by_mod(transcript: Path, mod_text: str, *, keeps: bool) -> None:
    """Rewrite every compaction of a transcript as the client writes one that a mod has answered.

    The summary gives way to a message of the mod and the messages so far: rebuilt, or with ``keeps`` as they were but for ids.
    """
    lines = [orjson.loads(line) for line in transcript.read_bytes().splitlines()]
    written: list[JsonObject] = []
    for line in lines:
        if line.get("isCompactSummary"):
            written += _replacements(written, line, mod_text, keeps=keeps)
            written[-1]["uuid"] = line["uuid"]  # what follows hangs from it
        else:
            written.append(line)
    transcript.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in written))


def _replacements(
    before: list[JsonObject], summary: JsonObject, mod_text: str, *, keeps: bool
) -> Iterator[JsonObject]:
    boundary = before[-1]
    at = datetime.fromisoformat(str(boundary["timestamp"])) - 7 * _TICK
    stamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    shared = {key: summary[key] for key in ("isSidechain", "cwd", "sessionId", "version", "gitBranch")}
    since = max((number for number, line in enumerate(before[:-1]) if _is_boundary(line)), default=-1)
    parent = boundary["uuid"]
    message: JsonObject = {"role": "user", "content": mod_text}
    replaced: list[JsonObject] = [{"type": "user", "message": message, "timestamp": stamp, **shared}]
    for number, line in enumerate(before[since + 1 : -1]):
        if line["type"] in {"user", "assistant"}:
            copy = {**line} if keeps else {"type": line["type"], "timestamp": stamp, **shared}
            replaced.append(copy | {"message": _copied_message(line, number, keeps=keeps)})
    for number, line in enumerate(replaced):
        line |= {
            "parentUuid": parent,
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{boundary['uuid']}/{number}")),
        }
        parent = line["uuid"]
        yield line


def _is_boundary(line: JsonObject) -> bool:
    return line.get("subtype") == "compact_boundary"


def _copied_message(line: JsonObject, number: int, *, keeps: bool) -> JsonValue:
    """Return the message of a line as it is repeated: without usage; rebuilt ones also get new ids and no model."""
    message: JsonObject = orjson.loads(orjson.dumps(line["message"]))
    if message["role"] == "assistant":
        message["usage"] = _usage(Usage(input_tokens=0, output_tokens=0))
        if not keeps:
            message |= {"id": f"mod-{number}", "model": "<synthetic>"}
    content = message["content"]
    for block in content if isinstance(content, list) and not keeps else []:
        for key in {"id", "tool_use_id"} & {*block}:  # type: ignore[misc]
            block[key] = f"toolu_mod_{block[key]}"  # type: ignore[call-overload, index]
    return message


VERSION = "2.1.325"
_TICK = timedelta(milliseconds=1)
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class LineWriter:
    """Give the lines of one conversation ids, parents and times: of the main one, or of subagent ``agent_id``."""

    script: Script
    agent_id: str | None = None
    leaf: str | None = None  # the parent of the next line
    prompt: str | None = None  # id of the prompt that is being answered
    _now: datetime = _BEGINNING
    _ids: int = 0

    def chain_line(self, kind: str, fields: JsonObject, at: datetime) -> JsonObject:
        """Return a line of the chain below the last one, and make it the last."""
        parent, self.leaf = self.leaf, self.new_uuid()
        return {
            "parentUuid": parent,
            "isSidechain": self.agent_id is not None,
            **({"agentId": self.agent_id} if self.agent_id else {}),
            **fields,
            "type": kind,
            "uuid": self.leaf,
            "timestamp": self.stamp(at),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.script.project,
            "sessionId": self.script.session_id,
            "version": VERSION,
            "gitBranch": self.script.branch,
        }

    def bookkeeping_line(self, kind: str, fields: JsonObject) -> JsonObject:
        """Return a line of the client's bookkeeping, which is not in the chain."""
        return {"type": kind, **fields, "sessionId": self.script.session_id}

    def stamp(self, at: datetime) -> str:
        """Return the time of a line, which is never before that of the previous line."""
        self._now = max(at.astimezone(UTC), self._now + _TICK)
        return self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def new_uuid(self) -> str:
        """Return the next id, which looks random but is always the same."""
        return str(uuid.UUID(bytes=self._digest()[:16], version=4))

    def new_name(self, prefix: str, characters: int = 24) -> str:
        """Return the next id of another kind: ``msg_…``, ``toolu_…``."""
        return prefix + self._digest().hex()[:characters]

    def _digest(self) -> bytes:
        self._ids += 1
        seed = f"{self.script.session_id}/{self.agent_id or ''}/{self._ids}"
        return hashlib.sha256(seed.encode()).digest()


_NAMES: Mapping[str, str] = {
    "shell": "Bash",
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "search": "Grep",
    "list": "Glob",
    "todo": "TodoWrite",
    "fetch": "WebFetch",
}
_KEYS: Mapping[str, str] = {"path": "file_path", "old": "old_string", "new": "new_string"}


def _tool_call(call: Call) -> tuple[str, JsonObject]:
    """Return name and input of the tool call."""
    given = call.input
    match call.tool:
        case "read" | "write" | "edit":
            return _NAMES[call.tool], {_KEYS.get(key, key): value for key, value in given.items()}
        case "search":
            return "Grep", {**given, "output_mode": "content"}
        case "list":
            return "Glob", {"pattern": "*", **given}
        case "todo":
            return "TodoWrite", {"todos": [_todo(item) for item in rows(given, "items")]}
        case "fetch":
            return "WebFetch", {**given, "prompt": "What does this page say?"}
        case _:
            return _NAMES.get(call.tool, call.tool), given


def _answer_content(call: Call, answer: str) -> JsonValue:
    """Return what the model is sent as the answer."""
    content = _number_lines(answer, count(call.input, "offset") or 1) if _is_file_read(call) else answer
    if call.image is None:
        return content
    source: JsonObject = {"type": "base64", "media_type": "image/png", "data": _base64(call.image)}
    picture: JsonObject = {"type": "image", "source": source}
    return [picture] if not answer else [{"type": "text", "text": answer}, picture]


def _tool_use_result(call: Call, answer: str) -> JsonValue:
    """Return what the client keeps for itself of the answer (``toolUseResult``)."""
    if call.failed:
        return f"Error: {answer}"
    if call.image is not None:
        file: JsonObject = {
            "base64": _base64(call.image),
            "type": "image/png",
            "originalSize": len(call.image),
        }
        return {"type": "image", "file": file}
    keep = _TOOL_USE_RESULTS.get(call.tool)
    return keep(call.input, answer) if keep else answer


def _number_lines(lines: str, first: int) -> str:
    """Return the lines of a file as the client shows them."""
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines.split("\n"), first))


def _is_file_read(call: Call) -> bool:
    return call.tool == "read" and call.image is None and not call.failed


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _todo(item: JsonValue) -> JsonValue:
    if not isinstance(item, dict):
        return item
    content = text(item, "text") or ""
    return {"content": content, "status": item.get("status", "pending"), "activeForm": content}


def _shell(_: JsonObject, answer: str) -> JsonObject:
    return {
        "stdout": answer,
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }


def _read(given: JsonObject, answer: str) -> JsonObject:
    first, lines = count(given, "offset") or 1, answer.count("\n") + 1
    file: JsonObject = {
        "filePath": given.get("path"),
        "content": answer,
        "numLines": lines,
        "startLine": first,
        "totalLines": first + lines - 1,
    }
    return {"type": "text", "file": file}


def _write_file(given: JsonObject, _: str) -> JsonObject:
    return {
        "type": "create",
        "filePath": given.get("path"),
        "content": given.get("content"),
        "structuredPatch": [],
        "originalFile": None,
        "userModified": False,
    }


def _edit(given: JsonObject, _: str) -> JsonObject:
    return {
        "filePath": given.get("path"),
        "oldString": given.get("old"),
        "newString": given.get("new"),
        "originalFile": given.get("old"),
        "structuredPatch": [],
        "userModified": False,
        "replaceAll": False,
    }


def _search(_: JsonObject, answer: str) -> JsonObject:
    lines = answer.count("\n") + 1
    return {"mode": "content", "numFiles": 0, "filenames": [], "content": answer, "numLines": lines}


def _list(_: JsonObject, answer: str) -> JsonObject:
    names: list[JsonValue] = [*answer.split("\n")]
    return {"filenames": names, "durationMs": 12, "numFiles": len(names), "truncated": False}


def _todos(given: JsonObject, _: str) -> JsonObject:
    return {"oldTodos": [], "newTodos": [_todo(item) for item in rows(given, "items")]}


def _fetch(given: JsonObject, answer: str) -> JsonObject:
    return {
        "bytes": len(answer),
        "code": 200,
        "codeText": "OK",
        "result": answer,
        "durationMs": 900,
        "url": given.get("url"),
    }


_TOOL_USE_RESULTS: Mapping[str, Callable[[JsonObject, str], JsonObject]] = {
    "shell": _shell,
    "read": _read,
    "write": _write_file,
    "edit": _edit,
    "search": _search,
    "list": _list,
    "todo": _todos,
    "fetch": _fetch,
}
