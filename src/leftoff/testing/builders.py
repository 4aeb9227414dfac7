"""Builds a session in a few words: ``Story().asked("Fix the login").replied("Done.", used=30_000).session()``.

A story becomes a ``Script``, to be written as a transcript, or a ``Session`` in memory without any file."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from leftoff.core.records import Usage
from leftoff.core.session import Session
from leftoff.core.wire import JsonObject
from leftoff.testing import plain_agent
from leftoff.testing.script import Asked, Call, Compacted, DelegatedTask, Event, Replied, Script

_START = datetime(2026, 1, 6, 12, 0, tzinfo=UTC)
_STEP = timedelta(seconds=20)


def call(
    tool: str, tool_input: JsonObject | None = None, answer: str | None = "ok", *, failed: bool = False
) -> Call:
    """Return a tool call with its result; ``answer=None`` for an interrupted one."""
    return Call(tool=tool, input=tool_input or {}, answer=answer, failed=failed)


@dataclass(slots=True)
class Story:
    """Events in order; each one moves the clock by 20 seconds."""

    session_id: str = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
    project: str = "/home/dev/project"
    branch: str = "main"
    model: str = "sample-1"
    window_tokens: int = 200_000
    events: list[Event] = field(default_factory=list)
    used_tokens: int = 20_000

    def asked(self, text: str) -> Story:
        """Add a prompt of the user."""
        self.events.append(Asked(text=text, at=self._now()))
        return self

    def replied(self, text: str = "", *calls: Call, used: int | None = None, thinking: str = "") -> Story:
        """Add a reply of the model, after which ``used`` tokens are in the window (default: 500 more than before)."""
        at, usage = self._now(), self._usage(used)
        self.events.append(Replied(at=at, text=text, thinking=thinking, calls=calls, usage=usage))
        return self

    def delegated(self, task: str, answer: str, *calls: Call) -> Story:
        """Add a task for a subagent and its report."""
        at, usage = self._now(), self._usage(None)
        inner = Usage(input_tokens=3_000, output_tokens=100)
        steps = (
            Replied(at=at, text="On it.", calls=calls, usage=inner),
            Replied(at=at, text=answer, usage=inner),
        )
        self.events.append(DelegatedTask(task=task, steps=steps, answer=answer, at=at, usage=usage))
        return self

    def compacted(self, summary: str, *, after: int = 10_000, automatic: bool = True) -> Story:
        """Add a compaction."""
        at, before, self.used_tokens = self._now(), self.used_tokens, after
        self.events.append(
            Compacted(summary=summary, before_tokens=before, after_tokens=after, automatic=automatic, at=at)
        )
        return self

    def script(self) -> Script:
        """Return the story as a script, to be written as a transcript."""
        return Script(
            session_id=self.session_id,
            project=self.project,
            branch=self.branch,
            model=self.model,
            window_tokens=self.window_tokens,
            events=tuple(self.events),
        )

    def session(self) -> Session:
        """Return the story as a session in memory."""
        return plain_agent.session_in_memory(self.script())

    def _now(self) -> datetime:
        return _START + _STEP * len(self.events)

    def _usage(self, used: int | None) -> Usage:
        self.used_tokens = self.used_tokens + 500 if used is None else used
        return Usage(
            input_tokens=10,
            output_tokens=100,
            cache_read_tokens=self.used_tokens - 1_110,
            cache_creation_tokens=1_000,
        )


def a_story(turns: int = 3) -> Story:
    """Return a story with text, thinking, parallel calls, a failure and CJK text in each turn."""
    story = Story()
    for turn in range(turns):
        story.asked(f"Please do part {turn} 日本語")
        read = call("read", {"path": f"src/a{turn}.py"}, "def a(): ...\n")
        story.replied("Let me look.", read, thinking="Hm.")
        failing = call("shell", {"command": "false"}, "no", failed=True)
        story.replied("", call("shell", {"command": "ls"}, "a.py"), failing)
        story.replied(f"Part {turn} is done ✓")
    return story
