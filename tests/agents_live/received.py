"""Convert the body of a recorded request to one form that is the same for every agent.

A message is `{"role": "user" | "assistant" | "system", "blocks": [...]}`. Messages keep the order and boundaries in which
the API received them; compare agents (or our own reader) with `iterate_blocks`. Codex's developer messages are "system", and
each of its items is a separate message. The system prompt and the list of tools are left out.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypedDict

Block = dict[str, Any]
Role = Literal["user", "assistant", "system"]


class Message(TypedDict):
    role: Role
    blocks: list[Block]


def iterate_blocks(messages: Iterable[Message]) -> Iterator[tuple[Role, Block]]:
    """Iterate over every block with its role, ignoring the boundaries of messages."""
    for message in messages:
        for block in message["blocks"]:
            yield message["role"], block


def from_messages_api(body: dict[str, Any]) -> list[Message]:
    """Convert the body of POST /v1/messages (Claude Code)."""
    return [
        Message(role=each["role"], blocks=anthropic_blocks(each["content"]))
        for each in body.get("messages", [])
    ]


def anthropic_blocks(content: str | list[dict[str, Any]]) -> list[Block]:
    if isinstance(content, str):
        return [text_block(content)]
    return [anthropic_block(block) for block in content]


def anthropic_block(block: dict[str, Any]) -> Block:
    match block["type"]:
        case "text":
            return text_block(block["text"])
        case "tool_use":
            return {"type": "tool_use", "id": block["id"], "tool": block["name"], "input": block["input"]}
        case "tool_result":
            return result_block(
                block["tool_use_id"], block.get("content"), is_error=bool(block.get("is_error"))
            )
        case "thinking":
            return {"type": "thinking", "text": block["thinking"], "signature": block.get("signature", "")}
        case "redacted_thinking":
            return {"type": "thinking", "text": "", "signature": block.get("data", "")}
        case "image":
            return {"type": "image"}
        case unknown:
            return {"type": unknown, "raw": block}


def from_responses_api(body: dict[str, Any]) -> list[Message]:
    """Convert the body of POST /v1/responses (Codex)."""
    return [responses_message(item) for item in body.get("input", [])]


def responses_message(item: dict[str, Any]) -> Message:
    match item["type"]:
        case "message":
            return Message(
                role=responses_role(item), blocks=[responses_part(part) for part in item["content"]]
            )
        case "function_call":
            return assistant(call_block(item, json_or_text(item["arguments"])))
        case "custom_tool_call":
            return assistant(call_block(item, item["input"]))
        case "function_call_output" | "custom_tool_call_output":
            return Message(
                role="user", blocks=[result_block(item["call_id"], item["output"], is_error=False)]
            )
        case "reasoning":
            summary = "\n".join(part["text"] for part in item.get("summary") or [])
            return assistant(
                {"type": "thinking", "text": summary, "signature": item.get("encrypted_content") or ""}
            )
        case "compaction":
            return assistant({"type": "compaction", "signature": item.get("encrypted_content") or ""})
        case unknown:
            return Message(role=responses_role(item), blocks=[{"type": unknown, "raw": item}])


def responses_role(item: dict[str, Any]) -> Role:
    """Return the role of an item; items without one (calls of built-in tools) are the assistant's."""
    role: Role = item.get("role", "assistant")
    return "system" if item.get("role") == "developer" else role


def responses_part(part: dict[str, Any]) -> Block:
    return {"type": "image"} if part["type"] == "input_image" else text_block(part["text"])


def call_block(item: dict[str, Any], arguments: Any) -> Block:
    return {"type": "tool_use", "id": item["call_id"], "tool": item["name"], "input": arguments}


def json_or_text(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def assistant(block: Block) -> Message:
    return Message(role="assistant", blocks=[block])


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def result_block(call_id: str, content: Any, *, is_error: bool) -> Block:
    """Return a tool result; images are only counted, and `images` is missing when there are none."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    text = "\n".join(part["text"] for part in parts if "text" in part)
    images = sum(part["type"] in {"image", "input_image"} for part in parts)
    block: Block = {"type": "tool_result", "id": call_id, "text": text, "is_error": is_error}
    return {**block, "images": images} if images else block
