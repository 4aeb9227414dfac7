"""Turns one item of the Responses API, as rollouts keep them, into the message that the model is sent of it.

A tool of a server is called ``namespace__name``, as other agents write it. A search of the web or a made picture is done
by the API itself: it comes out as a request with its answer, so that no reader takes it for an interrupted call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from leftoff.agents import weight
from leftoff.agents.codex.known import known
from leftoff.agents.codex.outputs import is_error
from leftoff.agents.fields import rows, table, text
from leftoff.model.quick_json import loads
from leftoff.model.records import (
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
from leftoff.model.wire import JsonObject, JsonValue

# What Codex itself reckons for a picture, in characters: 1,844 tokens, four characters each.
_IMAGE_CHARS = 7_373
_IN_OUTPUT = (Text, Image, Opaque)
_WORDS = ("input_text", "output_text", "text", "refusal")  # what is no text can be asked about too
_ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "developer": "system",
    "system": "system",
}


def message(name: str, item: JsonObject) -> Message | None:
    """What the model is sent of an item of that type; None for what is never sent, or is of a type nobody had seen."""
    read = _READERS.get(name)
    return read(item) if read else None


def kind(name: str, item: JsonObject, sent: Message | None) -> RecordKind:
    """What the item is to a reader: for a message by its role, and by whether the user typed it."""
    if name != "message" or sent is None:
        return known().items.get(name, RecordKind.UNKNOWN)
    if sent.role == "assistant":
        return RecordKind.REPLY
    return RecordKind.PROMPT if sent.role == "user" and _is_typed(item, sent) else RecordKind.CONTEXT


def chars(sent: Message) -> int:
    """Characters that the model is sent, a picture at what it costs: no encrypted thoughts, no base64, no envelope."""
    return weight.chars(sent.blocks, image_chars=_IMAGE_CHARS)


def _is_typed(item: JsonObject, sent: Message) -> bool:
    kinds = rows(table(item, "internal_chat_message_metadata_passthrough"), "content_item_kinds")
    told = [kind for kind in kinds if isinstance(kind, str) and kind != "unknown"]
    if told:
        return any(kind.startswith("user.") for kind in told)
    return all(is_own(block) for block in sent.blocks if isinstance(block, Text))


def is_own(block: Text) -> bool:
    """Whether the words are somebody's own, as far as their beginning shows."""
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
    given = item.get("input")
    return _assistant(
        ToolUse(
            call_id=text(item, "call_id") or "",
            tool=text(item, "name") or "",
            input=given if isinstance(given, (dict, str)) else "",
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
    import orjson  # noqa: PLC0415 - few sessions have one

    tools = Opaque(type="tools", chars=len(orjson.dumps(rows(item, "tools"))))
    call_id = text(item, "call_id")
    return _user(ToolResult(call_id=call_id, parts=(tools,)) if call_id else tools)


def _web_search_call(item: JsonObject) -> Message:
    return _done_by_the_api(item, "web_search", table(item, "action"), ())


def _image_generation_call(item: JsonObject) -> Message:
    picture = _image(f"data:image/png;base64,{text(item, 'result') or ''}")
    return _done_by_the_api(item, "image_generation", {"prompt": text(item, "revised_prompt")}, (picture,))


def _done_by_the_api(
    item: JsonObject, tool: str, given: JsonObject, parts: tuple[Text | Image | Opaque, ...]
) -> Message:
    call_id = text(item, "id")
    if call_id is None:  # nothing to tell one from another by
        return _assistant(Opaque(type=tool, chars=len(str(given))))
    return _assistant(
        ToolUse(call_id=call_id, tool=tool, input=given), ToolResult(call_id=call_id, parts=parts)
    )


def _call_output(item: JsonObject) -> Message:
    output = item.get("output")
    said: bool | None = None
    if isinstance(output, dict):  # a form of 2025: {"content": …, "success": …}
        success = output.get("success")
        said = not success if isinstance(success, bool) else None
        output = output.get("content_items") or output.get("content")
    parts = tuple([part for part in _parts(output) if isinstance(part, _IN_OUTPUT)])
    call_id = text(item, "call_id")
    if call_id is None:  # an event from outside, which answers no call
        return _user(*parts)
    words = next(iter([part.text for part in parts if isinstance(part, Text)]), "")
    return _user(ToolResult(call_id=call_id, parts=parts, is_error=is_error(words) if said is None else said))


def _agent_message(item: JsonObject) -> Message:
    return _user(*_parts(item.get("content")))


def _encrypted(item: JsonObject) -> Message:
    return _assistant(Opaque(type="compaction", chars=len(text(item, "encrypted_content") or "")))


def _additional_tools(item: JsonObject) -> Message:
    return Message(role="system", blocks=(_opaque(item),))


_READERS: Mapping[str, Callable[[JsonObject], Message]] = {
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


def _assistant(*blocks: Block) -> Message:
    return Message(role="assistant", blocks=blocks)


def _user(*blocks: Block) -> Message:
    return Message(role="user", blocks=blocks)


def _arguments(given: JsonValue) -> JsonObject | str:
    """The arguments as an object; the text itself where the model wrote no JSON object."""
    if isinstance(given, dict):
        return given
    if not isinstance(given, str):
        return {}
    try:
        value = loads(given)
    except ValueError:
        return given
    return value if isinstance(value, dict) else given


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
    if name in _WORDS and isinstance(words := part.get("text"), str):
        return Text(text=words)
    if name == "input_image" and isinstance(url := part.get("image_url"), str):
        return _image(url)
    return _opaque(part)


def _image(url: str) -> Image:
    """A picture in the text itself, or an address: then nothing is known of it."""
    head, _, data = url.partition(",")
    if not head.startswith("data:"):
        return Image(media_type=None, size_bytes=0)
    media_type = head.removeprefix("data:").partition(";")[0]
    return Image(media_type=media_type or None, size_bytes=len(data) * 3 // 4 - data[-2:].count("="))


def _opaque(value: JsonObject) -> Opaque:
    return Opaque(type=text(value, "type") or "", chars=len(str(value)))
