"""Parses content blocks, separates what the user typed from what the client added, and renders attachments.

Besides what was typed, the user's lines hold caveats, command output, notices and hook text. The client records how an attachment
was sent as ``rendered`` since 2.1.2xx, some of them as system messages without the tags that they carry in the file. For older
files attachments are rendered here as 2.1.325 does on resuming, where the type is known; otherwise their text is put in tags.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from leftoff.agents.base import USUAL_IMAGE_CHARS, count_chars
from leftoff.agents.claude.versions import known
from leftoff.agents.jsonl import rows, table, text
from leftoff.core.records import Block, Image, Message, Opaque, Text, Thinking, ToolResult, ToolUse
from leftoff.core.wire import JsonObject, JsonValue

_IN_RESULT = (Text, Image, Opaque)
# A slash command that goes to the model puts its message first; one that only the client runs puts its name first.
_COMMAND = (
    r"<command-message>.*?</command-message>\s*<command-name>(?P<name>[^<]*)</command-name>"
    r"(?:\s*<command-args>(?P<args>.*?)</command-args>)?"
)
_TEAMMATE = r"<teammate-message\b[^>]*>(.*?)</teammate-message>"
# What the client adds below a plan that the user passes to a new conversation.
_ADDED_TO_PLAN = "\n\nIf you need specific details from before exiting plan mode"
_TAG_BEGIN = "<system-reminder>\n"
_TAG_END = "\n</system-reminder>"
_REMINDER = re.compile(r"\s*^<system-reminder>.*?</system-reminder>", re.DOTALL | re.MULTILINE)


def without_reminders(result: str) -> str:
    """Return a tool's result without the reminders that the client adds on lines of their own."""
    return _REMINDER.sub("", result) if "<system-reminder>" in result else result


def blocks(content: JsonValue) -> tuple[Block, ...]:
    """Return the blocks of a message; plain text is one block, empty text none."""
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    if not isinstance(content, list):
        return ()
    return tuple([_block(each) for each in content])


def chars(content: tuple[Block, ...]) -> int:
    """Count the characters that the model is sent: an image at what it costs, without signatures, base64 and JSON syntax."""
    return count_chars(content, image_chars=USUAL_IMAGE_CHARS)


def _block(value: JsonValue) -> Block:
    if isinstance(value, str):
        return Text(text=value)
    if not isinstance(value, dict):
        return Opaque(type=type(value).__name__, chars=len(str(value)))
    name = value.get("type")
    parse = _PARSERS.get(name) if isinstance(name, str) else None
    return parse(value) if parse else _opaque(value)


def _text(value: JsonObject) -> Text:
    return Text(text=text(value, "text") or "")


def _thinking(value: JsonObject) -> Thinking:
    return Thinking(text=text(value, "thinking") or "")


def _tool_use(value: JsonObject) -> ToolUse:
    tool_input = value.get("input")
    return ToolUse(
        call_id=text(value, "id") or "",
        tool=text(value, "name") or "",
        input=tool_input if isinstance(tool_input, (dict, str)) else {},
    )


def _tool_result(value: JsonObject) -> ToolResult:
    is_error = value.get("is_error")
    return ToolResult(
        call_id=text(value, "tool_use_id") or "",
        parts=result_parts(value.get("content")),
        is_error=is_error if isinstance(is_error, bool) else None,
    )


def result_parts(content: JsonValue) -> tuple[Text | Image | Opaque, ...]:
    """Return what a tool answered; blocks of a kind that does not belong in an answer are kept as opaque."""
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


_PARSERS: Mapping[str, Callable[[JsonObject], Block]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": lambda _: Thinking(text=""),
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "image": _image,
    "document": _image,
    "tool_reference": _tool_reference,
}


def is_user_prompt(line: JsonObject, blocks: tuple[Block, ...]) -> bool:
    """Say whether a user's line holds text or images that the user provided."""
    # The blocks first: most of the user's lines hold a tool's answer, and need no other check.
    return any(map(_is_typed, blocks)) and not _is_from_client(line)


