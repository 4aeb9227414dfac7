"""Turns the content of a message, as the Messages API has it, into blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from leftoff.agents import weight
from leftoff.agents.fields import table, text
from leftoff.model.records import Block, Image, Opaque, Text, Thinking, ToolResult, ToolUse
from leftoff.model.wire import JsonObject, JsonValue

# A picture costs about 1,500 tokens, which is what so many characters cost in a transcript (2.7 to a token).
_IMAGE_CHARS = 4_000
_IN_RESULT = (Text, Image, Opaque)
_SAVED = re.compile(r"\A<persisted-output>\n.*?saved to: (.+)\n")


def blocks(content: JsonValue) -> tuple[Block, ...]:
    """The blocks of a message; plain text is one block, empty text none."""
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    if not isinstance(content, list):
        return ()
    return tuple([_block(each) for each in content])


def chars(found: tuple[Block, ...]) -> int:
    """Characters that the model is sent, a picture at what it costs: no signatures, no base64, no envelope."""
    return weight.chars(found, image_chars=_IMAGE_CHARS)


def saved_output(result: ToolResult) -> str | None:
    """The file that holds a result which was too large for the transcript; None when it stands there itself."""
    match = _SAVED.match(result.text)
    return match[1] if match else None


def _block(value: JsonValue) -> Block:
    if isinstance(value, str):
        return Text(text=value)
    if not isinstance(value, dict):
        return Opaque(type=type(value).__name__, chars=len(str(value)))
    name = value.get("type")
    read = _READERS.get(name) if isinstance(name, str) else None
    return read(value) if read else _opaque(value)


def _text(value: JsonObject) -> Text:
    return Text(text=text(value, "text") or "")


def _thinking(value: JsonObject) -> Thinking:
    return Thinking(text=text(value, "thinking") or "")


def _tool_use(value: JsonObject) -> ToolUse:
    given = value.get("input")
    return ToolUse(
        call_id=text(value, "id") or "",
        tool=text(value, "name") or "",
        input=given if isinstance(given, (dict, str)) else {},
    )


def _tool_result(value: JsonObject) -> ToolResult:
    failed = value.get("is_error")
    return ToolResult(
        call_id=text(value, "tool_use_id") or "",
        parts=result_parts(value.get("content")),
        is_error=failed if isinstance(failed, bool) else None,
    )


def result_parts(content: JsonValue) -> tuple[Text | Image | Opaque, ...]:
    """What a tool answered; what has no place in an answer is kept as opaque."""
    return tuple(
        [
            block
            if isinstance(block, _IN_RESULT)
            else Opaque(type=type(block).__name__, chars=chars((block,)))
            for block in blocks(content)
        ]
    )


def _image(value: JsonObject) -> Image:
    source = table(value, "source")
    data = text(source, "data") or ""
    return Image(media_type=text(source, "media_type"), size_bytes=len(data) * 3 // 4 - data[-2:].count("="))


def _tool_reference(value: JsonObject) -> Opaque:
    return Opaque(type="tool_reference", chars=len(text(value, "tool_name") or ""))


def _opaque(value: JsonObject) -> Opaque:
    return Opaque(type=text(value, "type") or "", chars=len(str(value)))


_READERS: Mapping[str, Callable[[JsonObject], Block]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": lambda _: Thinking(text=""),
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "image": _image,
    "document": _image,
    "tool_reference": _tool_reference,
}
