"""The live chain is what Codex sends when it resumes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.codex import Codex
from leftoff.agents.codex.versions import known
from leftoff.core.records import Image, Message, Opaque, RecordKind, Text, Thinking, ToolResult, ToolUse

CLIENTS = Path(__file__).parents[2] / "golden" / "clients"


def as_sent(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages as the API receives them: each call without an answer gets the client's own."""
    all_messages = list(messages)
    answered = {
        block.call_id for message in all_messages for block in message.blocks if isinstance(block, ToolResult)
    }
    for message in all_messages:
        yield message
        for block in message.blocks:
            if isinstance(block, ToolUse) and block.call_id not in answered:
                yield _substitute_answer(block)


def _substitute_answer(call: ToolUse) -> Message:
    content = Opaque(type="tools", chars=2) if call.tool == "tool_search" else Text(text=known().unanswered)
    return Message(role="user", blocks=(ToolResult(call_id=call.call_id, parts=(content,)),))


def user(text: str) -> dict[str, Any]:
    return message("user", text)


def message(role: str, text: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    return {"type": "response_item", "payload": {"type": "message", "role": role, "content": content}}


def call(call_id: str) -> dict[str, Any]:
    payload = {"type": "function_call", "name": "exec_command", "call_id": call_id, "arguments": "{}"}
    return {"type": "response_item", "payload": payload}


def answer(call_id: str) -> dict[str, Any]:
    payload = {"type": "function_call_output", "call_id": call_id, "output": f"answer {call_id}"}
    return {"type": "response_item", "payload": payload}


def rolled_back(turns: int) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": turns}}


def compacted(*history: dict[str, Any], summary: str = "") -> dict[str, Any]:
    items = [each["payload"] for each in history]
    return {"type": "compacted", "payload": {"message": summary, "replacement_history": items}}


@pytest.fixture
def sent(codex: Codex, rollout: Callable[..., Path]) -> Callable[..., list[Message]]:
    """The messages of the live chain of a rollout of these lines."""

    def of(*lines: dict[str, Any]) -> list[Message]:
        session = codex.open(rollout(lines))
        return codex.live_chain(session).messages(session.records)

    return of


def words(messages: list[Message]) -> list[str]:
    return [
        message.text
        or next(
            f"call {block.call_id}" if isinstance(block, ToolUse) else block.text
            for block in message.blocks
            if isinstance(block, ToolUse | ToolResult)
        )
        for message in messages
    ]


# What the real client sent


@pytest.mark.parametrize("name", ["exec-basic", "hooks-autocompact", "remote-compaction"])
def test_the_chain_is_what_the_api_received_from_the_real_client(codex: Codex, name: str) -> None:
    """Resumed by Codex 0.166 against a local API: the same messages, between those that it always adds itself."""
    session = codex.open(CLIENTS / f"codex-0.166.0-{name}.jsonl")
    received = [
        (message["role"], [without_secrets(block) for block in message["blocks"]])
        for message in json.loads((CLIENTS / f"codex-0.166.0-{name}.received.json").read_bytes())
    ]
    ours = [plain(message) for message in as_sent(codex.live_chain(session).messages(session.records))]
    assert received[1 : 1 + len(ours)] == ours
    added = received[:1] + received[1 + len(ours) :]
    assert [role for role, _ in added] == ["system", "system", "user"]


def plain(message: Message) -> tuple[str, list[dict[str, Any]]]:
    return message.role, [plain_block(block) for block in message.blocks]


def plain_block(block: object) -> dict[str, Any]:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Thinking():
            return {"type": "thinking", "text": block.text}
        case ToolUse():
            return {"type": "tool_use", "id": block.call_id, "tool": block.tool, "input": block.input}
        case ToolResult():
            return {"type": "tool_result", "id": block.call_id, "text": block.text}
        case Opaque():
            return {"type": block.type}
        case _:
            assert isinstance(block, Image)
            return {"type": "image"}


def without_secrets(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in {"signature", "is_error"}}


# Compactions


def test_a_compaction_replaces_all_that_came_before(sent: Callable[..., list[Message]]) -> None:
    """The replaced history is sent first, then what followed the compaction."""
    found = sent(user("old"), call("1"), answer("1"), compacted(user("kept"), user("summary")), user("new"))
    assert words(found) == ["kept", "summary", "new"]


def test_the_last_compaction_counts(sent: Callable[..., list[Message]]) -> None:
    """The one before is replaced like everything else."""
    assert words(sent(compacted(user("first")), user("mid"), compacted(user("second")))) == ["second"]


def test_a_compaction_without_a_history_keeps_the_prompts(sent: Callable[..., list[Message]]) -> None:
    """The oldest compactions have no history: only the prompts and the summary are sent."""
    bare = {"type": "compacted", "payload": {"message": "what happened"}}
    context = user("<environment_context>…")
    found = sent(
        context, user("one"), message("assistant", "reply"), call("1"), answer("1"), user("two"), bare
    )
    assert words(found) == ["one", "two", "what happened"]
    assert (
        words(sent(user("one"), {"type": "compacted", "payload": {"message": ""}}))[-1]
        == "(no summary available)"
    )


def test_only_the_newest_prompts_are_kept(sent: Callable[..., list[Message]]) -> None:
    """20,000 tokens from the end back; the one that goes beyond is the last to be kept."""
    bare = {"type": "compacted", "payload": {"message": "summary"}}
    long = "x" * 60_000
    assert [text[:2] for text in words(sent(user("a" + long), user("b" + long), user("c"), bare))] == [
        "ax",
        "bx",
        "c",
        "su",
    ]
    assert [text[:2] for text in words(sent(user("a" + long), user("b" + long), user("c" + long), bare))] == [
        "bx",
        "cx",
        "su",
    ]


# Rollbacks


def test_a_rollback_removes_the_last_turns(sent: Callable[..., list[Message]]) -> None:
    """A rollback removes whole turns with their calls and answers; what follows it is kept."""
    turns = [user("one"), call("1"), answer("1"), user("two"), call("2"), answer("2"), user("three")]
    assert words(sent(*turns, rolled_back(1))) == ["one", "call 1", "answer 1", "two", "call 2", "answer 2"]
    assert words(sent(*turns, rolled_back(2), user("again"))) == ["one", "call 1", "answer 1", "again"]
    assert words(sent(*turns, rolled_back(0))) == words(sent(*turns))


def test_a_rollback_of_everything_keeps_what_precedes_the_first_prompt(
    sent: Callable[..., list[Message]],
) -> None:
    """The session's beginning is never taken back."""
    context = user("<environment_context>…")
    assert words(sent(context, user("one"), user("two"), rolled_back(9))) == [
        context["payload"]["content"][0]["text"]
    ]
    assert words(sent(context, rolled_back(1))) == ["<environment_context>…"]


def test_a_rollback_removes_the_clients_context_before_the_turn(
    sent: Callable[..., list[Message]],
) -> None:
    """The client sends it again; a hook's text, which would not be sent again, stays."""
    instructions = message("developer", "<permissions instructions>…")
    assert words(
        sent(user("one"), instructions, user("<environment_context>…"), user("two"), rolled_back(1))
    ) == ["one"]
    assert words(sent(user("one"), message("developer", "hook says"), user("two"), rolled_back(1))) == [
        "one",
        "hook says",
    ]


def test_a_rollback_into_a_compaction_keeps_its_history_whole(sent: Callable[..., list[Message]]) -> None:
    """A rollback never removes anything that the client itself would keep."""
    found = sent(compacted(user("a"), user("summary")), message("assistant", "x"), user("b"), rolled_back(2))
    assert words(found) == ["a", "summary"]


# Calls and answers


def test_answers_without_a_call_are_left_out(
    codex: Codex, rollout: Callable[..., Path], sent: Callable[..., list[Message]]
) -> None:
    """The client leaves such answers out of the file's messages and of a replaced history."""
    assert words(sent(answer("gone"), user("one"))) == ["one"]
    session = codex.open(rollout([answer("gone"), user("one")]))
    assert [place.line_idx for place in codex.live_chain(session).places] == [1]
    assert words(sent(compacted(answer("gone"), call("1"), answer("1"), user("s")))) == [
        "call 1",
        "answer 1",
        "s",
    ]


def test_a_call_without_an_answer_is_sent_as_aborted(sent: Callable[..., list[Message]]) -> None:
    """The client puts the word behind the call, and behind a search for tools an empty list."""
    search = {
        "type": "response_item",
        "payload": {"type": "tool_search_call", "call_id": "s", "arguments": {}},
    }
    found = sent(user("go"), call("1"), call("2"), answer("2"), search)
    assert words(found) == ["go", "call 1", "call 2", "answer 2", "call s"]
    received = [*as_sent(found)]
    assert words(received[:-1]) == ["go", "call 1", "aborted", "call 2", "answer 2", "call s"]
    assert received[-1].blocks == (ToolResult(call_id="s", parts=(Opaque(type="tools", chars=2),)),)


def test_what_is_the_clients_own_is_never_sent(sent: Callable[..., list[Message]]) -> None:
    """Events, snapshots and unknown types are never sent."""
    event = {"type": "event_msg", "payload": {"type": "user_message", "message": "one"}}
    snapshot = {"type": "response_item", "payload": {"type": "ghost_snapshot"}}
    unseen = {"type": "response_item", "payload": {"type": "tomorrow"}}
    assert words(sent(user("one"), event, snapshot, unseen)) == ["one"]


# Real files


def test_the_chain_of_a_real_file_is_in_order_and_pairs_calls(codex: Codex, real: Path) -> None:
    """Places rise from the last compaction on, each is there once, and every answer follows its call."""
    session = codex.open(real)
    chain = codex.live_chain(session)
    starts = [place.start for place in chain.places]
    last = max(
        (record.place.start for record in session.records if record.kind is RecordKind.COMPACTION), default=0
    )
    assert starts == sorted(set(starts))
    assert starts[0] >= last
    call_ids: set[str] = set()
    for message in chain.messages(session.records):
        call_ids |= {block.call_id for block in message.blocks if isinstance(block, ToolUse)}
        assert {block.call_id for block in message.blocks if isinstance(block, ToolResult)} <= call_ids
