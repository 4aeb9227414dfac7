"""Claude Code's hook events: whom an answer to each reaches, and how its own process and a headless run are known.

Seen with 2.1.325: additional context on Stop would make the turn go on, so nobody speaks to the agent there; PreCompact takes
plain words for the summariser and refuses an object.
"""

from __future__ import annotations

from collections.abc import Mapping

from leftoff.agents import hook_events
from leftoff.agents.fields import text
from leftoff.model.hook_event import HookEvent
from leftoff.model.wire import JsonObject

# How the end of a transcript is read by the fast path: replies stand as messages.
TAIL_FORMAT = "replies"
_HEARS_AGENT = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PostToolBatch")
_HEARS_USER = (*_HEARS_AGENT, "Stop")  # at PostCompact nobody hears anything


def event(said: JsonObject, environment: Mapping[str, str]) -> HookEvent | None:
    """The event as anybody understands it."""
    pid = environment.get("CLAUDE_PID", "")
    return hook_events.event(
        said,
        hears_user=_HEARS_USER,
        hears_agent=_HEARS_AGENT,
        summary=text(said, "compact_summary"),
        is_headless=environment.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk"),
        client_pid=int(pid) if pid.isascii() and pid.isdecimal() and len(pid) < 10 else None,
    )
