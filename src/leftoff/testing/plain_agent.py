"""The reference adapter: a made-up agent with the simplest transcript, and a pattern for real ones.

A line of its file is an object with ``head`` (id, folder, model), ``said`` (a message, with usage if the API gave one) or
``compacted``. It also reads the tools of invented sessions (``leftoff.testing.script``) and writes such sessions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from leftoff.agents.base import JsonlAgent, TranscriptHead
from leftoff.agents.jsonl import JsonLines, Piece, count, rows, table, text
from leftoff.core.actions import (
    Action,
    Answer,
    Changed,
    Delegated,
    Fetched,
    Looked,
    Other,
    Planned,
    Ran,
    Searched,
    Todo,
    Wrote,
)
from leftoff.core.records import (
    Block,
    Compaction,
    Message,
    Place,
    Record,
    RecordKind,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
)
from leftoff.core.session import Session
from leftoff.core.wire import JsonObject
from leftoff.errors import StorageError
from leftoff.platform import clock
from leftoff.testing.script import Asked, Call, Compacted, DelegatedTask, Event, Replied, Script

_EXIT_CODE = re.compile(r"Exit code:? (\d+)\n?")


class PlainAgent(JsonlAgent):
    """The adapter."""

    id = "plain"
    name = "Plain"

    def transcripts(self) -> Iterator[Path]:
        """Find every ``*.plain.jsonl`` in the home folder."""
        return self.home.glob("*.plain.jsonl")

    def recognises(self, head: bytes) -> bool:
        """Return whether the first line names this agent."""
        return head.startswith(b'{"head": {"agent": "plain"')

    def read_head(self, lines: JsonLines) -> TranscriptHead:
        """Read the session's id from the first line."""
        head, first = super().read_head(lines), next(iter(lines.oldest_first()), None)
        session_id = text(table((first and first.value) or {}, "head"), "session_id")
        return head._replace(session_id=session_id or head.session_id)

    def parse(self, line: JsonObject, record: Record) -> Record:
        """Read a line of the three known types."""
        return _parse(line, record)

    def actions(self, use: ToolUse) -> tuple[Action, ...]:
        """Return what a tool of an invented session does."""
        return actions(use)

    def answer(self, use: ToolUse, result: ToolResult) -> Answer:
        """Return the result of such a tool."""
        return answer(use, result)


def write_transcript(script: Script, transcript: Path) -> None:
    """Write an invented session in this agent's format; ``transcript`` must not exist yet."""
    try:
        with transcript.open("xb") as file:
            file.writelines(_lines(script))
    except FileExistsError:
        raise StorageError(f"{transcript}: is there already; nothing was written.") from None


def session_in_memory(script: Script) -> Session:
    """Return the session that reading the script's transcript would give, without a file."""
    agent, records, start = PlainAgent(Path("memory")), [], 0
    for number, line in enumerate(_lines(script)):
        place = Place("memory", number, start, start + len(line))
        records.append(agent.record(Piece(place, line, json.loads(line), None)))
        start += len(line)
    return Session(
        agent="plain",
        session_id=script.session_id,
        transcript="memory",
        records=tuple(records),
        project=script.project,
        model=script.model,
    )


def _parse(line: JsonObject, record: Record) -> Record:
    match line:
        case {"head": dict(head)}:
            return record._replace(
                kind=RecordKind.SIDE, type="head", cwd=text(head, "project"), model=text(head, "model")
            )
        case {"said": dict(said)}:
            return _parse_message(said, record)
        case {"compacted": dict(compacted)}:
            return _parse_compaction(compacted, record)
        case _:
            return record._replace(type=", ".join(line)[:80], note="unknown")


def _parse_message(said: dict[str, Any], record: Record) -> Record:
    message = Message(role=said["role"], blocks=tuple(map(_block, said["blocks"])))
    return record._replace(
        kind=RecordKind(said["kind"]),
        type="said",
        messages=(message,),
        at=clock.parse_rfc3339(said["at"]),
        actor=said["actor"],
        usage=Usage(**said["usage"]) if said["usage"] else None,
    )


def _parse_compaction(compacted: dict[str, Any], record: Record) -> Record:
    summary = compacted["summary"]
    return record._replace(
        kind=RecordKind.COMPACTION,
        type="compacted",
        messages=(Message(role="user", blocks=(Text(text=summary),)),),
        at=clock.parse_rfc3339(compacted["at"]),
        compaction=Compaction(
            trigger="auto" if compacted["automatic"] else "manual",
            before_tokens=compacted["before"],
            after_tokens=compacted["after"],
            summary=summary,
        ),
    )


