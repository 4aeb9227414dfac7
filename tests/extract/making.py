"""What the tests of extraction share: stories folded and rendered, and single calls noted by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from leftoff.extract import State, calls, render, step
from leftoff.extract.state import Ref, ref_of
from leftoff.model.actions import Action, Answer
from leftoff.model.records import Block, Message, Place, Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.model.wire import JsonObject
from leftoff.testing.builders import Story
from leftoff.testing.plain_agent import PlainAgent

PLAIN = PlainAgent(home=Path("/nowhere"))


def folded(story: Story) -> State:
    """The state after the whole story."""
    return step(State(project=story.project, project_ref=a_ref()), story.session().records, PLAIN)


def told(story: Story, max_chars: int | None = None) -> dict[str, Any]:
    """The session state of the story."""
    return render(folded(story), max_chars)


def rules_of(story: Story) -> list[str]:
    """The user's rules as the story's log has them."""
    found: list[str] = told(story)["critical_context"].get("user_rules", [])
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
    """A record with these blocks, at a line of its own."""
    given = tuple(Text(text=block) if isinstance(block, str) else block for block in blocks)
    role = "assistant" if kind is RecordKind.REPLY else "user"
    return Record(
        place=Place(transcript, line, line * 100, line * 100 + 100),
        kind=kind,
        type="made",
        raw=raw if raw is not None else f"record {line}\n".encode(),
        messages=(Message(role=role, blocks=given),),
        id=id,
        parent_id=parent_id,
        actor=actor,
    )


def use(call_id: str, tool: str = "shell", given: JsonObject | str | None = None) -> ToolUse:
    return ToolUse(call_id=call_id, tool=tool, input={"command": "ls"} if given is None else given)


def result(call_id: str, words: str = "ok", *, failed: bool = False) -> ToolResult:
    return ToolResult(call_id=call_id, parts=(Text(text=words),), is_error=failed)


def a_ref(line: int = 0, words: str = "") -> Ref:
    return ref_of(record(RecordKind.PROMPT, line=line), words)


def noted(state: State, *actions: Action, answer: Answer, actor: str | None = None) -> State:
    """The state after one more call, changed in place."""
    line = state.calls + 1
    answered = record(RecordKind.RESULT, line=line, actor=actor)
    calls.note(state, calls.Call(a_ref(line), answered, actions, answer))
    return state


def through_json(state: State) -> State:
    """The state as it comes back from a file."""
    return State.from_dict(json.loads(json.dumps(state.to_dict())))
