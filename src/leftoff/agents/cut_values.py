"""Cuts long texts out of JSON values: inputs of tools, and what is repeated of cut content for a screen."""

from __future__ import annotations

from leftoff.agents.copy_writer import to_json
from leftoff.core.trim_plan import Cut
from leftoff.core.wire import JsonValue

NOTE_KEY = "suppressed"  # for a replacement that has no text to take the place of
_LONG_CHARS = 200  # from this length on, a repeated text is worth replacing
_LONG_LIST_BYTES = 1000


def longest_text(value: JsonValue) -> str:
    """Return the longest text in a tool's input, at any depth: what a reader would take for its content."""
    longest, waiting = "", [value]
    while waiting:
        match waiting.pop():
            case str(text) if len(text) > len(longest):
                longest = text
            case dict(table):
                waiting += table.values()
            case list(rows):
                waiting += rows
            case _:
                pass
    return longest


def suppressed_note(cut: Cut) -> str:
    """Return the note that replaces repetitions of cut content."""
    return f"[suppressed: leftoff expand {cut.key}]" if cut.key else "[suppressed]"


def shorten_repetition(value: JsonValue, note: str) -> JsonValue:
    """Shorten what repeats cut content for a screen: the same structure, with a note in place of long texts."""
    match value:
        case str():
            return note if len(value) > _LONG_CHARS else value
        case dict():
            return {
                key: []
                if isinstance(each, list) and len(to_json(each)) > _LONG_LIST_BYTES
                else shorten_repetition(each, note)
                for key, each in value.items()
            }
        case list():
            return [shorten_repetition(each, note) for each in value]
        case _:
            return value


def cut_input(value: JsonValue, cut: Cut) -> JsonValue:
    """Cut the long texts of a tool's input: the replacement takes the place of the longest, a note that of the others.

    Names, paths and everything short stay, so that the call still shows what it did.
    """
    if isinstance(value, str):
        return cut.replacement
    longest = longest_text(value)  # the one that the replacement shows the ends of
    if cut.is_whole or len(longest) <= _LONG_CHARS:
        return _without_largest(value, cut.replacement)
    return _replace_texts(value, longest, cut.replacement, suppressed_note(cut))


def _without_largest(value: JsonValue, replacement: str) -> JsonValue:
    """Cut an input of many short texts: its largest list is emptied, with the replacement beside it.

    A list with some of its entries, or with the replacement as an entry, would look like what the call set.
    """
    if not isinstance(value, dict) or not value:
        return [replacement] if isinstance(value, list) else replacement
    name = max(value, key=lambda key: len(to_json(value[key])))
    largest = value[name]
    if isinstance(largest, list):
        return {**value, name: [], NOTE_KEY: replacement}
    if isinstance(largest, dict) and largest:
        return {**value, name: _without_largest(largest, replacement)}
    return {NOTE_KEY: replacement}


def _replace_texts(value: JsonValue, longest: str, replacement: str, note: str) -> JsonValue:
    match value:
        case str():
            return replacement if value == longest else note if len(value) > _LONG_CHARS else value
        case dict():
            return {key: _replace_texts(each, longest, replacement, note) for key, each in value.items()}
        case list():
            return [_replace_texts(each, longest, replacement, note) for each in value]
        case _:
            return value
