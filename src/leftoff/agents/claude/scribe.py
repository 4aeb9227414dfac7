"""Writes an invented session down as Claude Code 2.1.325 would have, so that the client itself resumes it.

One line per block of a reply, tools that ran side by side as branches, the side lines of an interactive session, subagents
in files of their own, large output beside the transcript. Ids are made from the session's, so the same script gives the
same bytes. Left out is what the client adds again on resuming: its instructions and lists of tools.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from leftoff.agents.claude.pen import Pen
from leftoff.agents.claude.tooling import asked, content, kept
from leftoff.errors import TranscriptError
from leftoff.model.records import Usage
from leftoff.model.script import Asked, Call, Compacted, Delegated, Event, Replied, Script
from leftoff.model.wire import JsonObject, JsonValue

_LONGEST_OUTPUT = 30_000  # characters; more of it goes into a file of its own
_PREVIEW = 2_000
_SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. "
    "The summary below covers the earlier portion of the conversation.\n\nSummary:\n"
)
_LAUNCHED = "Async agent launched successfully.\nagentId: {} (internal ID - do not mention to user.)"
_NOTICE = (
    "<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{call}</tool-use-id>\n<status>completed</status>\n"
    '<summary>Agent "{words}" finished</summary>\n<result>{answer}</result>\n</task-notification>'
)
_PROMPTED: JsonObject = {
    "permissionMode": "default",
    "origin": {"kind": "human"},
    "promptSource": "typed",
    "turnOrigin": "human",
}
_NOTIFIED: JsonObject = {
    "permissionMode": "default",
    "origin": {"kind": "task-notification", "producer": "session-task"},
    "promptSource": "system",
    "turnOrigin": "task_notification",
}


def transcribe(script: Script, transcript: Path) -> None:
    """Write the script at ``transcript``, where nothing may stand yet."""
    _write(transcript, _session(Pen(script), script.events, transcript.with_suffix("").absolute()))


def _write(path: Path, lines: Iterable[JsonObject]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise TranscriptError(
            f"{path}: there is a file already; an invented session never replaces one.", path=path
        ) from error
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(orjson.dumps(line) + b"\n" for line in lines)


def _session(pen: Pen, events: Iterable[Event], folder: Path) -> Iterator[JsonObject]:
    yield pen.beside("mode", {"mode": "normal"})
    yield pen.beside("permission-mode", {"permissionMode": "default"})
    prompt: Asked | None = None
    for event in events:
        match event:
            case Asked():
                if prompt:
                    yield from _turn_end(pen, prompt)
                yield from _prompt(pen, event, is_first=prompt is None)
                prompt = event
            case Replied():
                yield from _reply(pen, event, folder)
            case Delegated():
                yield from _delegated(pen, event, folder)
            case Compacted():
                yield from _compacted(pen, event)
    if prompt:
        yield from _turn_end(pen, prompt)


def _prompt(pen: Pen, event: Asked, *, is_first: bool) -> Iterator[JsonObject]:
    pen.prompt = pen.new_uuid()
    fields: JsonObject = {
        "promptId": pen.prompt,
        "message": {"role": "user", "content": event.text},
        **_PROMPTED,
    }
    line = pen.chained("user", fields, event.at)
    snapshot: JsonObject = {"messageId": pen.leaf, "trackedFileBackups": {}, "timestamp": line["timestamp"]}
    yield {
        "type": "file-history-snapshot",
        "messageId": pen.leaf,
        "snapshot": snapshot,
        "isSnapshotUpdate": False,
    }
    yield line
    if is_first:
        day = f"{event.at:%Y-%m-%d}"
        shown = f"<system-reminder>\nToday's date is {day}.\n</system-reminder>"
        date: JsonObject = {"attachment": {"type": "date", "date": day}, "rendered": [{"content": shown}]}
        yield pen.chained("attachment", {**date, "renderedRole": "system"}, event.at)


def _turn_end(pen: Pen, prompt: Asked) -> Iterator[JsonObject]:
    """What the client notes when it waits for the user again."""
    words = " ".join(prompt.text.split())
    yield pen.beside("last-prompt", {"lastPrompt": words[:200], "leafUuid": pen.leaf})
    turn: JsonObject = {"subtype": "turn_duration", "durationMs": 502, "isMeta": False}
    yield pen.chained("system", turn, prompt.at)


def _reply(pen: Pen, event: Replied, folder: Path) -> Iterator[JsonObject]:
    named = [(pen.new_name("toolu_01"), call) for call in event.calls]
    blocks: list[JsonObject] = []
    if event.thinking:
        signature = pen.new_name("", 64)
        blocks.append({"type": "thinking", "thinking": event.thinking, "signature": signature})
    if event.text or not (event.thinking or named):
        blocks.append({"type": "text", "text": event.text})
    for call_id, call in named:
        tool, given = asked(call)
        blocks.append({"type": "tool_use", "id": call_id, "name": tool, "input": given})
    written = [*_blocks(pen, blocks, event)]
    yield from written
    leaf = pen.leaf
    for (call_id, call), line in zip(named, written[len(written) - len(named) :], strict=True):
        if call.answer is not None:
            pen.leaf = str(line["uuid"])
            yield _answer(pen, call_id, call, call.answer, event, folder)
            leaf = pen.leaf
    pen.leaf = leaf


def _blocks(pen: Pen, blocks: list[JsonObject], event: Replied | Delegated) -> Iterator[JsonObject]:
    """A reply: a line for each block, all with the same id and usage."""
    message_id, request_id = pen.new_name("msg_01"), pen.new_name("req_01")
    has_calls = blocks[-1]["type"] == "tool_use"
    for number, block in enumerate(blocks):
        message: JsonObject = {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": pen.script.model.removesuffix("[1m]"),
            "content": [block],
            "stop_reason": "tool_use" if has_calls else "end_turn",
            "stop_sequence": None,
            "usage": _usage(event.usage),
        }
        fields: JsonObject = {
            "message": message,
            "apiBlockIndex": number,
            "requestId": request_id,
            "requestedModel": pen.script.model,
            "madeBy": "model",
        }
        yield pen.chained("assistant", fields, event.at)


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


def _answer(pen: Pen, call_id: str, call: Call, answer: str, event: Replied, folder: Path) -> JsonObject:
    sent, keeps = content(call, answer), kept(call, answer)
    if call.tool == "shell" and len(answer) > _LONGEST_OUTPUT:
        file = folder / "tool-results" / f"{pen.new_name('b', 8)}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(answer, encoding="utf-8", newline="")
        sent = _shortened(answer, file)
        if isinstance(keeps, dict):
            keeps |= {"stdout": answer[:_LONGEST_OUTPUT], "persistedOutputPath": str(file)}
    result: JsonObject = {"tool_use_id": call_id, "type": "tool_result", "content": sent}
    if call.tool == "shell" or call.failed:
        result["is_error"] = call.failed
    return _tool_line(pen, result, keeps, event)


def _shortened(answer: str, file: Path) -> str:
    size = f"{len(answer.encode()) / 1024:.1f}KB"
    return (
        f"<persisted-output>\nOutput too large ({size}). Full output saved to: {file}\n\n"
        f"Preview (first 2KB):\n{answer[:_PREVIEW]}\n...\n</persisted-output>"
    )


def _tool_line(pen: Pen, result: JsonObject, keeps: JsonValue, event: Replied | Delegated) -> JsonObject:
    fields: JsonObject = {
        "promptId": pen.prompt,
        "message": {"role": "user", "content": [result]},
        "toolUseResult": keeps,
        "sourceToolAssistantUUID": pen.leaf,
    }
    return pen.chained("user", fields, event.at)


def _delegated(pen: Pen, event: Delegated, folder: Path) -> Iterator[JsonObject]:
    """The subagent runs in the background: it is launched, and a notice brings its answer."""
    words = " ".join(event.task.split())[:40]
    call_id, agent_id = pen.new_name("toolu_01"), pen.new_name("a", 16)
    given: JsonObject = {"description": words, "prompt": event.task, "subagent_type": "general-purpose"}
    use: JsonObject = {"type": "tool_use", "id": call_id, "name": "Agent", "input": given}
    yield from _blocks(pen, [use], event)
    launched: JsonObject = {"isAsync": True, "status": "async_launched", "agentId": agent_id, **given}
    shown: JsonObject = {"type": "text", "text": _LAUNCHED.format(agent_id)}
    result: JsonObject = {"tool_use_id": call_id, "type": "tool_result", "content": [shown]}
    yield _tool_line(pen, result, launched, event)
    _write_subagent(pen.script, agent_id, event, folder)
    notice = _NOTICE.format(task=agent_id, call=call_id, words=words, answer=event.answer)
    for operation in ({"operation": "enqueue", "content": notice}, {"operation": "dequeue"}):
        yield pen.beside("queue-operation", {**operation, "timestamp": pen.stamp(event.at)})
    pen.prompt = pen.new_uuid()
    fields: JsonObject = {"promptId": pen.prompt, "message": {"role": "user", "content": notice}, **_NOTIFIED}
    yield pen.chained("user", fields, event.at)


def _write_subagent(script: Script, agent_id: str, event: Delegated, folder: Path) -> None:
    file = folder / "subagents" / f"agent-{agent_id}.jsonl"
    pen = Pen(script, agent_id=agent_id)
    _write(file, _subagent(pen, event, folder))
    _write(file.with_suffix(".meta.json"), [{"agentType": "general-purpose"}])


def _subagent(pen: Pen, event: Delegated, folder: Path) -> Iterator[JsonObject]:
    yield pen.chained("user", {"message": {"role": "user", "content": event.task}}, event.at)
    for step in event.steps:
        yield from _reply(pen, step, folder)


def _compacted(pen: Pen, event: Compacted) -> Iterator[JsonObject]:
    """The boundary has no parent; what follows hangs from it, so the old lines are out of the chain."""
    said: JsonObject = {
        "trigger": "auto" if event.automatic else "manual",
        "preTokens": event.before_tokens,
        "postTokens": event.after_tokens,
        "cumulativeDroppedTokens": max(0, event.before_tokens - event.after_tokens),
    }
    fields: JsonObject = {
        "logicalParentUuid": pen.leaf,
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "level": "info",
        "compactMetadata": said,
    }
    pen.leaf = None
    yield pen.chained("system", fields, event.at)
    message: JsonObject = {"role": "user", "content": _SUMMARY + event.summary}
    flags: JsonObject = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
    yield pen.chained("user", {"message": message, **flags}, event.at)
