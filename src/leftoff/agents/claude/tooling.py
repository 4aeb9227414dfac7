"""The tools of invented sessions in Claude Code's own words: names, inputs, and what its lines keep of the answers.

A tool that is not listed is passed through as it is.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

from leftoff.agents.fields import count, rows, text
from leftoff.model.script import Call
from leftoff.model.wire import JsonObject, JsonValue

NAMES: Mapping[str, str] = {
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


def asked(call: Call) -> tuple[str, JsonObject]:
    """Name and input of the request."""
    given = call.input
    match call.tool:
        case "read" | "write" | "edit":
            return NAMES[call.tool], {_KEYS.get(key, key): value for key, value in given.items()}
        case "search":
            return "Grep", {**given, "output_mode": "content"}
        case "list":
            return "Glob", {"pattern": "*", **given}
        case "todo":
            return "TodoWrite", {"todos": [_todo(item) for item in rows(given, "items")]}
        case "fetch":
            return "WebFetch", {**given, "prompt": "What does this page say?"}
        case _:
            return NAMES.get(call.tool, call.tool), given


def content(call: Call, answer: str) -> JsonValue:
    """What the model is sent of the answer."""
    words = numbered(answer, count(call.input, "offset") or 1) if _is_reading(call) else answer
    if call.image is None:
        return words
    source: JsonObject = {"type": "base64", "media_type": "image/png", "data": _base64(call.image)}
    picture: JsonObject = {"type": "image", "source": source}
    return [picture] if not answer else [{"type": "text", "text": answer}, picture]


def kept(call: Call, answer: str) -> JsonValue:
    """What the client keeps of the answer for itself (``toolUseResult``)."""
    if call.failed:
        return f"Error: {answer}"
    if call.image is not None:
        file: JsonObject = {
            "base64": _base64(call.image),
            "type": "image/png",
            "originalSize": len(call.image),
        }
        return {"type": "image", "file": file}
    keep = _KEPT.get(call.tool)
    return keep(call.input, answer) if keep else answer


def numbered(lines: str, first: int) -> str:
    """The lines of a file as the client shows them."""
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines.split("\n"), first))


def _is_reading(call: Call) -> bool:
    return call.tool == "read" and call.image is None and not call.failed


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _todo(item: JsonValue) -> JsonValue:
    if not isinstance(item, dict):
        return item
    words = text(item, "text") or ""
    return {"content": words, "status": item.get("status", "pending"), "activeForm": words}


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


def _write(given: JsonObject, _: str) -> JsonObject:
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


_KEPT: Mapping[str, Callable[[JsonObject, str], JsonObject]] = {
    "shell": _shell,
    "read": _read,
    "write": _write,
    "edit": _edit,
    "search": _search,
    "list": _list,
    "todo": _todos,
    "fetch": _fetch,
}
