"""Read from the prompt what the local API has to answer, so that a scenario is complete in one place.

A prompt may contain lines like these, for either agent; all other lines are ordinary text:

    #say TEXT            text of the reply
    #think TEXT          thinking before the reply
    #usage N             the reply reports N tokens in the window
    #cached N            the same, and that all of them were written to the cache for an hour
    #tool NAME {json}    the reply calls one tool, and ends there
    #tools [["NAME", {json}], …]   the reply calls several tools at once, and ends there
    #too_long            the request is refused: the prompt is too long
    #silence             the request is never answered

One prompt is a script of replies; `Script.next` returns them in order, then always "done". The replies are counted here
and not derived from the history, because after a compaction the history is incomplete.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from received import Message, iterate_blocks

DIRECTIVE = re.compile(r"^#(say|think|usage|cached|tools|tool|too_long|silence)\b[ ]?(.*)$", re.MULTILINE)
DEFAULT_USAGE_TOKENS = 1000
SUMMARY = "The local API's summary of all that was said so far."
PROPOSAL_TASK = "a JSON list of [line, rationale, description]"
PROPOSAL_RATIONALE = "Nothing refers to it any more"
NEVER_ANSWERED = "never-answered"  # in a request for a proposal: the API never answers it


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
    never_comes: bool = False
    is_cached: bool = False


class Script:
    """The replies still to give, per prompt. One per local API; not thread-safe."""

    def __init__(self) -> None:
        self._replies_given: Counter[str] = Counter()

    def next(self, messages: Iterable[Message]) -> Reply:
        prompt = last_prompt(messages)
        replies = list(parse(prompt))
        number = self._replies_given[prompt]
        self._replies_given[prompt] += 1
        return replies[number] if number < len(replies) else Reply(text="done")


def last_prompt(messages: Iterable[Message]) -> str:
    """Return the user's last text with directives, or "". Clients send other texts around the prompt."""
    words = [
        block["text"].strip()
        for role, block in iterate_blocks(messages)
        if role == "user" and block["type"] == "text"
    ]
    return next((text for text in reversed(words) if DIRECTIVE.search(text)), "")


def parse(prompt: str) -> Iterator[Reply]:
    reply = Reply()
    for name, rest in DIRECTIVE.findall(prompt):
        apply_directive(reply, name, rest)
        if name in {"tool", "tools", "too_long"}:
            yield reply
            reply = Reply()
    if reply != Reply():
        yield reply


def apply_directive(reply: Reply, name: str, rest: str) -> None:
    match name:
        case "say":
            reply.text = f"{reply.text}\n{rest}".strip()
        case "think":
            reply.thinking = rest
        case "usage" | "cached":
            reply.used_tokens, reply.is_cached = int(rest), name == "cached"
        case "tool":
            tool, _, arguments = rest.partition(" ")
            reply.calls.append(Call(tool=tool, input=json.loads(arguments)))
        case "tools":
            reply.calls += [Call(tool=tool, input=arguments) for tool, arguments in json.loads(rest)]
        case "too_long":
            reply.too_long = True
        case "silence":
            reply.never_comes = True


def trim_proposal(messages: Iterable[Message]) -> str | None:
    """Answer a request for results to trim: propose the first one. None when the messages do not ask for this."""
    requests = [
        block["text"]
        for role, block in iterate_blocks(messages)
        if role == "user" and block["type"] == "text"
    ]
    task = next((text for text in reversed(requests) if PROPOSAL_TASK in text), None)
    if task is None:
        return None
    lines = re.findall(r"^(\d+)\t[^\t]* result\t", task, re.MULTILINE)
    return json.dumps([[int(line), PROPOSAL_RATIONALE, "a list of numbers"] for line in lines[:1]])


def never_answers(messages: Iterable[Message]) -> bool:
    """Return whether a request for a proposal must stay without an answer."""
    return any(
        NEVER_ANSWERED in block["text"] for _, block in iterate_blocks(messages) if block["type"] == "text"
    )


def tool(name: str, **arguments: Any) -> str:
    """Return the directive that makes the agent call one tool."""
    return f"#tool {name} {json.dumps(arguments)}"


def tools(*calls: tuple[str, dict[str, Any]]) -> str:
    """Return the directive that makes the agent call several tools in one reply."""
    return f"#tools {json.dumps(calls)}"
