"""Edits a JSON text in place: additions follow the layout of the text, and everything else stays byte for byte.

It is meant for settings files of agents, which people write by hand. A text that is not a JSON object is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from leftoff.agents.jsonl import SPACE
from leftoff.core.hook_settings import EditTrace, TextEdit
from leftoff.core.wire import JsonValue, replace_surrogates
from leftoff.errors import ConfigError

_BOM = "\ufeff"
_DECODER = json.JSONDecoder()
_USUAL_INDENT = "  "


class Item(NamedTuple):
    """A member of an object or an element of an array: from ``start`` (its key, if it has one) to ``end``. The value begins at ``at``."""

    key: str | None
    value: JsonValue
    start: int
    at: int
    end: int


@dataclass(slots=True)
class Draft:
    """A text being edited. Every change is recorded in ``edits``, so that it can be undone."""

    text: str
    edits: list[TextEdit] = field(default_factory=list)

    def trace(self, created: Sequence[str]) -> EditTrace:
        """Return what must be remembered to undo the changes so far."""
        return EditTrace(edits=tuple(self.edits), created=tuple(created))

    def replace(self, start: int, end: int, inserted: str) -> None:
        """Replace the text between two positions."""
        self.edits.append(TextEdit(start=start, removed=self.text[start:end], inserted=inserted))
        self.text = self.text[:start] + inserted + self.text[end:]

    def add_member(self, at: int, key: str, value: JsonValue) -> None:
        """Add a member at the end of the object that begins at ``at``."""
        self._add(at, {key: value})

    def add_element(self, at: int, value: JsonValue) -> None:
        """Add an element at the end of the array that begins at ``at``."""
        self._add(at, [value])

    def remove(self, at: int, item: Item) -> None:
        """Remove an item from the container at ``at``, with the comma that is no longer needed."""
        siblings = items(self.text, at)
        position = siblings.index(item)
        if len(siblings) == 1:
            self.replace(at + 1, _skip(self.text, item.end), "")
        elif position == 0:
            self.replace(item.start, siblings[1].start, "")
        else:
            self.replace(siblings[position - 1].end, item.end, "")

    def _add(self, at: int, new: Mapping[str, JsonValue] | Sequence[JsonValue]) -> None:
        siblings = items(self.text, at)
        if siblings:
            gap = _gap(self.text, siblings[-1].start)
            self.replace(
                siblings[-1].end, siblings[-1].end, f",{gap or ' '}{_format_item(new, gap, self._unit())}"
            )
            return
        if _is_one_line(self.text):
            self.replace(at + 1, at + 1, _format_item(new, "", ""))
            return
        line = _newline(self.text) + _indent_of_line(self.text, at)
        start = line + self._unit()
        closing = "" if "\n" in self.text[at + 1 : _skip(self.text, at + 1)] else line
        self.replace(at + 1, at + 1, start + _format_item(new, start, self._unit()) + closing)

    def _unit(self) -> str:
        """Return the indentation of one level, which is that of the first member."""
        siblings = items(self.text, root(self.text))
        return _gap(self.text, siblings[0].start).rpartition("\n")[2] if siblings else _USUAL_INDENT


def start_draft(text: str, where: Path) -> Draft:
    """Return a draft of a text that holds one JSON object; an empty text gets one. Raise ConfigError for any other text."""
    draft = Draft(text)
    if text.removeprefix(_BOM).strip():
        _require_object(text, where)
    else:
        draft.replace(0, len(text), "{}\n")
    return draft


def _require_object(text: str, where: Path) -> None:
    try:
        value = json.loads(text.removeprefix(_BOM))
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{where}: line {error.lineno} is not JSON ({error.msg}). Nothing was changed; repair the file first.",
            path=where,
            line=error.lineno,
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{where}: cannot be read as JSON. Nothing was changed; repair the file first.", path=where
        ) from error
    if not isinstance(value, dict):
        raise ConfigError(
            f"{where}: not a JSON object. Nothing was changed; repair the file first.", path=where
        )


def root(text: str) -> int:
    """Return where the value begins."""
    return _skip(text, len(_BOM) if text.startswith(_BOM) else 0)


def items(text: str, at: int) -> list[Item]:
    """Return the members or elements of the container that begins at ``at``; the text must be valid."""
    is_object = text[at] == "{"
    found: list[Item] = []
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        start, key = at, None
        if is_object:
            key, colon = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, colon) + 1)
        value, end = _DECODER.raw_decode(text, at)
        found.append(Item(key=key, value=value, start=start, at=at, end=end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def member(text: str, at: int, key: str) -> Item | None:
    """Return the member of that name; of several the last one, which is the one that counts."""
    return next((each for each in reversed(items(text, at)) if each.key == key), None)


def to_text(value: JsonValue, *, indent: str | None = None) -> str:
    """Return the value as JSON that UTF-8 can encode: halves of surrogate pairs stay escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text if replace_surrogates(text) == text else json.dumps(value, indent=indent)


def _format_item(new: Mapping[str, JsonValue] | Sequence[JsonValue], gap: str, unit: str) -> str:
    """Return one member or element as text, on several lines if the gap before it contains a newline."""
    is_multiline = "\n" in gap
    if isinstance(new, Mapping):
        ((key, value),) = new.items()
        name = f"{to_text(key)}: "
    else:
        (value,), name = new, ""
    return name + to_text(value, indent=(unit or _USUAL_INDENT) if is_multiline else None).replace("\n", gap)


def _skip(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    assert found is not None
    return found.end()


def _gap(text: str, start: int) -> str:
    """Return the white space before an item, without empty lines."""
    begin = start
    while text[begin - 1] in " \t\r\n":
        begin -= 1
    gap = text[begin:start]
    return _newline(text) + gap.rpartition("\n")[2] if "\n" in gap else gap


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _is_one_line(text: str) -> bool:
    at = root(text)
    return "\n" not in text[at:].strip() and bool(items(text, at))


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(_BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]