def _block(block: dict[str, Any]) -> Block:
    match block:
        case {"call": str(call_id), "tool": str(tool), "input": dict(tool_input)}:
            return ToolUse(call_id=call_id, tool=tool, input=tool_input)
        case {"answers": str(call_id), "text": str(text), "failed": bool(failed)}:
            return ToolResult(call_id=call_id, parts=(Text(text=text),), is_error=failed)
        case {"thinking": str(text)}:
            return Thinking(text=text)
        case _:
            return Text(text=str(block["text"]))


def _lines(script: Script) -> Iterator[bytes]:
    head = {
        "agent": "plain",
        "session_id": script.session_id,
        "project": script.project,
        "model": script.model,
    }
    yield _line({"head": head})
    for number, event in enumerate(script.events):
        for content in _event_lines(event, f"call-{number}", None):
            yield _line(content)


def _event_lines(event: Event, name: str, actor: str | None) -> Iterator[dict[str, Any]]:
    match event:
        case Asked(text=text, at=at):
            yield _message("prompt", "user", [{"text": text}], at, actor)
        case Replied():
            yield from _reply(event, name, actor)
        case DelegatedTask(task=task, steps=steps, answer=answer, at=at, usage=usage):
            ask: list[dict[str, Any]] = [{"call": name, "tool": "delegate", "input": {"task": task}}]
            yield _message("reply", "assistant", ask, at, actor, usage)
            yield _message("prompt", "user", [{"text": task}], at, name)
            for number, step in enumerate(steps):
                yield from _reply(step, f"{name}-{number}", name)
            yield _message("result", "user", [{"answers": name, "text": answer, "failed": False}], at, actor)
        case Compacted():
            yield {
                "compacted": {
                    "summary": event.summary,
                    "before": event.before_tokens,
                    "after": event.after_tokens,
                    "automatic": event.automatic,
                    "at": clock.format_rfc3339(event.at),
                }
            }


def _reply(reply: Replied, name: str, actor: str | None) -> Iterator[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"thinking": reply.thinking}] if reply.thinking else []
    blocks += [{"text": reply.text}] if reply.text else []
    calls: list[tuple[str, Call]] = [(f"{name}-{number}", call) for number, call in enumerate(reply.calls)]
    blocks += [{"call": call_id, "tool": call.tool, "input": call.input} for call_id, call in calls]
    yield _message("reply", "assistant", blocks, reply.at, actor, reply.usage)
    answers = [
        {"answers": call_id, "text": call.answer, "failed": call.failed}
        for call_id, call in calls
        if call.answer is not None
    ]
    if answers:
        yield _message("result", "user", answers, reply.at, actor)


def _message(
    kind: str,
    role: str,
    blocks: list[dict[str, Any]],
    at: datetime,
    actor: str | None,
    usage: Usage | None = None,
) -> dict[str, Any]:
    numbers = {name: getattr(usage, name) for name in Usage._fields} if usage else None
    said = {
        "kind": kind,
        "role": role,
        "blocks": blocks,
        "at": clock.format_rfc3339(at),
        "actor": actor,
        "usage": numbers,
    }
    return {"said": said}


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def actions(use: ToolUse) -> tuple[Action, ...]:
    """Return what a tool call of an invented session does."""
    given = use.input
    if not isinstance(given, dict):
        return (Other(use.tool, given),)
    if use.tool == "todo":
        return (Planned(tuple(_todo(item) for item in rows(given, "items") if isinstance(item, dict))),)
    path = text(given, "path") or ""
    first, lines = count(given, "offset"), count(given, "limit")
    found: Mapping[str, Action] = {
        "shell": Ran(text(given, "command") or ""),
        "read": Looked(path, first, first + lines - 1 if first and lines else None),
        "write": Wrote(path, text(given, "content") or ""),
        "edit": Changed(path, text(given, "old") or "", text(given, "new") or ""),
        "search": Searched(text(given, "pattern") or "", path or None),
        "list": Searched(path, path),
        "fetch": Fetched(text(given, "url") or ""),
        "delegate": Delegated(text(given, "task") or "", text(given, "task") or ""),
    }
    return (found.get(use.tool, Other(use.tool, str(given))),)


def answer(use: ToolUse, result: ToolResult) -> Answer:
    """Return the result of such a call; a failure starts with its exit code."""
    code = _EXIT_CODE.match(result.text) if result.is_error else None
    exit_code = int(code[1]) if code else 0 if use.tool == "shell" and not result.is_error else None
    return Answer(
        text=result.text[code.end() :] if code else result.text, exit_code=exit_code, failed=result.is_error
    )


def _todo(item: JsonObject) -> Todo:
    match item.get("status"):
        case "in_progress" | "completed" as status:
            return Todo(str(item.get("text", "")), status)
        case _:
            return Todo(str(item.get("text", "")))
