"""Is our live chain the truth? Compares it, block by block, with what the API received.

The conversation (the user's and the model's words, thoughts, calls, results, pictures) must be equal from the first block to
the last. What the client says as the system is its own business in part: what our chain has of it must come in the same order,
and it may add more. Put aside on both sides is only what the client does to every request: it joins texts that follow
each other, tells older models the system's words as the user's in tags, calls a renamed tool by its new name, and gives a
stand-in for an answer that nobody gave, which is known by its words.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from received import Block, Message, flat

from leftoff.agents import claude, codex
from leftoff.model import records

Step = tuple[str, ...]
_REMINDER = re.compile(r"<system-reminder>\n(.*)\n</system-reminder>", re.DOTALL)
_RENAMED = {"Task": "Agent"}
# Said in the user's name by the client itself, anew with every turn.
_HARNESS = (
    "<environment_context>",
    "<model_switch>",
    "<user_instructions>",
    "<skills_instructions>",
    "<permissions",
)
_STAND_INS = ("aborted", "[Tool call interrupted", "[Request interrupted by user")


# What the client adds of its own: a reply where a history ends with the user's words, and word of a file that is gone.
_ADDED = (
    ("assistant", "text", "No response requested."),
    (
        "user",
        "text",
        "# AGENTS.md instructions <INSTRUCTIONS> The previously provided AGENTS.md instructions no longer apply. </INSTRUCTIONS>",
    ),
)


def ours(client: str, transcript: Path, home: Path) -> list[Message]:
    """Our live chain of a transcript, in the harness's normal form."""
    agent = claude.Claude(home=home) if client == "claude" else codex.Codex(home)
    session = agent.open(transcript)
    messages = agent.live_chain(session).messages(session.records)
    return [Message(role=each.role, blocks=[normal(block) for block in each.blocks]) for each in messages]


def normal(block: records.Block) -> Block:
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


def check_resumed(received: Sequence[Message], own: Sequence[Message], words: str) -> None:
    """A resumed history is our chain, whole, and nothing more."""
    sent, known = conversation(received, own), conversation(own, received)
    assert known, f"{words}: nothing to compare"
    check_equal(sent, known, words)
    more = [step for step in sent[len(known) :] if step not in _ADDED]
    assert not more, f"{words}: the API received more than our chain: {str(more)[:600]}"
    check_system(received, own, words)


def check_went_on(own: Sequence[Message], received: Sequence[Message], words: str) -> None:
    """The chain of a session that went on is what the API last received, and then the one reply to it."""
    known, sent = conversation(own, received), conversation(received, own)
    assert sent, f"{words}: nothing to compare"
    check_equal(known[: len(sent)], sent, words)
    rest = known[len(sent) :]
    assert rest, f"{words}: the last reply is not in our chain"
    assert {step[0] for step in rest} == {"assistant"}, (
        f"{words}: more than the last reply follows: {rest[:3]}"
    )


def check_equal(found: Sequence[Step], expected: Sequence[Step], words: str) -> None:
    for number, step in enumerate(expected):
        other = found[number] if number < len(found) else None
        if step != other:
            raise AssertionError(
                f"{words}: block {number} of {len(expected)} differs\n  {str(step)[:600]}\n  {str(other)[:600]}"
            )


def check_system(received: Sequence[Message], own: Sequence[Message], words: str) -> None:
    """What we know of the system's words comes in our order."""
    heard = " ".join(step[2] for step in told(received) if step[0] == "system")
    heard, position = " ".join(heard.split()), 0
    for step in told(own):
        if step[0] == "system":
            said = " ".join(step[2].split())
            position = heard.find(said, position)
            assert position >= 0, f"{words}: the API did not receive, or not in this order: {said[:300]}"


def conversation(messages: Sequence[Message], other: Sequence[Message]) -> list[Step]:
    """Without the system's words, and without stand-ins for answers that the other side does not have."""
    answered = {block["id"] for _, block in flat(other) if block["type"] == "tool_result"}
    found = (step for step in told(messages) if step[0] != "system" and not stands_in(step, answered))
    return [*joined(found)]


def stands_in(step: Step, answered: Collection[str]) -> bool:
    return step[1] == "tool_result" and step[2] not in answered and step[3].startswith(_STAND_INS)


def joined(found: Iterable[Step]) -> Iterator[Step]:
    """Texts of the user that follow each other as one, without the white space that joining brings."""
    pending: Step | None = None
    for step in found:
        if pending and step[:2] == pending[:2] == ("user", "text"):
            pending = (*step[:2], f"{pending[2]}\n{step[2]}")
            continue
        if pending:
            yield squeezed(pending)
        pending = step
    if pending:
        yield squeezed(pending)


def squeezed(step: Step) -> Step:
    return (*step[:2], " ".join(step[2].split())) if step[1] == "text" else step


def told(messages: Iterable[Message]) -> Iterator[Step]:
    return (one(role, block) for role, block in flat(messages))


def one(role: str, block: dict[str, Any]) -> Step:
    match block["type"]:
        case "text":
            reminder = _REMINDER.fullmatch(block["text"].strip())
            is_harness = block["text"].lstrip().startswith(_HARNESS)
            voice = "system" if reminder or is_harness else role
            return (voice, "text", reminder[1] if reminder else block["text"])
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
