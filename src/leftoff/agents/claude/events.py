"""Claude Code's hook events, and how the fast path reads the end of a transcript.

As seen with 2.1.325, PreCompact accepts plain text for the summariser and refuses an object.
"""

from __future__ import annotations

from collections.abc import Mapping

from leftoff.agents import hook_events
from leftoff.core.fast_path import FastPathRules
from leftoff.core.hook_event import HookEvent, HookResponse
from leftoff.core.wire import JsonObject

# A reply takes one line for each of its blocks. Subagents' lines, the client's own messages and API errors do not count.
FAST_PATH: FastPathRules = {
    "format": "replies",
    "events": hook_events.FAST_EVENTS,
    "marks": ['put_tokens"', 'compact_boundary"', '"isCompactSummary"'],
    "skip": [
        {"where": {"isSidechain": True}},
        {"where": {"message.model": "<synthetic>"}},
        {"where": {"isApiErrorMessage": True}},
    ],
    "usage": [
        {
            "where": {"type": "assistant"},
            "add": [
                "message.usage.input_tokens",
                "message.usage.output_tokens",
                "message.usage.cache_read_input_tokens",
                "message.usage.cache_creation_input_tokens",
            ],
            "reply": "message.id",
            "about": [
                "requestedModel",
                "message.model",
            ],  # only the former keeps the suffix of a larger window
            "text": "message.content",  # Stop may run before the reply is written (2.1.325)
        }
    ],
    "compaction": [{"where": {"subtype": "compact_boundary"}, "tokens": "compactMetadata.postTokens"}],
    "summary": [{"where": {"isCompactSummary": True}}],
    "cleared": [
        {
            "where": {"subtype": "microcompact_boundary"},
            "before": "microcompactMetadata.preTokens",
            "saved": "microcompactMetadata.tokensSaved",
        }
    ],
}
# Which events pass an answer on to the agent, and which show it to the user. Additional context at Stop would make the turn
# continue (2.1.325), so the agent gets none there.
_HEARS_AGENT = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PostToolBatch")
_HEARS_USER = (*_HEARS_AGENT, "Stop")
_IN_INPUT_BOX = "(Your line is back in the input box; Ctrl+U clears it.)"


class ClaudeEvents:
    """Implements ``HasEvents`` and ``HasFastPath`` for Claude Code."""

    fast_path = FAST_PATH

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def event(self, payload: JsonObject) -> HookEvent | None:
        """Parse the event that a hook is called with."""
        pid = self._environment.get("CLAUDE_PID", "")
        return hook_events.event(
            payload,
            hears_user=_HEARS_USER,
            hears_agent=_HEARS_AGENT,
            is_headless=self._environment.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk"),
            client_pid=int(pid) if pid.isascii() and pid.isdecimal() and len(pid) < 10 else None,
        )

    def reply(self, event: HookEvent, response: HookResponse) -> bytes:
        """Return what the hook prints; a blocked prompt is not repeated below the answer, but stays in the input box."""
        if response.blocks:
            response = response._replace(to_user=f"{response.to_user}\n{_IN_INPUT_BOX}")
        return hook_events.reply(event, response, when_blocked={"suppressOriginalPrompt": True})
