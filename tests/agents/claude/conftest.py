"""What the tests of this adapter share: golden files, an adapter, lines written by hand, and a form to compare chains in."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.claude import Claude
from leftoff.core.records import Image, Message, Text, Thinking, ToolResult, ToolUse

GOLDEN = Path(__file__).parents[2] / "golden"
OLD_NAMES = {"Task": "Agent"}  # the client sends old tool names as the new ones


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(home=tmp_path / "claude-home")


@pytest.fixture
def golden() -> Path:
    return GOLDEN


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """A transcript of the given lines: objects, written as the client does, or bytes as they are."""

    def write(*lines: dict[str, Any] | bytes, name: str = "t.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(
            b"".join(
                line if isinstance(line, bytes) else json.dumps(line, separators=(",", ":")).encode() + b"\n"
                for line in lines
            )
        )
        return path

    return write


@pytest.fixture
def sent(claude: Claude) -> Callable[[Path], list[Message]]:
    """The messages of a transcript's live chain."""

    def messages(path: Path) -> list[Message]:
        session = claude.open(path)
        return claude.live_chain(session).messages(session.records)

    return messages


@pytest.fixture
def ours() -> Callable[[Iterable[Message]], list[tuple[object, ...]]]:
    """Messages as rows; consecutive system messages are one text, as the client sends them."""

    def flat(messages: Iterable[Message]) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        for message in messages:
            for block in message.blocks:
                row = (message.role, *_row(block))
                if row[0] == "system" and rows and rows[-1][0] == "system":
                    row = ("system", "text", f"{rows.pop()[2]}\n\n{row[2]}")
                rows.append(row)
        return rows

    return flat


@pytest.fixture
def received() -> Callable[[Path], list[tuple[object, ...]]]:
    """What the API received, as rows."""

    def flat(path: Path) -> list[tuple[object, ...]]:
        messages = json.loads(path.read_text(encoding="utf-8"))
        return [
            (message["role"], *_received_row(block)) for message in messages for block in message["blocks"]
        ]

    return flat


def _row(block: object) -> tuple[object, ...]:
    match block:
        case Text():
            return "text", block.text.strip()
        case Thinking():
            return "thinking", block.text.strip()
        case ToolUse():
            return "tool_use", block.call_id, OLD_NAMES.get(block.tool, block.tool), block.input
        case ToolResult():
            images = sum(isinstance(part, Image) for part in block.parts)
            return "tool_result", block.call_id, block.text.strip(), bool(block.is_error), images
        case _:
            return (type(block).__name__,)


def _received_row(block: dict[str, Any]) -> tuple[object, ...]:
    match block["type"]:
        case "text" | "thinking" as kind:
            return kind, block["text"].strip()
        case "tool_use":
            return "tool_use", block["id"], block["tool"], block["input"]
        case "tool_result":
            return (
                "tool_result",
                block["id"],
                block["text"].strip(),
                block["is_error"],
                block.get("images", 0),
            )
        case kind:
            return (kind,)
