"""Helpers for the tests of extraction: fold and render stories, add single calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from leftoff.core.actions import Action, Answer
from leftoff.core.records import Block, Message, Place, Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.core.wire import JsonObject
from leftoff.extraction import State, render, step, tool_calls
from leftoff.extraction.state import Ref, make_ref
from leftoff.testing.builders import Story
from leftoff.testing.plain_agent import PlainAgent

PLAIN = PlainAgent(home=Path("/nowhere"))


def folded(story: Story) -> State:
    """Return the state after the whole story."""
    return step(State(project=story.project, project_ref=a_ref()), story.session().records, PLAIN)


def session_state_of(story: Story) -> dict[str, Any]:
    """Return the session state of the story."""
    return render(folded(story))


def rules_of(story: Story) -> list[str]:
    """Return the user's rules as the story's log has them."""
    found: list[str] = session_state_of(story)["critical_context"].get("user_rules", [])
    return found


def record(
    kind: RecordKind,
    *blocks: Block | str,
    line: int = 0,
    id: str | None = None,  # noqa: A002 - the field's own name
    parent_id: str | None = None,
    actor: str | None = None,
    raw: bytes | None = None,
    transcript: str = "t.jsonl",
) -> Record:
    """Return a record with these blocks."""
    content = tuple(Text(text=block) if isinstance(block, str) else block for block in blocks)
    role = "assistant" if kind is RecordKind.REPLY else "user"
    return Record(
        place=Place(transcript, line, line * 100, line * 100 + 100),
        kind=kind,
        type="made",
        raw=raw if raw is not None else f"record {line}\n".encode(),
        messages=(Message(role=role, blocks=content),),
        id=id,
        parent_id=parent_id,
        actor=actor,
    )


def use(call_id: str, tool: str = "shell", tool_input: JsonObject | str | None = None) -> ToolUse:
    return ToolUse(call_id=call_id, tool=tool, input={"command": "ls"} if tool_input is None else tool_input)


def result(call_id: str, words: str = "ok", *, failed: bool = False) -> ToolResult:
    return ToolResult(call_id=call_id, parts=(Text(text=words),), is_error=failed)


def a_ref(line: int = 0, words: str = "") -> Ref:
    return make_ref(record(RecordKind.PROMPT, line=line), words)


def add_call(state: State, *actions: Action, answer: Answer, actor: str | None = None) -> State:
    """Add one more call to the state, and return it."""
    line = state.calls + 1
    answered = record(RecordKind.RESULT, line=line, actor=actor)
    tool_calls.add_call(state, tool_calls.Call(a_ref(line), answered, actions, answer))
    return state


def through_json(state: State) -> State:
    """Return the state after writing and reading it."""
    return State.from_dict(json.loads(json.dumps(state.to_dict())))
