"""Codex' hook events: whom an answer to each reaches, and what its rollout adds to them.

Seen with 0.166: PreCompact and PostCompact take no words for the agent; the summary of a compaction stands in the rollout, and
is empty where only the provider can read it.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from leftoff.agents import hook_events
from leftoff.agents.ends import newest_first, oldest_first
from leftoff.agents.fields import table, text
from leftoff.errors import TranscriptError
from leftoff.model.hook_event import HookEvent, Saying
from leftoff.model.wire import JsonObject
from leftoff.system import liveness

# How the end of a rollout is read by the fast path: readings stand behind the replies.
TAIL_FORMAT = "readings"
_HEARS_USER = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PostCompact")
_HEARS_AGENT = ("SessionStart", "UserPromptSubmit", "PostToolUse")
_HEADLESS = "exec"
_LINES_SINCE_COMPACTION = 200


def event(said: JsonObject) -> HookEvent | None:
    """The event as anybody understands it."""
    named = text(said, "transcript_path")
    rollout = Path(named) if named else None
    is_compacted = said.get("hook_event_name") == "PostCompact"
    return hook_events.event(
        said,
        hears_user=_HEARS_USER,
        hears_agent=_HEARS_AGENT,
        summary=_summary(rollout) if rollout and is_compacted else None,
        is_headless=rollout is not None and _source(rollout) == _HEADLESS,
        client_pid=liveness.callers_caller(),  # the shell that runs the hook stands between
    )


def reply(answered: HookEvent, saying: Saying) -> bytes:
    """What the hook prints; the summariser cannot be told anything."""
    return b"" if answered.kind == "before_compaction" else hook_events.reply(answered, saying)


def _summary(rollout: Path) -> str | None:
    """The newest summary; None where it cannot be read."""
    try:
        for piece in islice(newest_first(rollout), _LINES_SINCE_COMPACTION):
            if piece.value and piece.value.get("type") == "compacted":
                return text(table(piece.value, "payload"), "message")
    except TranscriptError:
        return None
    return None


def _source(rollout: Path) -> str | None:
    try:
        for piece in islice(oldest_first(rollout), 1):
            return text(table(piece.value or {}, "payload"), "source")
    except TranscriptError:
        return None
    return None
