"""Turns items of the Responses API, as rollouts keep them, into messages, and reads what a tool's answer says about itself.

A tool of an MCP server is called ``namespace__name``, as other agents write it. A web search or a generated image is done by the
API itself: it becomes a request with its answer, so that it does not look like an interrupted call.

Answers have four forms: JSON with ``output`` and ``metadata.exit_code`` (``shell``, until 2025), a head of lines such as "Exit code: 1"
or "Process exited with code 1" that ends in "Output:", plain text, and a list of parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import orjson
from orjson import loads

from leftoff.agents.base import count_chars
from leftoff.agents.codex.versions import known
from leftoff.agents.jsonl import rows, table, text
from leftoff.core.records import (
    Block,
    Image,
    Message,
    Opaque,
    RecordKind,
    Role,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from leftoff.core.wire import JsonObject, JsonValue

# What Codex itself counts for an image: 1,844 tokens of four characters.
_IMAGE_CHARS = 7_373
_IN_OUTPUT = (Text, Image, Opaque)
_TEXT_PARTS = ("input_text", "output_text", "text", "refusal")
_ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "developer": "system",
    "system": "system",
}
_JSON = '{"output":'
_HEAD = re.compile(
    r"\A(?:(?:Exit code: (-?\d+)|Process exited with code (-?\d+)"
    r"|(?:Chunk ID|Wall time|Process running|Script (?:completed|running|failed)|Original token count|Total output lines)\b[^\n]*)\n)+"
    r"(?:Output:(?:\n|\Z))?"
)


def message(name: str, item: JsonObject) -> Message | None:
    """Return what the model is sent of an item of that type; None for an unknown type or one that is never sent."""
    parse = _PARSERS.get(name)
    return parse(item) if parse else None


def kind(name: str, item: JsonObject, sent: Message | None) -> RecordKind:
    """Return the kind of an item; for a message by its role, and by whether the user typed it."""
    if name != "message" or sent is None:
        return known().items.get(name, RecordKind.UNKNOWN)
    if sent.role == "assistant":
        return RecordKind.REPLY
    return RecordKind.PROMPT if sent.role == "user" and _is_prompt(item, sent) else RecordKind.CONTEXT


def chars(sent: Message) -> int:
    """Count the characters that the model is sent: an image at what it costs, without encrypted thinking, base64 and JSON syntax."""
    return count_chars(sent.blocks, image_chars=_IMAGE_CHARS)


def _is_prompt(item: JsonObject, sent: Message) -> bool:
    kinds = rows(table(item, "internal_chat_message_metadata_passthrough"), "content_item_kinds")
    known_kinds = [kind for kind in kinds if isinstance(kind, str) and kind != "unknown"]
    if known_kinds:
        return any(kind.startswith("user.") for kind in known_kinds)
    return all(is_typed(block) for block in sent.blocks if isinstance(block, Text))


def is_typed(block: Text) -> bool:
    """Say whether the user typed the text, judging by its beginning."""
    return not block.text[:120].lstrip().lower().startswith(known().not_typed)


def _message(item: JsonObject) -> Message:
    return Message(role=_ROLES.get(text(item, "role") or "", "user"), blocks=_parts(item.get("content")))


def _reasoning(item: JsonObject) -> Message:
    summary = (text(part, "text") for part in rows(item, "summary") if isinstance(part, dict))
    return _assistant(Thinking(text="\n".join(filter(None, summary))))


def _function_call(item: JsonObject) -> Message:
    name, namespace = text(item, "name") or "", text(item, "namespace")
    return _assistant(
        ToolUse(
            call_id=text(item, "call_id") or "",
            tool=f"{namespace}__{name}" if namespace else name,
            input=_arguments(item.get("arguments")),
        )
    )


def _custom_tool_call(item: JsonObject) -> Message:
    tool_input = item.get("input")
    return _assistant(
        ToolUse(
            call_id=text(item, "call_id") or "",
            tool=text(item, "name") or "",
            input=tool_input if isinstance(tool_input, (dict, str)) else "",
        )
    )


def _local_shell_call(item: JsonObject) -> Message:
    call_id = text(item, "call_id") or text(item, "id") or ""
    return _assistant(ToolUse(call_id=call_id, tool="local_shell", input=table(item, "action")))


def _tool_search_call(item: JsonObject) -> Message:
    call_id = text(item, "call_id")
    if call_id is None:  # the API itself searched
        return _assistant(_opaque(item))
    return _assistant(ToolUse(call_id=call_id, tool="tool_search", input=_arguments(item.get("arguments"))))


def _tool_search_output(item: JsonObject) -> Message:
    tools = Opaque(type="tools", chars=len(orjson.dumps(rows(item, "tools"))))
    call_id = text(item, "call_id")
    return _user(ToolResult(call_id=call_id, parts=(tools,)) if call_id else tools)


def _web_search_call(item: JsonObject) -> Message:
    return _api_call(item, "web_search", table(item, "action"), ())


def _image_generation_call(item: JsonObject) -> Message:
    image = _image(f"data:image/png;base64,{text(item, 'result') or ''}")
    return _api_call(item, "image_generation", {"prompt": text(item, "revised_prompt")}, (image,))


def _api_call(
    item: JsonObject, tool: str, tool_input: JsonObject, parts: tuple[Text | Image | Opaque, ...]
) -> Message:
    call_id = text(item, "id")
    if call_id is None:  # then calls cannot be told apart
        return _assistant(Opaque(type=tool, chars=len(str(tool_input))))
    return _assistant(
        ToolUse(call_id=call_id, tool=tool, input=tool_input), ToolResult(call_id=call_id, parts=parts)
    )


def _call_output(item: JsonObject) -> Message:
    output = item.get("output")
    failed: bool | None = None
    if isinstance(output, dict):  # a form of 2025: {"content": …, "success": …}
        success = output.get("success")
        failed = not success if isinstance(success, bool) else None
        output = output.get("content_items") or output.get("content")
    parts = tuple([part for part in _parts(output) if isinstance(part, _IN_OUTPUT)])
    call_id = text(item, "call_id")
    if call_id is None:  # an event from outside, which answers no call
        return _user(*parts)
    if failed is None:
        failed = is_error(next((part.text for part in parts if isinstance(part, Text)), ""))
    return _user(ToolResult(call_id=call_id, parts=parts, is_error=failed))


def _agent_message(item: JsonObject) -> Message:
    return _user(*_parts(item.get("content")))


def _encrypted(item: JsonObject) -> Message:
    return _assistant(Opaque(type="compaction", chars=len(text(item, "encrypted_content") or "")))


def _additional_tools(item: JsonObject) -> Message:
    return Message(role="system", blocks=(_opaque(item),))


def _assistant(*blocks: Block) -> Message:
    return Message(role="assistant", blocks=blocks)


def _user(*blocks: Block) -> Message:
    return Message(role="user", blocks=blocks)


def _arguments(arguments: JsonValue) -> JsonObject | str:
    """Return the arguments as an object; the text itself if the model wrote something else."""
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, str):
        return {}
    try:
        value = loads(arguments)
    except ValueError:
        return arguments
    return value if isinstance(value, dict) else arguments


def _parts(content: JsonValue) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (Text(text=content),)
    if not isinstance(content, list):
        return ()
    return tuple([_part(part) for part in content])


def _part(part: JsonValue) -> Block:
    if not isinstance(part, dict):
        return Opaque(type=type(part).__name__, chars=len(str(part)))
    name = part.get("type")
    if name in _TEXT_PARTS and isinstance(content := part.get("text"), str):
        return Text(text=content)
    if name == "input_image" and isinstance(url := part.get("image_url"), str):
        return _image(url)
    return _opaque(part)


def _image(url: str) -> Image:
    """Return an image that is embedded as a data URL; of any other address nothing is known."""
    head, _, data = url.partition(",")
    if not head.startswith("data:"):
        return Image(media_type=None, size_bytes=0)
    media_type = head.removeprefix("data:").partition(";")[0]
    return Image(media_type=media_type or None, size_bytes=len(data) * 3 // 4 - data[-2:].count("="))


def _opaque(value: JsonObject) -> Opaque:
    return Opaque(type=text(value, "type") or "", chars=len(str(value)))


def split_output(text: str) -> tuple[str, int | None]:
    """Return what the command printed, and its exit code; None where the answer has none."""
    if text.startswith(_JSON):
        return _split_json_output(text)
    head = _HEAD.match(text)
    return (text, None) if head is None else (text[head.end() :], _code(head))


def is_error(text: str) -> bool | None:
    """Say whether the call failed, by its exit code or by the text; None where the answer does not show it."""
    if text.startswith(_JSON):
        code = _split_json_output(text)[1]
    else:  # not ``split_output``, which copies the output
        head = _HEAD.match(text)
        code = _code(head) if head else None
    if code is not None:
        return code != 0
    return True if text.startswith(known().failed) else None


def _code(head: re.Match[str]) -> int | None:
    code = head[1] or head[2]
    return int(code) if code else None


def _split_json_output(text: str) -> tuple[str, int | None]:
    try:
        value = loads(text)
    except ValueError:  # cut short by a trimmer
        return text, None
    output = value.get("output")
    code = table(value, "metadata").get("exit_code")
    return output if isinstance(output, str) else text, code if isinstance(code, int) else None


_PARSERS: Mapping[str, Callable[[JsonObject], Message]] = {
    "message": _message,
    "reasoning": _reasoning,
    "function_call": _function_call,
    "function_call_output": _call_output,
    "custom_tool_call": _custom_tool_call,
    "custom_tool_call_output": _call_output,
    "local_shell_call": _local_shell_call,
    "tool_search_call": _tool_search_call,
    "tool_search_output": _tool_search_output,
    "web_search_call": _web_search_call,
    "image_generation_call": _image_generation_call,
    "agent_message": _agent_message,
    "compaction": _encrypted,
    "compaction_summary": _encrypted,
    "context_compaction": _encrypted,
    "additional_tools": _additional_tools,
}
