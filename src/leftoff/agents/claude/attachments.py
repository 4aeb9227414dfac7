"""What the model is shown of an attachment: the client writes it down as ``rendered``; older ones left it to be made again.

Since it writes ``rendered`` (2.1.2xx) the client sends some attachments as messages of the system, without the tags that
they carry in the file. What older clients wrote is rendered here as 2.1.325 does on resuming, for the types seen; of
others the words are given, in tags.
"""

from __future__ import annotations

from collections.abc import Iterable

from leftoff.agents.claude.blocks import blocks
from leftoff.agents.claude.known import known
from leftoff.agents.claude.typed import is_typed
from leftoff.agents.fields import rows, table, text
from leftoff.model.records import Block, Message, Text
from leftoff.model.wire import JsonObject, JsonValue

_OPENS = "<system-reminder>\n"
_CLOSES = "\n</system-reminder>"


def messages(line: JsonObject) -> tuple[Message, ...]:
    """What is sent of the attachment; nothing for one that says nothing."""
    if "rendered" in line:
        return _rendered(line)
    attachment = table(line, "attachment")
    found = blocks(_words(attachment))
    if not is_own(line):
        found = tuple(_tagged(block, text(attachment, "type") or "") for block in found)
    return (Message(role="user", blocks=found),) if found else ()


def is_own(line: JsonObject) -> bool:
    """Whether the user typed it while the agent worked."""
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


def notice(block: Block) -> Block:
    """The notice of a background task in the words around it that the client adds in sending."""
    return _tagged(block, "task_notification")


def _rendered(line: JsonObject) -> tuple[Message, ...]:
    contents = [each.get("content") for each in rows(line, "rendered") if isinstance(each, dict)]
    found = _all_blocks(contents)
    if not found:
        return ()
    if line.get("renderedRole") == "system":
        return (Message(role="system", blocks=tuple(_bare(block) for block in found)),)
    return (Message(role="user", blocks=found),)


def _all_blocks(contents: Iterable[JsonValue]) -> tuple[Block, ...]:
    return tuple(block for content in contents for block in blocks(content))


def _bare(block: Block) -> Block:
    if not isinstance(block, Text):
        return block
    return Text(text=block.text.removeprefix(_OPENS).removesuffix(_CLOSES))


def _words(attachment: JsonObject) -> JsonValue:
    """The words of an attachment that was not rendered, wherever its type keeps them."""
    match attachment.get("type"):
        case "deferred_tools_delta" | "agent_listing_delta":
            return _lines(attachment, "addedLines")
        case "queued_command":
            return attachment.get("prompt")
        case "file":
            return text(table(table(attachment, "content"), "file"), "content")
        case _:
            said = attachment.get("content", attachment.get("text"))
            return _lines(attachment, "content") if isinstance(said, list) else said


def _lines(attachment: JsonObject, key: str) -> str:
    return "\n".join(line for line in rows(attachment, key) if isinstance(line, str))


def _tagged(block: Block, name: str) -> Block:
    if not isinstance(block, Text):
        return block
    template = known().rendering.get(name) or known().rendering["other"]
    return Text(text=template.strip("\n").replace("{text}", block.text))
