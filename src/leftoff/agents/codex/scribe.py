"""Writes an invented session down as Codex 0.166 would have, line for line in the order seen.

What an invented session cannot have is left out: the base instructions, encrypted thoughts, the state of the world. A
subagent has a rollout of its own in Codex; here it is a call that was answered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from leftoff.agents.codex import tools
from leftoff.agents.codex.known import known
from leftoff.agents.codex.paginated import NO_TOKENS, Paginated, stamp, tokens
from leftoff.errors import StorageError
from leftoff.model.script import Asked, Call, Compacted, Delegated, Event, Replied, Script
from leftoff.model.wire import JsonObject, JsonValue

_VERSION = "0.166.0"
_PERMISSIONS = "<permissions instructions>\nApproval policy is currently never.\n</permissions instructions>"


def transcribe(script: Script, transcript: Path) -> None:
    """Write the session into a new file; on any trouble nothing is left."""
    try:
        file = transcript.open("xb")
    except FileExistsError as error:
        raise StorageError(
            f"{transcript}: there is such a file already; it was not touched.", path=transcript
        ) from error
    try:
        with file:
            file.writelines(_Scribe(script).lines())
    except BaseException:
        with suppress(OSError):
            transcript.unlink()
        raise


class _Scribe:
    """Goes through the events once and gives the lines."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._page = Paginated(script.session_id, script.window_tokens)
        self._turn_began: datetime | None = None
        self._is_interrupted = False
        self._last_words = ""
        self._prompts: deque[tuple[int, JsonObject]] = deque()
        self._windows: list[str] = []  # ids of the first, the one before and the present one
        self._compactions = 0

    def lines(self) -> Iterator[bytes]:
        """All lines of the rollout."""
        for event in self._script.events:
            self._page.at = event.at
            if not self._page.written:
                yield self._session_meta()
            yield from self._event(event)
        if not self._page.written:
            yield self._session_meta()
        yield from self._end_turn()

    def _event(self, event: Event) -> Iterator[bytes]:
        if isinstance(event, Asked):
            yield from self._end_turn()
        yield from self._begin_turn()
        match event:
            case Asked():
                yield from self._prompt(event.text)
            case Replied():
                yield from self._reply(event)
            case Delegated():
                call = Call(tool="spawn_agent", input={"message": event.task}, answer=event.answer)
                yield from self._reply(Replied(at=event.at, calls=(call,), usage=event.usage))
            case Compacted():
                yield from self._compaction(event)

    def _session_meta(self) -> bytes:
        self._windows = [self._page.uuid()] * 3
        script = self._script
        return self._page.line(
            "session_meta",
            {
                "session_id": script.session_id,
                "id": script.session_id,
                "timestamp": stamp(self._page.at),
                "cwd": script.project,
                "runtime_workspace_roots": [script.project],
                "originator": "codex_cli_rs",
                "cli_version": _VERSION,
                "source": "cli",
                "thread_source": "user",
                "model_provider": "openai",
                "history_mode": "paginated",
                "context_window": {"window_id": self._windows[0]},
                "git": {"branch": script.branch},
            },
        )

    def _begin_turn(self) -> Iterator[bytes]:
        """What stands before the prompt; nothing when the turn has begun."""
        if self._turn_began is not None:
            return
        is_first = self._page.written == 1
        self._turn_began = self._page.at
        self._page.begin_turn()
        yield self._page.event(
            "task_started",
            {
                "turn_id": self._page.turn_id,
                "root_turn_id": self._page.turn_id,
                "started_at": int(self._page.at.timestamp()),
                "model_context_window": self._script.window_tokens,
                "collaboration_mode_kind": "default",
            },
        )
        if is_first:
            yield from map(self._page.item, self._preamble())
            yield self._page.line("world_state", {"full": True, "state": {}})
        yield self._turn_context()
        yield self._settings()

    def _preamble(self) -> list[JsonObject]:
        words = (
            f"<environment_context>\n  <cwd>{self._script.project}</cwd>\n  <shell>bash</shell>\n"
            f"  <current_date>{self._page.at:%Y-%m-%d}</current_date>\n  <timezone>Etc/UTC</timezone>\n"
            "</environment_context>"
        )
        return [
            self._page.message("developer", _PERMISSIONS, "permissions.instructions"),
            self._page.message("user", words, "environments.environment_context"),
        ]

    def _turn_context(self) -> bytes:
        return self._page.line(
            "turn_context",
            {
                "turn_id": self._page.turn_id,
                "root_turn_id": self._page.turn_id,
                "cwd": self._script.project,
                "approval_policy": "never",
                "sandbox_policy": {"type": "danger-full-access"},
                "model": self._script.model,
                "collaboration_mode": self._mode(),
                "realtime_active": False,
                "summary": "none",
            },
        )

    def _settings(self) -> bytes:
        settings: JsonObject = {
            "model": self._script.model,
            "model_provider_id": "openai",
            "approval_policy": "never",
            "approvals_reviewer": "user",
            "permission_profile": {"type": "disabled"},
            "cwd": self._script.project,
            "runtime_workspace_roots": [self._script.project],
            "collaboration_mode": self._mode(),
            "disabled_plugin_ids": [],
        }
        return self._page.event(
            "thread_settings_applied", {"thread_id": self._script.session_id, "thread_settings": settings}
        )

    def _mode(self) -> JsonObject:
        settings: JsonObject = {
            "model": self._script.model,
            "reasoning_effort": None,
            "developer_instructions": None,
        }
        return {"mode": "default", "settings": settings}

    def _prompt(self, words: str) -> Iterator[bytes]:
        item = self._page.message("user", words, "user.text")
        self._keep_prompt(words, item)
        yield self._page.item(item)
        content: JsonObject = {"type": "text", "text": words, "text_elements": []}
        yield self._page.completed({"type": "UserMessage", "id": self._page.uuid(), "content": [content]})

    def _keep_prompt(self, words: str, item: JsonObject) -> None:
        """The prompts that a compaction would keep, so that an endless session needs no endless memory."""
        self._prompts.append((len(words) // 4, item))
        while len(self._prompts) > 1 and sum(size for size, _ in self._prompts) > known().prompts_kept_tokens:
            self._prompts.popleft()

    def _reply(self, reply: Replied) -> Iterator[bytes]:
        if reply.thinking:
            yield from self._thoughts(reply.thinking)
        if reply.text:
            yield from self._words(reply.text)
        calls = [(call, self._page.call_id()) for call in reply.calls]
        for call, call_id in calls:
            yield self._page.item(tools.asked(call, call_id, self._script.project))
        yield self._page.token_usage(tokens(reply.usage))
        for call, call_id in calls:
            yield from self._answer(call, call_id)
        yield self._page.token_count()

    def _thoughts(self, words: str) -> Iterator[bytes]:
        identity = self._page.identity("rs")
        summary: JsonObject = {"type": "summary_text", "text": words}
        yield self._page.completed(
            {"type": "Reasoning", "id": identity, "summary_text": [words], "raw_content": []}
        )
        yield self._page.item(
            {
                "type": "reasoning",
                "id": identity,
                "summary": [summary],
                "content": None,
                "encrypted_content": None,
            }
        )

    def _words(self, words: str) -> Iterator[bytes]:
        self._last_words = words
        item = self._page.message("assistant", words, "unknown")
        content: JsonObject = {"type": "Text", "text": words}
        yield self._page.completed({"type": "AgentMessage", "id": item["id"], "content": [content]})
        yield self._page.item(item)

    def _answer(self, call: Call, call_id: str) -> Iterator[bytes]:
        if call.answer is None and call.image is None:
            self._is_interrupted = True
            return
        shown = tools.shown(call, call_id, self._script.project)
        if shown:
            yield self._page.completed(shown)
        yield self._page.item(tools.answered(call, call_id))

    def _compaction(self, event: Compacted) -> Iterator[bytes]:
        page = self._page
        yield page.token_usage(
            {**NO_TOKENS, "input_tokens": event.before_tokens, "total_tokens": event.before_tokens}
        )
        first, _, previous = self._windows
        self._windows = [first, previous, page.uuid()]
        self._compactions += 1
        words = known().summary_prefix + event.summary
        summary = page.message("user", words, "compaction.summary")
        history: list[JsonValue] = [*self._preamble(), *(item for _, item in self._prompts), summary]
        yield page.line(
            "compacted",
            {
                "message": words,
                "replacement_history": history,
                "window_number": self._compactions,
                "first_window_id": first,
                "previous_window_id": previous,
                "window_id": self._windows[-1],
                "latest_token_usage_record": page.usage_record(),
            },
        )
        yield page.line("world_state", {"full": True, "state": {}})
        yield self._turn_context()
        yield page.estimate(event.after_tokens)
        yield page.completed({"type": "ContextCompaction", "id": page.uuid()})

    def _end_turn(self) -> Iterator[bytes]:
        page = self._page
        if self._turn_began is None:
            return
        if self._is_interrupted:
            yield page.event("turn_aborted", {"turn_id": page.turn_id, "reason": "interrupted"})
        else:
            yield page.event(
                "task_complete",
                {
                    "turn_id": page.turn_id,
                    "root_turn_id": page.turn_id,
                    "last_agent_message": self._last_words,
                    "started_at": int(self._turn_began.timestamp()),
                    "completed_at": int(page.at.timestamp()),
                    "duration_ms": int((page.at - self._turn_began).total_seconds() * 1000),
                },
            )
        self._turn_began, self._is_interrupted, self._last_words = None, False, ""