def is_typed(message: str) -> bool:
    """Say whether the user typed the text, judging by its beginning."""
    begins = message.lstrip()
    return bool(begins) and not begins.startswith(known().not_typed)


def as_typed(message: str) -> str:
    """Return the text as the user typed it: a slash command without the tags around it."""
    from leftoff.core.session import strip_leftoff_text  # noqa: PLC0415 - the status line does without

    message = strip_leftoff_text(message)
    command = re.match(_COMMAND, message.lstrip(), re.DOTALL)
    if command:
        return f"{command['name']} {command['args'] or ''}".strip()
    return message.partition(_ADDED_TO_PLAN)[0].strip()


def from_teammate(message: str) -> str:
    """Return what teammates wrote in a message of the client; empty where none did. Bare notices in JSON do not count."""
    found = (text.strip() for text in re.findall(_TEAMMATE, message, re.DOTALL))
    return "\n\n".join(text for text in found if text and not text.startswith("{"))


def _is_from_client(line: JsonObject) -> bool:
    """Say whether the line was written by the client, or by the agent for a subagent."""
    origin = text(table(line, "origin"), "kind")
    return (
        line.get("isMeta") is True
        or line.get("isSidechain") is True
        or (origin is not None and origin != "human")
        or line.get("promptSource") == "system"
    )


def _is_typed(block: Block) -> bool:
    return (isinstance(block, Text) and is_typed(block.text)) or isinstance(block, Image)


def messages(line: JsonObject) -> tuple[Message, ...]:
    """Return what the model is sent of an attachment."""
    if "rendered" in line:
        return _rendered(line)
    attachment = table(line, "attachment")
    content = blocks(_unrendered(attachment))
    if not is_queued_prompt(line):
        content = tuple(_render(block, text(attachment, "type") or "") for block in content)
    return (Message(role="user", blocks=content),) if content else ()


def is_queued_prompt(line: JsonObject) -> bool:
    """Say whether the attachment is a prompt that the user typed while the agent worked."""
    attachment = table(line, "attachment")
    origin = text(table(attachment, "origin"), "kind")
    return (
        attachment.get("type") == "queued_command"
        and (text(attachment, "commandMode") or "prompt") == "prompt"
        and origin in {None, "human"}
        and line.get("isSidechain") is not True
        and any(
            isinstance(block, Text) and is_typed(block.text) for block in blocks(attachment.get("prompt"))
        )
    )


def task_notification(block: Block) -> Block:
    """Return the notification of a background task with the text that the client adds around it when sending."""
    return _render(block, "task_notification")


def _rendered(line: JsonObject) -> tuple[Message, ...]:
    parts = [part for part in rows(line, "rendered") if isinstance(part, dict)]
    content = tuple(block for part in parts for block in blocks(part.get("content")))
    if not content:
        return ()
    if line.get("renderedRole") == "system":
        return (Message(role="system", blocks=tuple(map(_without_tags, content))),)
    return (Message(role="user", blocks=content),)


def _without_tags(block: Block) -> Block:
    if not isinstance(block, Text):
        return block
    return Text(text=block.text.removeprefix(_TAG_BEGIN).removesuffix(_TAG_END))


def _unrendered(attachment: JsonObject) -> JsonValue:
    """Return the content of an attachment that was not rendered; where it is depends on the type."""
    match attachment.get("type"):
        case "deferred_tools_delta" | "agent_listing_delta":
            return _lines(attachment, "addedLines")
        case "queued_command":
            return attachment.get("prompt")
        case "file":
            return text(table(table(attachment, "content"), "file"), "content")
        case _:
            content = attachment.get("content", attachment.get("text"))
            return _lines(attachment, "content") if isinstance(content, list) else content


def _lines(attachment: JsonObject, key: str) -> str:
    return "\n".join(line for line in rows(attachment, key) if isinstance(line, str))


def _render(block: Block, name: str) -> Block:
    if not isinstance(block, Text):
        return block
    template = known().rendering.get(name) or known().rendering["other"]
    return Text(text=template.strip("\n").replace("{text}", block.text))
