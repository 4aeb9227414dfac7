"""Our plugin in Claude Code's settings: a marketplace of one folder, and the plugin in it switched on."""

from __future__ import annotations

from collections.abc import Collection

from leftoff.agents import json_edit
from leftoff.agents.claude.mod import MARKETPLACE, PLUGIN
from leftoff.agents.json_edit import Draft
from leftoff.core.wire import JsonValue

_MARKETPLACES, ENABLED = "extraKnownMarketplaces", "enabledPlugins"


def _plugin_entries(folder: str) -> dict[str, tuple[str, JsonValue]]:
    """Return the member that switches our plugin on, and the one that says where it is, by the object that holds each."""
    source: JsonValue = {"source": {"source": "directory", "path": folder}}
    return {_MARKETPLACES: (MARKETPLACE, source), ENABLED: (PLUGIN, True)}


def add(draft: Draft, folder: str) -> list[str]:
    """Add our plugin, and return the names of the objects that were created for it."""
    created = []
    for name, (key, value) in _plugin_entries(folder).items():
        at = json_edit.root(draft.text)
        present = json_edit.member(draft.text, at, name)
        if present is None:
            draft.add_member(at, name, {key: value})
            created.append(name)
        elif isinstance(present.value, dict) and key not in present.value:
            draft.add_member(present.at, key, value)
    return created


def remove(draft: Draft, created: Collection[str] | None) -> None:
    """Remove our plugin, with the objects that we had created and that are then empty.

    What the user switched off stays so: installing again removes our entries first.
    """
    for name, (key, _) in _plugin_entries("").items():
        at = json_edit.root(draft.text)
        holder = json_edit.member(draft.text, at, name)
        ours = (
            json_edit.member(draft.text, holder.at, key)
            if holder and isinstance(holder.value, dict)
            else None
        )
        if holder is None or ours is None or ours.value is False:
            continue
        if len(json_edit.items(draft.text, holder.at)) == 1 and (created is None or name in created):
            draft.remove(at, holder)
        else:
            draft.remove(holder.at, ours)
