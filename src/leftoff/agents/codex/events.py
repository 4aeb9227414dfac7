"""Codex' hook events, and how the fast path reads the end of a rollout.

As seen with 0.166, PreCompact and PostCompact pass nothing on to the agent; the summary of a compaction, empty where only the
provider can read it, is in the rollout at the SessionStart that follows it.
"""

from __future__ import annotations

from pathlib import Path

from leftoff.agents import hook_events
from leftoff.agents.jsonl import oldest_first, table, text
from leftoff.core.fast_path import FastPathRules
from leftoff.core.hook_event import HookEvent, HookResponse
from leftoff.core.wire import JsonObject
from leftoff.errors import TranscriptError
from leftoff.platform import process

# Codex writes a line with the usage after each reply, in one of two forms.
FAST_PATH: FastPathRules = {
    "format": "readings",
    "events": hook_events.FAST_EVENTS,
    "marks": ['"token_', '"compacted"'],
    "usage": [
        {
            "where": {"type": "event_msg", "payload.type": "token_count"},
            "add": ["payload.info.last_token_usage.total_tokens"],
            "about": ["payload.info.model_context_window"],
        },
        {"where": {"type": "token_usage_record"}, "add": ["payload.usage.total_tokens"]},
    ],
    "compaction": [{"where": {"type": "compacted"}}],
}
# Which events show an answer to the user, and which pass it on to the agent (0.166).
_HEARS_USER = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")
_HEARS_AGENT = ("SessionStart", "UserPromptSubmit", "PostToolUse")
_HEADLESS = "exec"


class CodexEvents:
    """Implements ``HasEvents`` and ``HasFastPath`` for Codex."""

    fast_path = FAST_PATH

    def event(self, payload: JsonObject) -> HookEvent | None:
        """Parse the event that a hook is called with."""
        path = text(payload, "transcript_path")
        rollout = Path(path) if path else None
        return hook_events.event(
            payload,
            hears_user=_HEARS_USER,
            hears_agent=_HEARS_AGENT,
            is_headless=rollout is not None and _source(rollout) == _HEADLESS,
            client_pid=process.grandparent_pid(),  # the parent is the shell that runs the hook
        )

    def reply(self, event: HookEvent, response: HookResponse) -> bytes:
        """Return what the hook prints; the summariser accepts nothing."""
        return b"" if event.kind == "before_compaction" else hook_events.reply(event, response)


def _source(rollout: Path) -> str | None:
    """Return how the session was started, as its first line says."""
    try:
        first = next(oldest_first(rollout), None)
    except TranscriptError:
        return None
    return text(table(first.value, "payload"), "source") if first and first.value else None
