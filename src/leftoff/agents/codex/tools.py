"""How a model of Codex does what a tool of an invented session does: mostly by shell commands, files by patches.

``asked`` gives the item of the request and ``answered`` that of the answer; ``shown`` is what the client's screen is told of a
call, None for tools it shows nothing of. Neutral tools are those of ``leftoff.model.script`` scripts; any other keeps its
name and input.
"""

from __future__ import annotations

import base64
import difflib
import re
import shlex
from typing import Final

import orjson

from leftoff.model.script import Call
from leftoff.model.wire import JsonObject, JsonValue

PATCH_TOOL: Final = "apply_patch"
_FAILED = re.compile(r"\AExit code:? (\d+)")

_MOST_OUTPUT_TOKENS = 10_000


def asked(call: Call, call_id: str, project: str) -> JsonObject:
    """The request, as the Responses API returned it."""
    patch = _patch(call)
    if patch is not None:
        return {
            "type": "custom_tool_call",
            "status": "completed",
            "call_id": call_id,
            "name": PATCH_TOOL,
            "input": patch,
        }
    name, arguments = _function(call, project)
    return {"type": "function_call", "name": name, "arguments": _json(arguments), "call_id": call_id}


def answered(call: Call, call_id: str) -> JsonObject:
    """The answer, as it is sent."""
    words = call.answer or ""
    if _patch(call) is not None:
        output = f"Exit code: {exit_code(call)}\nWall time: 0 seconds\nOutput:\n{words}"
        return {"type": "custom_tool_call_output", "call_id": call_id, "output": output}
    return {"type": "function_call_output", "call_id": call_id, "output": _output(call, words, call_id)}


def shown(call: Call, call_id: str, project: str) -> JsonObject | None:
    """The completed item that the client shows for the call."""
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
        "exit_code": exit_code(call),
        "duration": {"secs": 0, "nanos": 30_000},
    }


def exit_code(call: Call) -> int:
    """What the command ended with: as its answer says, else 1 for a failure."""
    said = _FAILED.match(call.answer or "") if call.failed else None
    return int(said[1]) or 1 if said else int(call.failed)


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
    """The command for a tool that Codex has none of its own for; None for other tools."""
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
    """The patch that writes or edits the file; None for other tools."""
    if call.tool == "write":
        return f"*** Begin Patch\n*** Add File: {_text(call, 'path')}\n{_marked('+', _text(call, 'content'))}*** End Patch\n"
    if call.tool == "edit":
        change = _marked("-", _text(call, "old")) + _marked("+", _text(call, "new"))
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
            f"Chunk ID: {_chunk_id(call_id)}\nWall time: 0.0500 seconds\nProcess exited with code {exit_code(call)}\n"
            f"Original token count: {_tokens(words)}\nOutput:\n{_shortened(words)}"
        )
    return f"Exit code: {exit_code(call)}\nWall time: 0 seconds\nOutput:\n{words}" if call.failed else words


def _shortened(words: str) -> str:
    """What the client keeps of a long output: head and tail; it would cut a longer one when it sends it."""
    if _tokens(words) <= _MOST_OUTPUT_TOKENS:
        return words
    half = _MOST_OUTPUT_TOKENS * 2  # characters: half of the tokens, four each
    lost = _tokens(words) - _MOST_OUTPUT_TOKENS
    return (
        f"Warning: truncated output (original token count: {_tokens(words)})\n"
        f"Total output lines: {len(words.splitlines())}\n\n{words[:half]}…{lost} tokens truncated…{words[-half:]}"
    )


def _tokens(words: str) -> int:
    """As the client counts them."""
    return -(-len(words.encode()) // 4)


def _plan(items: JsonValue) -> list[JsonValue]:
    wanted = items if isinstance(items, list) else []
    return [
        {"step": item.get("text"), "status": item.get("status")} for item in wanted if isinstance(item, dict)
    ]


def _marked(mark: str, words: str) -> str:
    return "".join(f"{mark}{line}\n" for line in words.splitlines())


def _chunk_id(call_id: str) -> str:
    return call_id[-6:]


def _text(call: Call, key: str) -> str:
    value = call.input.get(key)
    return value if isinstance(value, str) else ""


def _json(value: JsonValue) -> str:
    return orjson.dumps(value).decode()
