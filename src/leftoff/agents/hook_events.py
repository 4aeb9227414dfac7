"""The form of hook events that several agents share: events in, answers out.

What differs per agent is passed in: which events it hears an answer to, and what its process is. Reading is lenient: what has another
shape is ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import orjson

from leftoff.agents.jsonl import rows, table, text
from leftoff.core.fast_path import FastKind
from leftoff.core.hook_event import CalledTool, EventKind, HookEvent, HookResponse, StartSource
from leftoff.core.wire import JsonObject, JsonValue

KINDS: Mapping[str, EventKind] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tools",
    "PostToolUseFailure": "tools",
    "PostToolBatch": "tools",
    "Stop": "stop",
    "PreCompact": "before_compaction",
    "SessionEnd": "end",
}
FAST_EVENTS: dict[str, FastKind] = {
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tools",
    "PostToolUseFailure": "tools",
    "PostToolBatch": "tools",
    "Stop": "stop",
    "SessionEnd": "end",
}
_SOURCES: Mapping[str, StartSource] = {
    "startup": "startup",
    "resume": "resume",
    "compact": "compact",
    "clear": "clear",
}
_FAILED = "Exit code "  # a failed shell command in a batch of Claude Code (2.1.325)


def event(
    payload: JsonObject,
    *,
    hears_user: Collection[str],
    hears_agent: Collection[str],
    is_headless: bool,
    client_pid: int | None,
) -> HookEvent | None:
    """Parse an event; None for an object that is not one."""
    name, session_id = text(payload, "hook_event_name"), text(payload, "session_id")
    if name is None or session_id is None:
        return None
    return HookEvent(
        kind=KINDS.get(name, "other"),
        name=name,
        session_id=session_id,
        transcript=text(payload, "transcript_path"),
        folder=text(payload, "cwd"),
        actor=text(payload, "agent_id"),
        source=_SOURCES.get(text(payload, "source") or ""),
        prompt=text(payload, "prompt"),
        tools=tuple(_tools(payload)),
        reason=text(payload, "reason"),
        is_automatic=text(payload, "trigger") == "auto",
        is_headless=is_headless,
        client_pid=client_pid,
        hears_user=name in hears_user,
        hears_agent=name in hears_agent,
        context_tokens=tokens if isinstance(tokens := payload.get("context_tokens"), int) else None,
        is_cache_cold=payload.get("prompt_cache_likely_expired") is True,
        cache_write_usd=float(usd)
        if isinstance(usd := payload.get("estimated_cache_write_usd"), int | float)
        else None,
    )


def reply(event: HookEvent, response: HookResponse, when_blocked: JsonObject | None = None) -> bytes:
    """Return what the hook prints; nothing where there is nothing to say, or where the agent would ignore it.

    ``when_blocked`` is what only this agent understands about a blocked prompt: others refuse an answer with unknown keys.
    """
    if event.kind == "before_compaction":  # plain text: an object would be refused
        return (response.to_summariser or "").encode()
    if response.blocks:
        blocked: JsonObject = {"decision": "block", "reason": response.to_user or ""}
        if when_blocked:
            blocked["hookSpecificOutput"] = {"hookEventName": event.name, **when_blocked}
        return orjson.dumps(blocked)
    output: JsonObject = {}
    if response.to_user and event.hears_user:
        output["systemMessage"] = response.to_user
    if response.to_agent and event.hears_agent:
        output["hookSpecificOutput"] = {
            "hookEventName": event.name,
            "additionalContext": response.to_agent,
        }
    return orjson.dumps(output) if output else b""


def _tools(payload: JsonObject) -> list[CalledTool]:
    calls: list[JsonValue] = [payload] if "tool_name" in payload else rows(payload, "tool_calls")
    return [_called(each) for each in calls if isinstance(each, dict)]


def _called(call: JsonObject) -> CalledTool:
    error, result = text(call, "error"), text(call, "tool_response")
    return CalledTool(
        tool=text(call, "tool_name") or "",
        call_id=text(call, "tool_use_id"),
        input=table(call, "tool_input") or None,
        result=result or error,
        failed=error is not None or (result or "").startswith(_FAILED),
    )
