"""Write an invented session as Codex 0.166 would: numbered lines with times, ids and running sums.

Codex does most things by shell commands and changes files by patches. All ids are derived from the session's id, so the same
script gives the same bytes. What an invented session cannot have is left out: base instructions, encrypted reasoning, the
world state. A subagent, which has its own rollout in Codex, is written as an answered call. A tool without a counterpart in
Codex is written unchanged.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import re
import shlex
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import orjson

from leftoff.agents.codex.versions import known
from leftoff.core.records import Usage
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import StorageError
from leftoff.testing.script import Asked, Call, Compacted, DelegatedTask, Event, Replied, Script

_VERSION = "0.166.0"
_PERMISSIONS = "<permissions instructions>\nApproval policy is currently never.\n</permissions instructions>"


def write_transcript(script: Script, transcript: Path) -> None:
    """Write the session to a new file; on an error, leave no file."""
    try:
        file = transcript.open("xb")
    except FileExistsError as error:
        raise StorageError(
            f"{transcript}: the file exists already and is not replaced.", path=transcript
        ) from error
    try:
        with file:
            file.writelines(_RolloutWriter(script).lines())
    except BaseException:
        with suppress(OSError):
            transcript.unlink()
        raise


class _RolloutWriter:
    """Go through the events once and yield the lines."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._lines = LineWriter(script.session_id, script.window_tokens)
        self._turn_began: datetime | None = None
        self._is_interrupted = False
        self._last_text = ""
        self._prompts: deque[tuple[int, JsonObject]] = deque()
        self._windows: list[str] = []  # ids of the first, the one before and the present one
        self._compactions = 0

    def lines(self) -> Iterator[bytes]:
        """Yield all lines of the rollout."""
        for event in self._script.events:
            self._lines.at = event.at
            if not self._lines.written:
                yield self._session_meta()
            yield from self._event(event)
        if not self._lines.written:
            yield self._session_meta()
        yield from self._end_turn()

    def _event(self, event: Event) -> Iterator[bytes]:
        if isinstance(event, Asked):
            yield from self._end_turn()
        yield from self._begin_turn()
        match event:
            case Asked():
                yield from self._prompt(event.text)
            case Replied():
                yield from self._reply(event)
            case DelegatedTask():
                call = Call(tool="spawn_agent", input={"message": event.task}, answer=event.answer)
                yield from self._reply(Replied(at=event.at, calls=(call,), usage=event.usage))
            case Compacted():
                yield from self._compaction(event)

    def _session_meta(self) -> bytes:
        self._windows = [self._lines.uuid()] * 3
        script = self._script
        return self._lines.line(
            "session_meta",
            {
                "session_id": script.session_id,
                "id": script.session_id,
                "timestamp": _timestamp(self._lines.at),
                "cwd": script.project,
                "runtime_workspace_roots": [script.project],
                "originator": "codex_cli_rs",
                "cli_version": _VERSION,
                "source": "cli",
                "thread_source": "user",
                "model_provider": "openai",
                "history_mode": "paginated",
                "context_window": {"window_id": self._windows[0]},
                "git": {"branch": script.branch},
            },
        )

    def _begin_turn(self) -> Iterator[bytes]:
        """Yield what comes before the prompt; nothing when the turn has started already."""
        if self._turn_began is not None:
            return
        is_first = self._lines.written == 1
        self._turn_began = self._lines.at
        self._lines.begin_turn()
        yield self._lines.event(
            "task_started",
            {
                "turn_id": self._lines.turn_id,
                "root_turn_id": self._lines.turn_id,
                "started_at": int(self._lines.at.timestamp()),
                "model_context_window": self._script.window_tokens,
                "collaboration_mode_kind": "default",
            },
        )
        if is_first:
            yield from map(self._lines.item, self._preamble())
            yield self._lines.line("world_state", {"full": True, "state": {}})
        yield self._turn_context()
        yield self._settings()

    def _preamble(self) -> list[JsonObject]:
        words = (
            f"<environment_context>\n  <cwd>{self._script.project}</cwd>\n  <shell>bash</shell>\n"
            f"  <current_date>{self._lines.at:%Y-%m-%d}</current_date>\n  <timezone>Etc/UTC</timezone>\n"
            "</environment_context>"
        )
        return [
            self._lines.message("developer", _PERMISSIONS, "permissions.instructions"),
            self._lines.message("user", words, "environments.environment_context"),
        ]

    def _turn_context(self) -> bytes:
        return self._lines.line(
            "turn_context",
            {
                "turn_id": self._lines.turn_id,
                "root_turn_id": self._lines.turn_id,
                "cwd": self._script.project,
                "approval_policy": "never",
                "sandbox_policy": {"type": "danger-full-access"},
                "model": self._script.model,
                "collaboration_mode": self._mode(),
                "realtime_active": False,
                "summary": "none",
            },
        )

    def _settings(self) -> bytes:
        settings: JsonObject = {
            "model": self._script.model,
            "model_provider_id": "openai",
            "approval_policy": "never",
            "approvals_reviewer": "user",
            "permission_profile": {"type": "disabled"},
            "cwd": self._script.project,
            "runtime_workspace_roots": [self._script.project],
            "collaboration_mode": self._mode(),
            "disabled_plugin_ids": [],
        }
        return self._lines.event(
            "thread_settings_applied", {"thread_id": self._script.session_id, "thread_settings": settings}
        )

    def _mode(self) -> JsonObject:
        settings: JsonObject = {
            "model": self._script.model,
            "reasoning_effort": None,
            "developer_instructions": None,
        }
        return {"mode": "default", "settings": settings}

    def _prompt(self, words: str) -> Iterator[bytes]:
        item = self._lines.message("user", words, "user.text")
        self._keep_prompt(words, item)
        yield self._lines.item(item)
        content: JsonObject = {"type": "text", "text": words, "text_elements": []}
        yield self._lines.completed({"type": "UserMessage", "id": self._lines.uuid(), "content": [content]})

    def _keep_prompt(self, words: str, item: JsonObject) -> None:
        """Keep the prompts that a compaction would keep, and drop older ones to limit memory."""
        self._prompts.append((len(words) // 4, item))
        while len(self._prompts) > 1 and sum(size for size, _ in self._prompts) > known().prompts_kept_tokens:
            self._prompts.popleft()

    def _reply(self, reply: Replied) -> Iterator[bytes]:
        if reply.thinking:
            yield from self._thinking(reply.thinking)
        if reply.text:
            yield from self._reply_text(reply.text)
        calls = [(call, self._lines.call_id()) for call in reply.calls]
        for call, call_id in calls:
            yield self._lines.item(_tool_call(call, call_id, self._script.project))
        yield self._lines.token_usage(_token_counts(reply.usage))
        for call, call_id in calls:
            yield from self._answer(call, call_id)
        yield self._lines.token_count()

    def _thinking(self, words: str) -> Iterator[bytes]:
        identity = self._lines.identity("rs")
        summary: JsonObject = {"type": "summary_text", "text": words}
        yield self._lines.completed(
            {"type": "Reasoning", "id": identity, "summary_text": [words], "raw_content": []}
        )
        yield self._lines.item(
            {
                "type": "reasoning",
                "id": identity,
                "summary": [summary],
                "content": None,
                "encrypted_content": None,
            }
        )

    def _reply_text(self, words: str) -> Iterator[bytes]:
        self._last_text = words
        item = self._lines.message("assistant", words, "unknown")
        content: JsonObject = {"type": "Text", "text": words}
        yield self._lines.completed({"type": "AgentMessage", "id": item["id"], "content": [content]})
        yield self._lines.item(item)

    def _answer(self, call: Call, call_id: str) -> Iterator[bytes]:
        if call.answer is None and call.image is None:
            self._is_interrupted = True
            return
        shown = _shown_item(call, call_id, self._script.project)
        if shown:
            yield self._lines.completed(shown)
        yield self._lines.item(_tool_output(call, call_id))

    def _compaction(self, event: Compacted) -> Iterator[bytes]:
        lines = self._lines
        yield lines.token_usage(
            {**_NO_TOKENS, "input_tokens": event.before_tokens, "total_tokens": event.before_tokens}
        )
        first, _, previous = self._windows
        self._windows = [first, previous, lines.uuid()]
        self._compactions += 1
        words = known().summary_prefix + event.summary
        summary = lines.message("user", words, "compaction.summary")
        history: list[JsonValue] = [*self._preamble(), *(item for _, item in self._prompts), summary]
        yield lines.line(
            "compacted",
            {
                "message": words,
                "replacement_history": history,
                "window_number": self._compactions,
                "first_window_id": first,
                "previous_window_id": previous,
                "window_id": self._windows[-1],
                "latest_token_usage_record": lines.usage_record(),
            },
        )
        yield lines.line("world_state", {"full": True, "state": {}})
        yield self._turn_context()
        yield lines.estimate(event.after_tokens)
        yield lines.completed({"type": "ContextCompaction", "id": lines.uuid()})

    def _end_turn(self) -> Iterator[bytes]:
        lines = self._lines
        if self._turn_began is None:
            return
        if self._is_interrupted:
            yield lines.event("turn_aborted", {"turn_id": lines.turn_id, "reason": "interrupted"})
        else:
            yield lines.event(
                "task_complete",
                {
                    "turn_id": lines.turn_id,
                    "root_turn_id": lines.turn_id,
                    "last_agent_message": self._last_text,
                    "started_at": int(self._turn_began.timestamp()),
                    "completed_at": int(lines.at.timestamp()),
                    "duration_ms": int((lines.at - self._turn_began).total_seconds() * 1000),
                },
            )
        self._turn_began, self._is_interrupted, self._last_text = None, False, ""


_NO_TOKENS: Mapping[str, int] = {
    "input_tokens": 0,
    "cached_input_tokens": 0,
    "cache_write_input_tokens": 0,
    "output_tokens": 0,
    "reasoning_output_tokens": 0,
    "total_tokens": 0,
}


class LineWriter:
    """Create one line after the other, with the time ``at`` and the turn ``turn_id``."""

    def __init__(self, session_id: str, window_tokens: int) -> None:
        self.at = datetime(1970, 1, 1, tzinfo=UTC)
        self.turn_id: str | None = None
        self.written = 0
        self._session_id = session_id
        self._window_tokens = window_tokens
        self._ids = 0
        self._last_tokens: Mapping[str, int] = _NO_TOKENS
        self._turn_tokens = dict(_NO_TOKENS)
        self._thread_tokens = dict(_NO_TOKENS)

    def line(self, name: str, payload: JsonObject) -> bytes:
        """Return a line of that type."""
        line = {"timestamp": _timestamp(self.at), "ordinal": self.written, "type": name, "payload": payload}
        self.written += 1
        return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)

    def event(self, name: str, fields: JsonObject) -> bytes:
        """Return an event for the screen."""
        return self.line("event_msg", {"type": name, **fields})

    def completed(self, item: JsonObject) -> bytes:
        """Return a completed item for the screen."""
        moment = int(self.at.timestamp() * 1000)
        return self.event(
            "item_completed",
            {
                "thread_id": self._session_id,
                "turn_id": self.turn_id,
                "item": item,
                "started_at_ms": moment,
                "completed_at_ms": moment,
            },
        )

    def item(self, item: JsonObject) -> bytes:
        """Return an item that is sent to the model."""
        turn: JsonObject = {"turn_id": self.turn_id}
        return self.line("response_item", {"internal_chat_message_metadata_passthrough": turn, **item})

    def message(self, role: str, words: str, kind: str) -> JsonObject:
        """Return an item with text; ``kind`` says where the text comes from."""
        part = "output_text" if role == "assistant" else "input_text"
        content: JsonObject = {"type": part, "text": words}
        return {
            "type": "message",
            "id": self.identity("msg"),
            "role": role,
            "content": [content],
            "internal_chat_message_metadata_passthrough": {
                "turn_id": self.turn_id,
                "content_item_kinds": [kind],
            },
        }

    def begin_turn(self) -> None:
        """Let the following lines belong to a new turn."""
        self.turn_id = self.uuid()
        self._turn_tokens = dict(_NO_TOKENS)

    def token_usage(self, fields: Mapping[str, int]) -> bytes:
        """Return the usage of a reply, and add it to the sums."""
        self._last_tokens = fields
        for sums in (self._turn_tokens, self._thread_tokens):
            for key, tokens in fields.items():
                sums[key] += tokens
        return self.line("token_usage_record", self.usage_record())

    def usage_record(self) -> JsonObject:
        """Return the last reply's usage and the sums, which several lines contain."""
        return {
            "thread_id": self._session_id,
            "turn_id": self.turn_id,
            "session_id": self._session_id,
            "root_turn_id": self.turn_id,
            "response_id": self.identity("resp"),
            "usage": _object(self._last_tokens),
            "turn_token_usage": _object(self._turn_tokens),
            "thread_token_usage": _object(self._thread_tokens),
        }

    def token_count(self) -> bytes:
        """Return the last reply's usage with the size of the window."""
        return self._token_count(self._last_tokens, is_estimate=False)

    def estimate(self, tokens: int) -> bytes:
        """Return Codex's estimate of the tokens left after a compaction."""
        return self._token_count({**_NO_TOKENS, "total_tokens": tokens}, is_estimate=True)

    def _token_count(self, fields: Mapping[str, int], *, is_estimate: bool) -> bytes:
        info: JsonObject = {
            "total_token_usage": _object(self._thread_tokens),
            "last_token_usage": _object(fields),
            "last_usage_includes_reasoning": is_estimate,
            "model_context_window": self._window_tokens,
        }
        return self.event("token_count", {"info": info, "rate_limits": None})

    def identity(self, prefix: str) -> str:
        """Return the next id of an item."""
        return f"{prefix}_{self.uuid()}"

    def call_id(self) -> str:
        """Return the next id of a call."""
        return f"call_{self.uuid().replace('-', '')[-24:]}"

    def uuid(self) -> str:
        """Return the next id: a UUIDv7 of the current time, the rest from the session's id and a number."""
        self._ids += 1
        digest = hashlib.sha256(f"{self._session_id}/{self._ids}".encode()).digest()
        value = (int(self.at.timestamp() * 1000) << 80) | int.from_bytes(digest[:10], "big")
        value = (value & ~(0xF << 76) & ~(0x3 << 62)) | (0x7 << 76) | (0x2 << 62)
        return str(uuid.UUID(int=value))


def _token_counts(usage: Usage) -> Mapping[str, int]:
    """Return a usage with Codex's field names: its input includes cached tokens."""
    taken = usage.input_tokens + usage.cache_read_tokens + usage.cache_creation_tokens
    return {
        "input_tokens": taken,
        "cached_input_tokens": usage.cache_read_tokens,
        "cache_write_input_tokens": usage.cache_creation_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_output_tokens": 0,
        "total_tokens": taken + usage.output_tokens,
    }


def _timestamp(at: datetime) -> str:
    """Format a time as in rollouts."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _object(numbers: Mapping[str, int]) -> dict[str, JsonValue]:
    return {**numbers}


_PATCH_TOOL: Final = "apply_patch"
_FAILED = re.compile(r"\AExit code:? (\d+)")

_MAX_OUTPUT_TOKENS = 10_000


def _tool_call(call: Call, call_id: str, project: str) -> JsonObject:
    """Return the tool call as the Responses API returned it."""
    patch = _patch(call)
    if patch is not None:
        return {
            "type": "custom_tool_call",
            "status": "completed",
            "call_id": call_id,
            "name": _PATCH_TOOL,
            "input": patch,
        }
    name, arguments = _function(call, project)
    return {"type": "function_call", "name": name, "arguments": _json(arguments), "call_id": call_id}


def _tool_output(call: Call, call_id: str) -> JsonObject:
    """Return the answer as it is sent."""
    words = call.answer or ""
    if _patch(call) is not None:
        output = f"Exit code: {_exit_code(call)}\nWall time: 0 seconds\nOutput:\n{words}"
        return {"type": "custom_tool_call_output", "call_id": call_id, "output": output}
    return {"type": "function_call_output", "call_id": call_id, "output": _output(call, words, call_id)}


def _shown_item(call: Call, call_id: str, project: str) -> JsonObject | None:
    """Return the completed item that the client shows for the call."""
    if _patch(call) is not None:
        return {
            "type": "FileChange",
            "id": call_id,
            "changes": {_text(call, "path"): _change(call)},
            "status": "failed" if call.failed else "completed",
            "stdout": call.answer or "",
            "stderr": "",
        }
    command = _command(call)
    if command is None or call.image is not None:
        return None
    return {
        "type": "CommandExecution",
        "id": call_id,
        "process_id": str(int(_chunk_id(call_id), 16) % 90_000 + 10_000),
        "command": ["/bin/bash", "-lc", command],
        "cwd": f"file://{project}",
        "parsed_cmd": [{"type": "unknown", "cmd": command}],
        "source": "unified_exec_startup",
        "status": "failed" if call.failed else "completed",
        "aggregated_output": call.answer or "",
        "exit_code": _exit_code(call),
        "duration": {"secs": 0, "nanos": 30_000},
    }


def _exit_code(call: Call) -> int:
    """Return the exit code in the answer, or 1 for another failure."""
    fields = _FAILED.match(call.answer or "") if call.failed else None
    return int(fields[1]) or 1 if fields else int(call.failed)


def _function(call: Call, project: str) -> tuple[str, JsonObject]:
    if call.image is not None:
        return "view_image", {"path": _text(call, "path")}
    if call.tool == "todo":
        return "update_plan", {"plan": _plan(call.input.get("items"))}
    command = _command(call)
    if command is None:
        return call.tool, call.input
    return "exec_command", {"cmd": command, "workdir": project}


def _command(call: Call) -> str | None:
    """Return the shell command for a tool that Codex does not have; None for other tools."""
    path = shlex.quote(_text(call, "path") or ".")
    match call.tool:
        case "shell":
            return _text(call, "command")
        case "read":
            return _read_command(call, path)
        case "search":
            return f"rg -n {shlex.quote(_text(call, 'pattern'))} {path}"
        case "list":
            return f"ls -1p {path}"
        case "fetch":
            return f"curl -sL {shlex.quote(_text(call, 'url'))}"
        case _:
            return None


def _read_command(call: Call, path: str) -> str:
    offset, limit = call.input.get("offset"), call.input.get("limit")
    first = offset if isinstance(offset, int) else 1
    if isinstance(limit, int):
        return f"sed -n '{first},{first + limit - 1}p' {path}"
    return f"sed -n '{first},$p' {path}" if first > 1 else f"cat {path}"


def _patch(call: Call) -> str | None:
    """Return the patch that writes or edits the file; None for other tools."""
    if call.tool == "write":
        return f"*** Begin Patch\n*** Add File: {_text(call, 'path')}\n{_prefix_lines('+', _text(call, 'content'))}*** End Patch\n"
    if call.tool == "edit":
        change = _prefix_lines("-", _text(call, "old")) + _prefix_lines("+", _text(call, "new"))
        return f"*** Begin Patch\n*** Update File: {_text(call, 'path')}\n@@\n{change}*** End Patch\n"
    return None


def _change(call: Call) -> JsonObject:
    if call.tool == "write":
        return {"type": "add", "content": _text(call, "content")}
    old, new = _text(call, "old").splitlines(), _text(call, "new").splitlines()
    diff = "\n".join(difflib.unified_diff(old, new, lineterm="", n=0))
    return {"type": "update", "unified_diff": diff, "move_path": None}


def _output(call: Call, words: str, call_id: str) -> JsonValue:
    if call.image is not None:
        url = "data:image/png;base64," + base64.b64encode(call.image).decode("ascii")
        picture: JsonObject = {"type": "input_image", "image_url": url}
        return [{"type": "input_text", "text": words}, picture] if words else [picture]
    if _command(call) is not None:
        return (
            f"Chunk ID: {_chunk_id(call_id)}\nWall time: 0.0500 seconds\nProcess exited with code {_exit_code(call)}\n"
            f"Original token count: {_tokens(words)}\nOutput:\n{_truncate_output(words)}"
        )
    return f"Exit code: {_exit_code(call)}\nWall time: 0 seconds\nOutput:\n{words}" if call.failed else words


def _truncate_output(words: str) -> str:
    """Return head and tail of a long output, as the client keeps it."""
    if _tokens(words) <= _MAX_OUTPUT_TOKENS:
        return words
    half = _MAX_OUTPUT_TOKENS * 2  # characters: half of the tokens at four characters each
    lost = _tokens(words) - _MAX_OUTPUT_TOKENS
    return (
        f"Warning: truncated output (original token count: {_tokens(words)})\n"
        f"Total output lines: {len(words.splitlines())}\n\n{words[:half]}…{lost} tokens truncated…{words[-half:]}"
    )


def _tokens(words: str) -> int:
    """Count tokens as the client does."""
    return -(-len(words.encode()) // 4)


def _plan(items: JsonValue) -> list[JsonValue]:
    wanted = items if isinstance(items, list) else []
    return [
        {"step": item.get("text"), "status": item.get("status")} for item in wanted if isinstance(item, dict)
    ]


def _prefix_lines(mark: str, words: str) -> str:
    return "".join(f"{mark}{line}\n" for line in words.splitlines())


def _chunk_id(call_id: str) -> str:
    return call_id[-6:]


def _text(call: Call, key: str) -> str:
    value = call.input.get(key)
    return value if isinstance(value, str) else ""


def _json(value: JsonValue) -> str:
    return orjson.dumps(value).decode()
