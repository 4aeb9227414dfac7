"""Changes a JSON text in place: what is added takes the layout it finds, and everything else stays byte for byte.

For settings files of agents, which people write by hand. A text that is no JSON object is refused before anything is done.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path

from leftoff.errors import ConfigError
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonValue, well_formed
from leftoff.model.wiring import TextEdit, Trace

_BOM = "\ufeff"
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_USUAL_INDENT = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A member or an element: from ``start`` (its key, if it has one) to ``end``; the value begins at ``at``."""

    key: str | None
    value: JsonValue
    start: int
    at: int
    end: int


@dataclass(slots=True)
class Draft:
    """A text under change. Every change is kept in ``edits``, so that all can be taken back."""

    text: str
    edits: list[TextEdit] = field(default_factory=list)

    def trace(self, made: Sequence[str]) -> Trace:
        """What is to be remembered of the changes so far."""
        return Trace(edits=tuple(self.edits), made=tuple(made))

    def replace(self, start: int, end: int, inserted: str) -> None:
        """Put ``inserted`` in the place of what stands between."""
        self.edits.append(TextEdit(start=start, removed=self.text[start:end], inserted=inserted))
        self.text = self.text[:start] + inserted + self.text[end:]

    def add_member(self, at: int, key: str, value: JsonValue) -> None:
        """Put a member at the end of the object that begins at ``at``."""
        self._add(at, {key: value})

    def add_element(self, at: int, value: JsonValue) -> None:
        """Put an element at the end of the array that begins at ``at``."""
        self._add(at, [value])

    def remove(self, at: int, item: Item) -> None:
        """Take an item out of the container at ``at``, with the comma that it no longer needs."""
        there = items(self.text, at)
        position = there.index(item)
        if len(there) == 1:
            self.replace(at + 1, _skip(self.text, item.end), "")
        elif position == 0:
            self.replace(item.start, there[1].start, "")
        else:
            self.replace(there[position - 1].end, item.end, "")

    def _add(self, at: int, new: Mapping[str, JsonValue] | Sequence[JsonValue]) -> None:
        there = items(self.text, at)
        if there:
            gap = _gap(self.text, there[-1].start)
            self.replace(there[-1].end, there[-1].end, f",{gap or ' '}{_inner(new, gap, self._unit())}")
            return
        if _is_one_line(self.text):
            self.replace(at + 1, at + 1, _inner(new, "", ""))
            return
        line = _newline(self.text) + _indent_of_line(self.text, at)
        start = line + self._unit()
        closing = "" if "\n" in self.text[at + 1 : _skip(self.text, at + 1)] else line
        self.replace(at + 1, at + 1, start + _inner(new, start, self._unit()) + closing)

    def _unit(self) -> str:
        """What one level is indented by: as the first member of the whole is."""
        there = items(self.text, root(self.text))
        return _gap(self.text, there[0].start).rpartition("\n")[2] if there else _USUAL_INDENT


def begun(text: str, where: Path) -> Draft:
    """A draft of a text that holds one JSON object; an empty text gets one. ConfigError, with the line, for any other."""
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
            f"{where}: line {error.lineno} is not JSON ({error.msg}). Nothing was changed; mend the file first.",
            path=where,
            line=error.lineno,
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{where}: cannot be read as JSON. Nothing was changed; mend the file first.", path=where
        ) from error
    if not isinstance(value, dict):
        raise ConfigError(
            f"{where}: not a JSON object. Nothing was changed; mend the file first.", path=where
        )


def root(text: str) -> int:
    """Where the value begins."""
    return _skip(text, len(_BOM) if text.startswith(_BOM) else 0)


def items(text: str, at: int) -> list[Item]:
    """The members or elements of the container that begins at ``at``; the text must be sound."""
    is_object = text[at] == "{"
    found = []
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
    """The member of that name; where there are several, the last one, which is the one that counts."""
    return next((each for each in reversed(items(text, at)) if each.key == key), None)


def written(value: JsonValue, *, indent: str | None = None) -> str:
    """The value as text that every file can hold: half a character stays the escape that it was."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text if well_formed(text) == text else json.dumps(value, indent=indent)


def _inner(new: Mapping[str, JsonValue] | Sequence[JsonValue], gap: str, unit: str) -> str:
    """One member or element as text; on several lines where the gap before it begins a line."""
    many = "\n" in gap
    if isinstance(new, Mapping):
        ((key, value),) = new.items()
        name = f"{written(key)}: "
    else:
        (value,), name = new, ""
    return name + written(value, indent=(unit or _USUAL_INDENT) if many else None).replace("\n", gap)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _gap(text: str, start: int) -> str:
    """The white space before an item, without empty lines."""
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
