"""Tells what the user typed from what the client put into the user's lines: caveats, command output, notices, hook text."""

from __future__ import annotations

import re

from leftoff.agents.claude.known import known
from leftoff.agents.fields import table, text
from leftoff.model.lineage_text import without_own_words
from leftoff.model.records import Block, Image, Text
from leftoff.model.wire import JsonObject

# A slash command that goes to the model puts its message first; one that only the client runs puts its name first.
_COMMAND = re.compile(
    r"<command-message>.*?</command-message>\s*<command-name>(?P<name>[^<]*)</command-name>"
    r"(?:\s*<command-args>(?P<args>.*?)</command-args>)?",
    re.DOTALL,
)

# What the client puts below a plan that the user hands to a fresh conversation.
_ADDED_TO_PLAN = "\n\nIf you need specific details from before exiting plan mode"


def is_own(line: JsonObject, blocks: tuple[Block, ...]) -> bool:
    """Whether the user's line holds words or pictures that the user gave."""
    # The blocks first: most of the user's lines hold what a tool answered, and no other look at them is needed.
    return any(map(_is_typed, blocks)) and not _is_clients(line)


def is_typed(words: str) -> bool:
    """Whether the words are somebody's own, as far as their beginning shows."""
    begins = words.lstrip()
    return bool(begins) and not begins.startswith(known().not_typed)


def shown(words: str) -> str:
    """What the user typed, as it was typed: a slash command without the envelope it is sent in."""
    words = without_own_words(words)
    command = _COMMAND.match(words.lstrip())
    if command:
        return f"{command['name']} {command['args'] or ''}".strip()
    return words.partition(_ADDED_TO_PLAN)[0].strip()


def _is_clients(line: JsonObject) -> bool:
    """Whether the line says itself that the client wrote it, or the agent for a subagent."""
    origin = text(table(line, "origin"), "kind")
    return (
        line.get("isMeta") is True
        or line.get("isSidechain") is True
        or (origin is not None and origin != "human")
        or line.get("promptSource") == "system"
    )


def _is_typed(block: Block) -> bool:
    return (isinstance(block, Text) and is_typed(block.text)) or isinstance(block, Image)
