"""What the tools of invented sessions do, read back: the plainest form of an adapter's ``actions`` and ``answer``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from leftoff.agents.fields import count, rows, text
from leftoff.model.actions import (
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
from leftoff.model.records import ToolResult, ToolUse
from leftoff.model.wire import JsonObject

_EXIT_CODE = re.compile(r"Exit code:? (\d+)\n?")


def actions(use: ToolUse) -> tuple[Action, ...]:
    """What the call does."""
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
    """What came back of it."""
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
