"""The form of hook events that several agents share: the same names and fields in, the same JSON out.

What an agent has of its own it adds: which of these events it hears an answer to, who its process is, where the summary of a
compaction stands.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import orjson

from leftoff.agents.fields import rows, text
from leftoff.model.hook_event import CalledTool, EventKind, HookEvent, Saying, StartSource
from leftoff.model.wire import JsonObject, JsonValue

KINDS: Mapping[str, EventKind] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tools",
    "PostToolUseFailure": "tools",
    "PostToolBatch": "tools",
    "Stop": "stop",
    "PreCompact": "before_compaction",
    "PostCompact": "after_compaction",
    "SessionEnd": "end",
}
_SOURCES: Mapping[str, StartSource] = {
    "startup": "startup",
    "resume": "resume",
    "compact": "compact",
    "clear": "clear",
}


def event(
    said: JsonObject,
    *,
    hears_user: Collection[str],
    hears_agent: Collection[str],
    summary: str | None = None,
    is_headless: bool,
    client_pid: int | None,
) -> HookEvent | None:
    """The event; None for an object that is none."""
    name, session_id = text(said, "hook_event_name"), text(said, "session_id")
    if name is None or session_id is None:
        return None
    return HookEvent(
        kind=KINDS.get(name, "other"),
        name=name,
        session_id=session_id,
        transcript=text(said, "transcript_path"),
        folder=text(said, "cwd"),
        actor=text(said, "agent_id"),
        source=_SOURCES.get(text(said, "source") or ""),
        prompt=text(said, "prompt"),
        tools=tuple(_tools(said)),
        summary=summary,
        reason=text(said, "reason"),
        is_headless=is_headless,
        client_pid=client_pid,
        hears_user=name in hears_user,
        hears_agent=name in hears_agent,
    )


def reply(answered: HookEvent, saying: Saying) -> bytes:
    """What the event's hook prints; nothing where there is nothing to say, or nobody who would hear it."""
    if answered.kind == "before_compaction":  # plain words: an object of ours would be refused
        return (saying.to_summariser or "").encode()
    if saying.blocks:
        return orjson.dumps({"decision": "block", "reason": saying.to_user or ""})
    said: JsonObject = {}
    if saying.to_user and answered.hears_user:
        said["systemMessage"] = saying.to_user
    if saying.to_agent and answered.hears_agent:
        said["hookSpecificOutput"] = {
            "hookEventName": answered.name,
            "additionalContext": saying.to_agent,
        }
    return orjson.dumps(said) if said else b""


def _tools(said: JsonObject) -> list[CalledTool]:
    calls: list[JsonValue] = [said] if "tool_name" in said else rows(said, "tool_calls")
    return [
        CalledTool(tool=text(each, "tool_name") or "", call_id=text(each, "tool_use_id"))
        for each in calls
        if isinstance(each, dict)
    ]
