"""Reads what the local API shall answer from the prompt itself, so that a scenario says everything in one place.

A prompt may hold lines like these, for either agent; the other lines are only words:

    #say TEXT            words of the reply
    #think TEXT          thinking before the reply
    #usage N             the reply reports N tokens in the window
    #tool NAME {json}    the reply calls one tool, and ends there
    #tools [["NAME", {json}], …]   the reply calls several tools at once, and ends there
    #too_long            the request is refused: the prompt is too long

One prompt is a script of replies; `Script.next` gives them in order, then "done" for ever. Which reply is due is counted
here and not read off the history, because after a compaction the history no longer tells.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from received import Message, flat

DIRECTIVE = re.compile(r"^#(say|think|usage|tools|tool|too_long)\b[ ]?(.*)$", re.MULTILINE)
DEFAULT_USAGE_TOKENS = 1000
SUMMARY = "The local API's summary of all that was said so far."
PROPOSAL_TASK = "a JSON list of [line, rationale, description]"
PROPOSED = "Nothing refers to it any more"
NEVER = "never-answered"  # stands in what a proposal is asked for, and none comes


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    tool: str
    input: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Reply:
    text: str = ""
    thinking: str = ""
    calls: list[Call] = field(default_factory=list)
    used_tokens: int = DEFAULT_USAGE_TOKENS
    too_long: bool = False


class Script:
    """The replies still due, per prompt. One per local API; not safe for threads by itself."""

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()

    def next(self, messages: Iterable[Message]) -> Reply:
        prompt = last_prompt(messages)
        replies = list(parse(prompt))
        number = self._given[prompt]
        self._given[prompt] += 1
        return replies[number] if number < len(replies) else Reply(text="done")


def last_prompt(messages: Iterable[Message]) -> str:
    """The last words of the user that hold directives; "" when none do. Clients put other words around them."""
    words = [
        block["text"].strip() for role, block in flat(messages) if role == "user" and block["type"] == "text"
    ]
    return next((text for text in reversed(words) if DIRECTIVE.search(text)), "")


def parse(prompt: str) -> Iterator[Reply]:
    reply = Reply()
    for name, rest in DIRECTIVE.findall(prompt):
        add(reply, name, rest)
        if name in {"tool", "tools", "too_long"}:
            yield reply
            reply = Reply()
    if reply != Reply():
        yield reply


def add(reply: Reply, name: str, rest: str) -> None:
    match name:
        case "say":
            reply.text = f"{reply.text}\n{rest}".strip()
        case "think":
            reply.thinking = rest
        case "usage":
            reply.used_tokens = int(rest)
        case "tool":
            tool, _, arguments = rest.partition(" ")
            reply.calls.append(Call(tool=tool, input=json.loads(arguments)))
        case "tools":
            reply.calls += [Call(tool=tool, input=arguments) for tool, arguments in json.loads(rest)]
        case "too_long":
            reply.too_long = True


def proposal(messages: Iterable[Message]) -> str | None:
    """What is answered to whoever asks what could be cut: the first result of the rows; None where nobody asks."""
    asked = [block["text"] for role, block in flat(messages) if role == "user" and block["type"] == "text"]
    task = next((text for text in reversed(asked) if PROPOSAL_TASK in text), None)
    if task is None:
        return None
    lines = re.findall(r"^(\d+)\t[^\t]* result\t", task, re.MULTILINE)
    return json.dumps([[int(line), PROPOSED, "a list of numbers"] for line in lines[:1]])


def is_to_wait(messages: Iterable[Message]) -> bool:
    """Whether the answer to a proposal is never to come."""
    return any(NEVER in block["text"] for _, block in flat(messages) if block["type"] == "text")


def tool(name: str, **arguments: Any) -> str:
    """The line that makes the agent call one tool."""
    return f"#tool {name} {json.dumps(arguments)}"


def tools(*calls: tuple[str, dict[str, Any]]) -> str:
    """The line that makes the agent call several tools at once."""
    return f"#tools {json.dumps(calls)}"
