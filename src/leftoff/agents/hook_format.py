"""The ``hooks`` object of a settings file, which several agents share.

Writing is strict: a ``hooks`` object of another shape is refused. Reading is lenient: what has another shape is ignored.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from leftoff.agents import json_edit, jsonl
from leftoff.agents.json_edit import Draft, Item
from leftoff.core.hook_settings import Hook, Origin, is_hook_command
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import ConfigError
from leftoff.platform.files import MAX_SETTINGS_BYTES, read_regular_file

HOOKS = "hooks"
# The way to an entry of ours: the containers from the whole text down to the list of entries, each with the item in it.
_Path = tuple[tuple[int, Item], tuple[int, Item], tuple[int, Item], tuple[int, Item]]


def add_entries(draft: Draft, entries: Mapping[str, JsonObject], where: Path) -> list[str]:
    """Add an entry for each event, in its own group at the end. Return the names of the members that were created."""
    created: list[str] = []
    at = json_edit.root(draft.text)
    if not entries:
        return created
    if (hooks := json_edit.member(draft.text, at, HOOKS)) is None:
        draft.add_member(at, HOOKS, {event: [_group(entry)] for event, entry in entries.items()})
        return [HOOKS, *(f"{HOOKS}/{event}" for event in entries)]
    _require(hooks.value, dict, HOOKS, where)
    for event, entry in entries.items():
        # Looked up again each time, because additions move what follows them.
        hooks = json_edit.member(draft.text, at, HOOKS)
        assert hooks is not None, "it was there a moment ago"
        groups = json_edit.member(draft.text, hooks.at, event)
        if groups is None:
            draft.add_member(hooks.at, event, [_group(entry)])
            created.append(f"{HOOKS}/{event}")
        else:
            _require(groups.value, list, f"{HOOKS}.{event}", where)
            draft.add_element(groups.at, _group(entry))
    return created


def remove_entries(draft: Draft, created: Collection[str] | None) -> None:
    """Remove every entry of ours and what that leaves empty: its group, and members that we had created.

    ``created`` is ``None`` when it is not known what we created: then everything that is left empty is removed.
    """
    while (path := next(_find_ours(draft.text), None)) is not None:
        draft.remove(*_largest_removable(draft.text, path, created))


def _largest_removable(text: str, path: _Path, created: Collection[str] | None) -> tuple[int, Item]:
    """Return the largest item to be removed with an entry of ours, and the container that holds it."""
    (top, hooks), (events, event), (groups, group), (entries, entry) = path
    if len(json_edit.items(text, entries)) > 1:
        return entries, entry
    if len(json_edit.items(text, groups)) > 1 or not (created is None or f"{HOOKS}/{event.key}" in created):
        return groups, group
    if len(json_edit.items(text, events)) > 1 or not (created is None or HOOKS in created):
        return events, event
    return top, hooks


def hooks_in(text: str, source: str, origin: Origin = "settings") -> Iterator[Hook]:
    """Find every command hook in a settings text. Ours are those of our form; with ``origin`` plugin, all are."""
    try:
        settings = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return
    for event, groups in jsonl.table(settings if isinstance(settings, dict) else {}, HOOKS).items():
        for group, held in enumerate(groups if isinstance(groups, list) else []):
            for index, entry in enumerate(jsonl.rows(held, HOOKS) if isinstance(held, dict) else []):
                command = jsonl.text(entry, "command") if isinstance(entry, dict) else None
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


def hooks_in_file(file: Path) -> list[Hook]:
    """Find every command hook in a settings file; none if it cannot be read."""
    return [*hooks_in(read_text(file), str(file))]


def read_text(file: Path) -> str:
    """Read a text file; an empty text if it cannot be read."""
    try:
        return read_regular_file(file, MAX_SETTINGS_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _find_ours(text: str) -> Iterator[_Path]:
    top = json_edit.root(text)
    for hooks in _hooks_members(text, top, dict):
        for event in json_edit.items(text, hooks.at):
            for group in json_edit.items(text, event.at) if _holds_ours(event.value) else ():
                for entries in _hooks_members(text, group.at, list) if _holds_ours([group.value]) else ():
                    for entry in json_edit.items(text, entries.at):
                        if _is_ours(entry.value):
                            yield (top, hooks), (hooks.at, event), (event.at, group), (entries.at, entry)


def _hooks_members(text: str, at: int, kind: type) -> Iterator[Item]:
    """Return the members named ``hooks`` of an object that have a value of that type."""
    return (each for each in json_edit.items(text, at) if each.key == HOOKS and isinstance(each.value, kind))


def _holds_ours(groups: JsonValue) -> bool:
    """Say whether groups hold an entry of ours. They are parsed already, so this is cheaper than searching the text."""
    held = (group for group in groups if isinstance(group, dict)) if isinstance(groups, list) else ()
    return any(_is_ours(entry) for group in held for entry in jsonl.rows(group, HOOKS))


def _is_ours(entry: JsonValue) -> bool:
    command = jsonl.text(entry, "command") if isinstance(entry, dict) else None
    return command is not None and is_hook_command(command)


def _group(entry: JsonObject) -> JsonObject:
    return {HOOKS: [entry]}


def _require(value: JsonValue, kind: type, name: str, where: Path) -> None:
    if not isinstance(value, kind):
        what = "an object" if kind is dict else "a list"
        raise ConfigError(
            f'{where}: "{name}" is not {what}. Nothing was changed; repair the file first.', path=where
        )
