"""The pieces of a line that can be cut: what each is as JSON, and the line with something else in its place.

A string stays a string and a list a list, so a picture becomes a block of text (L24). What the client keeps of a result beside
it, for its own screen, is shortened with it. Every function changes the line that it is given.
"""

from __future__ import annotations

from collections.abc import Iterator

from leftoff.agents.copying import cut_input, note_of, shortened
from leftoff.agents.fields import table, text
from leftoff.model.copying import Change, Uncut
from leftoff.model.trim_plan import Cut, CutPart
from leftoff.model.wire import JsonObject, JsonValue

_SIMPLE = "tool_result"  # the type of a line of 002, whose call has no id but its line
_TEXT_KEYS = {"text": "text", "thinking": "thinking"}


def value_of(line: JsonObject, part: CutPart, call_id: str | None) -> JsonValue:
    """The piece as JSON; None when the line has none."""
    if part in _TEXT_KEYS:
        words = _words(line, part)
        return None if not words else words[0] if len(words) == 1 else [*words]
    found = _holder(line, part, call_id)
    return None if found is None else found.get("content" if part == "result" else "input")


def apply(line: JsonObject, change: Change) -> bool:
    """Make the change; False when the line has no such piece."""
    if change.part in _TEXT_KEYS:
        return _change_words(line, change)
    found = _holder(line, change.part, change.call_id)
    if found is None:
        return False
    key = "content" if change.part == "result" else "input"
    if isinstance(change, Uncut):
        found[key] = change.value
    elif change.part == "result":
        found[key] = _same_shape(found.get(key), change.replacement)
        if "toolUseResult" in line:
            line["toolUseResult"] = shortened(line["toolUseResult"], note_of(change))
    else:
        found[key] = cut_input(found.get(key), change)
    return True


def rejoin(line: JsonObject, was: JsonObject) -> None:
    """Give a line what it lost without a placeholder: its thoughts where they stood, and what it repeats for the screen."""
    if "toolUseResult" in line and "toolUseResult" in was:
        line["toolUseResult"] = was["toolUseResult"]
    message, content = table(line, "message"), table(line, "message").get("content")
    stood = table(was, "message").get("content")
    if not (isinstance(content, list) and isinstance(stood, list)):
        return
    others = [block for block in content if not _is_thought(block)]
    for number, block in enumerate(stood):
        if _is_thought(block):
            others.insert(number, block)
    message["content"] = others


def is_empty(line: JsonObject) -> bool:
    """Whether nothing is left of its message."""
    content = table(line, "message").get("content")
    return content is None or content == "" or content == []


def _same_shape(content: JsonValue, words: str) -> JsonValue:
    return [{"type": "text", "text": words}] if isinstance(content, list) else words


def _holder(line: JsonObject, part: CutPart, call_id: str | None) -> JsonObject | None:
    """The block that holds the piece; a simple line's message."""
    message = table(line, "message")
    if line.get("type") == _SIMPLE:
        return message if part == "result" and "content" in message else None
    kind, key = ("tool_result", "tool_use_id") if part == "result" else ("tool_use", "id")
    return next((block for block in _blocks(line, kind) if block.get(key) == call_id), None)


def _blocks(line: JsonObject, kind: str) -> Iterator[JsonObject]:
    content = table(line, "message").get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == kind:
            yield block


def _is_thought(block: JsonValue) -> bool:
    return isinstance(block, dict) and block.get("type") == "thinking" and bool(text(block, "thinking"))


def _words(line: JsonObject, part: str) -> list[str]:
    content = table(line, "message").get("content")
    if isinstance(content, str):
        return [content] if part == "text" and content else []
    return [words for block in _blocks(line, part) if (words := text(block, _TEXT_KEYS[part]))]


def _change_words(line: JsonObject, change: Change) -> bool:
    if not _words(line, change.part):
        return False
    message = table(line, "message")
    content, new = message["content"], _new_words(change)
    if isinstance(content, list):
        message["content"] = [*_with_words(content, change.part, new)]
    else:
        message["content"] = "\n".join(new)
    return True


def _new_words(change: Change) -> list[str]:
    if isinstance(change, Cut):
        return [change.replacement] if change.replacement else []
    given = change.value if isinstance(change.value, list) else [change.value]
    return [each for each in given if isinstance(each, str)]


def _with_words(content: list[JsonValue], kind: str, words: list[str]) -> Iterator[JsonValue]:
    """The blocks with the new words where the first of that kind stood, and without the others of it."""
    waiting = words
    for block in content:
        if not (isinstance(block, dict) and block.get("type") == kind and text(block, _TEXT_KEYS[kind])):
            yield block
            continue
        for each in waiting:
            yield {**block, _TEXT_KEYS[kind]: each}
        waiting = []
