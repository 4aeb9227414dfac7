"""The ``hooks`` object that agents share in shape: event → groups → commands. Puts ours in, takes ours out, lists all.

Strict where it writes: an object of another shape is refused. Lenient where it only looks: what is odd is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from leftoff.agents import fields, json_text
from leftoff.agents.json_text import Draft, Item
from leftoff.errors import ConfigError
from leftoff.model.wire import JsonObject, JsonValue
from leftoff.model.wiring import Hook, Origin, is_hook_command

HOOKS = "hooks"


# Where an entry of ours stands: the containers from the whole down to its list, each with the item in it.
_Place = tuple[tuple[int, Item], tuple[int, Item], tuple[int, Item], tuple[int, Item]]


def put_in(draft: Draft, entries: Mapping[str, JsonObject], where: Path) -> list[str]:
    """Add an entry for each event, in a group of its own at the end; the names of what was not there before."""
    made: list[str] = []
    at = json_text.root(draft.text)
    if not entries:
        return made
    if (hooks := json_text.member(draft.text, at, HOOKS)) is None:
        draft.add_member(at, HOOKS, {event: [_group(entry)] for event, entry in entries.items()})
        return [HOOKS, *(f"{HOOKS}/{event}" for event in entries)]
    _require(hooks.value, dict, HOOKS, where)
    for event, entry in entries.items():
        # Looked up anew each time: what was added has moved what stands behind it.
        hooks = _sure(json_text.member(draft.text, at, HOOKS))
        groups = json_text.member(draft.text, hooks.at, event)
        if groups is None:
            draft.add_member(hooks.at, event, [_group(entry)])
            made.append(f"{HOOKS}/{event}")
        else:
            _require(groups.value, list, f"{HOOKS}.{event}", where)
            draft.add_element(groups.at, _group(entry))
    return made


def take_out(draft: Draft, made: Collection[str] | None) -> None:
    """Remove every entry of ours, and what it leaves empty: its group, and of the rest what we had made.

    ``made`` None: nobody remembers, and whatever is left empty goes.
    """
    while (place := next(_places(draft.text), None)) is not None:
        draft.remove(*_going(draft.text, place, made))


def _going(text: str, place: _Place, made: Collection[str] | None) -> tuple[int, Item]:
    """The largest thing that goes with an entry of ours, and the container it stands in."""
    (top, hooks), (events, event), (groups, group), (entries, entry) = place
    if len(json_text.items(text, entries)) > 1:
        return entries, entry
    if len(json_text.items(text, groups)) > 1 or not (made is None or f"{HOOKS}/{event.key}" in made):
        return groups, group
    if len(json_text.items(text, events)) > 1 or not (made is None or HOOKS in made):
        return events, event
    return top, hooks


def hooks_in(text: str, source: str, origin: Origin = "settings") -> Iterator[Hook]:
    """Every command in the text; ours are those of our shape, and with ``origin`` plugin all."""
    try:
        said = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return
    for event, groups in fields.table(said if isinstance(said, dict) else {}, HOOKS).items():
        for group, held in enumerate(groups if isinstance(groups, list) else []):
            for index, entry in enumerate(fields.rows(held, HOOKS) if isinstance(held, dict) else []):
                command = fields.text(entry, "command") if isinstance(entry, dict) else None
                if command is None or not isinstance(entry, dict):
                    continue
                is_ours = origin == "plugin" or is_hook_command(command)
                yield Hook(
                    event=event,
                    command=command,
                    source=source,
                    group=group,
                    index=index,
                    entry=entry,
                    origin=origin if is_ours else None,
                )


def hooks_of(file: Path) -> list[Hook]:
    """The same of a file; none where it cannot be read."""
    return [*hooks_in(text_of(file), str(file))]


def text_of(file: Path) -> str:
    """What the file says; nothing when it cannot be read."""
    try:
        return file.read_bytes().decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _places(text: str) -> Iterator[_Place]:
    top = json_text.root(text)
    for hooks in _held(text, top, dict):
        for event in json_text.items(text, hooks.at):
            for group in json_text.items(text, event.at) if _holds_ours(event.value) else ():
                for entries in _held(text, group.at, list) if _holds_ours([group.value]) else ():
                    for entry in json_text.items(text, entries.at):
                        if _is_ours(entry.value):
                            yield (top, hooks), (hooks.at, event), (event.at, group), (entries.at, entry)


def _held(text: str, at: int, kind: type) -> Iterator[Item]:
    """What an object holds under the name of hooks, if it is of that kind."""
    return (each for each in json_text.items(text, at) if each.key == HOOKS and isinstance(each.value, kind))


def _holds_ours(groups: JsonValue) -> bool:
    """Seen in the values, which are there already: places are looked for only where there is something to find."""
    held = (group for group in groups if isinstance(group, dict)) if isinstance(groups, list) else ()
    return any(_is_ours(entry) for group in held for entry in fields.rows(group, HOOKS))


def _is_ours(entry: JsonValue) -> bool:
    command = fields.text(entry, "command") if isinstance(entry, dict) else None
    return command is not None and is_hook_command(command)


def _group(entry: JsonObject) -> JsonObject:
    return {HOOKS: [entry]}


def _require(value: JsonValue, kind: type, name: str, where: Path) -> None:
    if not isinstance(value, kind):
        what = "an object" if kind is dict else "a list"
        raise ConfigError(
            f'{where}: "{name}" is not {what}. Nothing was changed; mend the file first.', path=where
        )


def _sure(found: Item | None) -> Item:
    assert found is not None, "it was there a moment ago"
    return found
