"""How many characters of context blocks take, for estimates: one count for every agent, which says what a picture costs it."""

from __future__ import annotations

from collections.abc import Iterable

from leftoff.agents.fields import size
from leftoff.model.records import Block, Image, Opaque, Text, Thinking, ToolResult, ToolUse


def chars(blocks: Iterable[Block], *, image_chars: int) -> int:
    """The characters of all blocks; a picture counts as many as its tokens would make."""
    return sum(_chars(block, image_chars) for block in blocks)


def _chars(block: Block, image_chars: int) -> int:
    match block:
        case Text() | Thinking():
            return len(block.text)
        case ToolUse():
            return len(block.tool) + size(block.input)
        case ToolResult():
            return chars(block.parts, image_chars=image_chars)
        case Opaque():
            return block.chars
        case Image():
            return image_chars
