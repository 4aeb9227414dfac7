"""The pieces of a line that can be cut: what each is as JSON, and the line with something else in its place.

An answer keeps its shape (L31): words stay words, a list of parts a list, the object of 2025 an object. Arguments are JSON in a
string and stay that. What events repeat of a call for the screen is shortened with it. Functions change the line they are given.
"""

from __future__ import annotations

import orjson

from leftoff.agents.copying import cut_input, dumped, note_of, shortened
from leftoff.agents.fields import rows, table, text
from leftoff.model.copying import Change, Uncut
from leftoff.model.trim_plan import Cut, CutPart
from leftoff.model.wire import JsonObject, JsonValue

_INPUTS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
# Where events repeat what a tool was given, and what it answered.
_GIVEN_AGAIN = ("command", "parsed_cmd", "changes", "arguments", "invocation", "input")
_ANSWERED_AGAIN = (
    "aggregated_output",
    "formatted_output",
    "stdout",
    "stderr",
    "output",
    "result",
    "content_items",
)
_SAID_AGAIN = ("message", "last_agent_message", "content")


def value_of(line: JsonObject, part: CutPart, call_id: str | None) -> JsonValue:
    """The piece as JSON; None when the line has none."""
    item = item_of(line)
    name = text(item, "type")
    if part == "text":
        words = _words(item) if name == "message" else []
        return None if not words else words[0] if len(words) == 1 else [*words]
    if part == "thinking":
        return item.get("summary") if name == "reasoning" else None
    key = _key(item, part, call_id)
    return item.get(key) if key else None


def apply(line: JsonObject, change: Change) -> bool:
    """Make the change; False when the line has no such piece."""
    item = item_of(line)
    if change.part == "text":
        return _change_words(item, change)
    key = _key(item, change.part, change.call_id)
    if key is None:
        return change.part == "thinking" and text(item, "type") == "reasoning"
    if isinstance(change, Uncut):
        item[key] = change.value
    elif change.part == "result":
        item[key] = _same_shape(item.get(key), change.replacement)
    else:
        item[key] = _cut_input(item.get(key), change, is_json=key == "arguments")
    return True


def shorten_repeated(line: JsonObject, cut: Cut) -> None:
    """An event that shows the cut call on the screen, without what was cut."""
    holder = _shown_on_screen(line)
    for key in _ANSWERED_AGAIN if cut.part == "result" else _GIVEN_AGAIN:
        if key in holder:
            holder[key] = shortened(holder[key], note_of(cut))


def repeated(line: JsonObject) -> JsonObject:
    """What an event shows on the screen of calls and replies, by its keys; nothing for what is no event."""
    holder = _shown_on_screen(line) if line.get("type") == "event_msg" else {}
    return {key: holder[key] for key in (*_GIVEN_AGAIN, *_ANSWERED_AGAIN, *_SAID_AGAIN) if key in holder}


def rejoin(line: JsonObject, whole: JsonObject) -> None:
    """An event with what it showed before cuts shortened it."""
    _shown_on_screen(line).update(repeated(whole))


def item_of(line: JsonObject) -> JsonObject:
    """The item of a line; until August 2025 it had no envelope."""
    payload = line.get("payload")
    return payload if isinstance(payload, dict) else line


def _shown_on_screen(line: JsonObject) -> JsonObject:
    event = table(line, "payload")
    return table(event, "item") or event


def _key(item: JsonObject, part: CutPart, call_id: str | None) -> str | None:
    name = text(item, "type") or ""
    if call_id is None or (text(item, "call_id") or text(item, "id")) != call_id:
        return None
    if part == "result":
        return "output" if name in _OUTPUTS else None
    return _INPUTS.get(name) if part == "input" else None


def _same_shape(output: JsonValue, words: str) -> JsonValue:
    parts: list[JsonValue] = [{"type": "input_text", "text": words}]
    if isinstance(output, list):
        return parts
    if isinstance(output, dict):
        again: JsonObject = {"content_items": parts} if "content_items" in output else {}
        return {**output, "content": words, **again}
    return words


def _cut_input(given: JsonValue, cut: Cut, *, is_json: bool) -> JsonValue:
    if not (is_json and isinstance(given, str)):
        return cut_input(given, cut)
    try:
        value = orjson.loads(given)
    except orjson.JSONDecodeError:
        return cut.replacement
    return dumped(cut_input(value, cut)).decode("utf-8", "surrogateescape")


def _words(item: JsonObject) -> list[str]:
    parts = [text(part, "text") for part in rows(item, "content") if isinstance(part, dict)]
    return [words for words in parts if words]


def _change_words(item: JsonObject, change: Change) -> bool:
    if text(item, "type") != "message" or not _words(item):
        return False
    waiting = [change.replacement] if isinstance(change, Cut) else _given(change)
    content: list[JsonValue] = []
    for part in rows(item, "content"):
        if isinstance(part, dict) and text(part, "text"):
            content += [{**part, "text": words} for words in waiting]
            waiting = []
        else:
            content.append(part)
    item["content"] = content
    return True


def _given(change: Uncut) -> list[str]:
    values = change.value if isinstance(change.value, list) else [change.value]
    return [each for each in values if isinstance(each, str)]
