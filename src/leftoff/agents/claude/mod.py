"""The messages that leftoff's mod, a plugin module inside Claude Code, exchanges with the program.

As seen with 2.1.325: ``session.compact`` hands over messages with role, text, ``toolUses``, ``toolResults`` and a ``handle``, which is the
uuid of the message's line. What is answered is sent as it is, also after a resume, if no message carries a handle and no call the id it
had: by either the client finds the original line again and sends that too.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from leftoff.agents.jsonl import rows, text
from leftoff.core.live_messages import LiveMessage
from leftoff.core.records import Text, ToolResult, ToolUse
from leftoff.core.wire import JsonObject, JsonValue

_CALL_ID = "toolu_lo_"


def read_messages(value: JsonValue) -> list[LiveMessage]:
    """Read the messages that the mod hands over; anything that is not a message is left out."""
    given = value if isinstance(value, list) else []
    return [_message(each) for each in given if isinstance(each, dict)]


def _message(value: JsonObject) -> LiveMessage:
    return LiveMessage(
        role="assistant" if value.get("role") == "assistant" else "user",
        text=text(value, "text") or "",
        calls=tuple(_call(each) for each in rows(value, "toolUses") if isinstance(each, dict)),
        results=tuple(_result(each) for each in rows(value, "toolResults") if isinstance(each, dict)),
        handle=text(value, "handle"),
    )


def _call(value: JsonObject) -> ToolUse:
    given = value.get("input")
    return ToolUse(
        call_id=text(value, "tool_use_id") or "",
        tool=text(value, "tool") or "",
        input=given if isinstance(given, dict) else {},
    )


def _result(value: JsonObject) -> ToolResult:
    return ToolResult(
        call_id=text(value, "tool_use_id") or "",
        parts=(Text(text=text(value, "text") or ""),),
        is_error=value.get("isError") is True,
    )


def write_messages(messages: Iterable[LiveMessage]) -> list[JsonValue]:
    """Write rebuilt messages in the form that the client takes, with new ids for all calls."""
    stamp = secrets.token_hex(6)
    ids: dict[str, str] = {}

    def new_id(call_id: str) -> str:
        return ids.setdefault(call_id, f"{_CALL_ID}{stamp}_{len(ids)}")

    return [
        {
            "role": each.role,
            "text": each.text,
            "toolUses": [
                {"tool_use_id": new_id(call.call_id), "tool": call.tool, "input": call.input}
                for call in each.calls
            ],
            "toolResults": [
                {
                    "tool_use_id": new_id(result.call_id),
                    "text": result.text,
                    "isError": bool(result.is_error),
                }
                for result in each.results
            ],
        }
        for each in messages
    ]
