"""Compare our live chain, block by block, with what the API received.

The conversation (texts, thinking, tool calls, results, images) must be equal from the first block to the last. System texts
of our chain must come in the same order, and the client may add more of them. Only what the client does to every request is
ignored on both sides: it joins consecutive texts, sends system texts to older models as the user's in tags, uses the new
name of a renamed tool, and sends a placeholder for a missing tool result.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from received import Block, Message, iterate_blocks

from leftoff.agents import claude, codex
from leftoff.core import records

Step = tuple[str, ...]
_REMINDER = re.compile(r"<system-reminder>\n(.*)\n</system-reminder>", re.DOTALL)
_RENAMED = {"Task": "Agent"}
# Texts that the client sends as the user's with every turn.
_CLIENT_TEXTS = (
    "<environment_context>",
    "<model_switch>",
    "<user_instructions>",
    "<skills_instructions>",
    "<permissions",
)
_PLACEHOLDER_RESULTS = ("aborted", "[Tool call interrupted", "[Request interrupted by user")


# Added by the client: a reply where a history ends with the user's text, and a note about a removed AGENTS.md.
_ADDED_BY_CLIENT = (
    ("assistant", "text", "No response requested."),
    (
        "user",
        "text",
        "# AGENTS.md instructions <INSTRUCTIONS> The previously provided AGENTS.md instructions no longer apply. </INSTRUCTIONS>",
    ),
)


def live_chain_messages(client: str, transcript: Path, home: Path) -> list[Message]:
    """Return our live chain of a transcript in the form of received.py."""
    agent = claude.Claude(home=home) if client == "claude" else codex.Codex(home)
    session = agent.open(transcript)
    messages = agent.live_chain(session).messages(session.records)
    return [
        Message(role=each.role, blocks=[normalise_block(block) for block in each.blocks]) for each in messages
    ]


def normalise_block(block: records.Block) -> Block:
    match block:
        case records.Text(text=text):
            return {"type": "text", "text": text}
        case records.Thinking(text=text):
            return {"type": "thinking", "text": text}
        case records.ToolUse(call_id=name, tool=tool, input=given):
            return {"type": "tool_use", "id": name, "tool": tool, "input": given}
        case records.ToolResult(call_id=name):
            return {"type": "tool_result", "id": name, "text": block.text}
        case records.Image():
            return {"type": "image"}
        case records.Opaque(type=kind):
            return {"type": kind}


def check_resumed_history(received: Sequence[Message], chain_messages: Sequence[Message], label: str) -> None:
    """Check that a resumed history is exactly our chain."""
    sent, known = conversation_steps(received, chain_messages), conversation_steps(chain_messages, received)
    assert known, f"{label}: nothing to compare"
    check_equal(sent, known, label)
    more = [step for step in sent[len(known) :] if step not in _ADDED_BY_CLIENT]
    assert not more, f"{label}: the API received more than our chain: {str(more)[:600]}"
    check_system(received, chain_messages, label)


def check_continued_session(
    chain_messages: Sequence[Message], received: Sequence[Message], label: str
) -> None:
    """Check that the chain of a continued session is what the API last received, followed by the one reply to it."""
    known, sent = conversation_steps(chain_messages, received), conversation_steps(received, chain_messages)
    assert sent, f"{label}: nothing to compare"
    check_equal(known[: len(sent)], sent, label)
    rest = known[len(sent) :]
    assert rest, f"{label}: the last reply is not in our chain"
    assert {step[0] for step in rest} == {"assistant"}, (
        f"{label}: more than the last reply follows: {rest[:3]}"
    )


def check_equal(steps: Sequence[Step], expected: Sequence[Step], label: str) -> None:
    for number, step in enumerate(expected):
        actual = steps[number] if number < len(steps) else None
        if step != actual:
            raise AssertionError(
                f"{label}: block {number} of {len(expected)} differs\n  {str(step)[:600]}\n  {str(actual)[:600]}"
            )


def check_system(received: Sequence[Message], chain_messages: Sequence[Message], label: str) -> None:
    """Check that the system texts of our chain were received in the same order."""
    received_text = " ".join(step[2] for step in steps_of(received) if step[0] == "system")
    received_text, position = " ".join(received_text.split()), 0
    for step in steps_of(chain_messages):
        if step[0] == "system":
            text = " ".join(step[2].split())
            position = received_text.find(text, position)
            assert position >= 0, f"{label}: the API did not receive, or not in this order: {text[:300]}"


def conversation_steps(messages: Sequence[Message], other_messages: Sequence[Message]) -> list[Step]:
    """Return the steps without system texts and without placeholders for results that the other side does not have."""
    answered = {block["id"] for _, block in iterate_blocks(other_messages) if block["type"] == "tool_result"}
    steps = (
        step
        for step in steps_of(messages)
        if step[0] != "system" and not is_placeholder_result(step, answered)
    )
    return [*merge_user_texts(steps)]


def is_placeholder_result(step: Step, answered: Collection[str]) -> bool:
    return step[1] == "tool_result" and step[2] not in answered and step[3].startswith(_PLACEHOLDER_RESULTS)


def merge_user_texts(steps: Iterable[Step]) -> Iterator[Step]:
    """Join consecutive texts of the user, because the client does, and normalise the white space between them."""
    pending: Step | None = None
    for step in steps:
        if pending and step[:2] == pending[:2] == ("user", "text"):
            pending = (*step[:2], f"{pending[2]}\n{step[2]}")
            continue
        if pending:
            yield normalise_whitespace(pending)
        pending = step
    if pending:
        yield normalise_whitespace(pending)


def normalise_whitespace(step: Step) -> Step:
    return (*step[:2], " ".join(step[2].split())) if step[1] == "text" else step


def steps_of(messages: Iterable[Message]) -> Iterator[Step]:
    return (step_of(role, block) for role, block in iterate_blocks(messages))


def step_of(role: str, block: dict[str, Any]) -> Step:
    match block["type"]:
        case "text":
            reminder = _REMINDER.fullmatch(block["text"].strip())
            is_client_text = block["text"].lstrip().startswith(_CLIENT_TEXTS)
            speaker = "system" if reminder or is_client_text else role
            return (speaker, "text", reminder[1] if reminder else block["text"])
        case "tool_use":
            tool = _RENAMED.get(block["tool"], block["tool"])
            return (role, "tool_use", block["id"], tool, json.dumps(block["input"], sort_keys=True))
        case "tool_result":
            return (role, "tool_result", block["id"], " ".join(block["text"].split()))
        case "thinking":
            return (role, "thinking", block["text"])
        case "additional_tools":
            return ("system", "additional_tools", "")
        case kind:
            return (role, kind, "")
