"""How Claude Code is wired to call us: its settings files, the events it calls at, its status line, and plugins.

A project's entries go into ``settings.local.json``: they name an interpreter of this machine, and ``settings.json`` is
shared with others. Of a status line only the command is changed, and the one that was there is called by ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from leftoff.agents import fields, hook_groups, json_text
from leftoff.agents.hook_groups import text_of
from leftoff.agents.json_text import Draft, Item
from leftoff.model.wire import JsonObject, JsonValue
from leftoff.model.wiring import (
    PLUGIN_NAME,
    Commands,
    Hook,
    HookTrouble,
    Scope,
    Trace,
    Wired,
    composed,
    composed_with,
    is_statusline_command,
)

STATUS_LINE = "statusLine"
# Seconds. The fast path needs milliseconds; these are for the full program on a bad day. At its end a session gives hooks
# little time unless they ask for more.
_TIMEOUTS = {
    "SessionStart": 20,
    "UserPromptSubmit": 20,
    "PostToolBatch": 10,
    "Stop": 10,
    "PreCompact": 60,
    "PostCompact": 20,
    "SessionEnd": 20,
}
# Older clients call after every tool instead of once per round trip.
_BATCHES_SINCE = (2, 1, 152)
_BEFORE_BATCHES = ("PostToolUse", "PostToolUseFailure")


def settings_files(home: Path, scope: Scope, project: Path) -> tuple[Path, ...]:
    """The file of that scope, last; before it those that it stands above."""
    files = (
        home / "settings.json",
        project / ".claude" / "settings.json",
        project / ".claude" / "settings.local.json",
    )
    return files[:1] if scope == "user" else files


def wired(
    text: str, commands: Commands, beneath: Sequence[str], *, where: Path, client_version: str | None
) -> Wired:
    """The settings with our hooks and status line in them."""
    draft, made = json_text.begun(text, where), []
    if commands.hook is not None:
        entries: dict[str, JsonObject] = {
            event: {"type": "command", "command": commands.hook, "timeout": seconds}
            for event, seconds in _events(client_version).items()
        }
        made = hook_groups.put_in(draft, entries, where)
    notes = _put_status_line(draft, commands.statusline, beneath, made)
    return Wired(text=draft.text, trace=draft.trace(made), notes=tuple(notes))


def unwired(text: str, was: Trace | None, *, where: Path) -> str:
    """The settings without ours; ``was`` is what is remembered of putting it in."""
    draft = json_text.begun(text, where)
    if draft.edits:
        return text  # nothing stands in it
    hook_groups.take_out(draft, None if was is None else was.made)
    _take_status_line(draft, was)
    return draft.text


def ours_in(text: str, where: Path) -> Iterator[Hook]:
    """What of a settings text is ours; the status line counts as an event."""
    yield from (hook for hook in hook_groups.hooks_in(text, str(where)) if hook.origin)
    command = status_line_in(text)
    if command and is_statusline_command(command):
        entry: JsonObject = {"command": command}
        yield Hook(
            event=STATUS_LINE,
            command=command,
            source=str(where),
            group=0,
            index=0,
            entry=entry,
            origin="settings",
        )


def status_line_in(text: str) -> str | None:
    """The status line's command; None when the text asks for none."""
    said = fields.table(_object(text), STATUS_LINE)
    return fields.text(said, "command") if said.get("type", "command") == "command" else None


def hooks_here(home: Path, project: Path) -> Iterator[Hook]:
    """Every command hook that runs in the project: of the settings, and of plugins that are switched on."""
    files = settings_files(home, "project", project)
    for file in files:
        yield from hook_groups.hooks_of(file)
    enabled: dict[str, object] = {}
    for file in files:
        enabled |= fields.table(_object(text_of(file)), "enabledPlugins")
    for plugin in (name for name, is_on in enabled.items() if is_on is True):
        yield from _hooks_of_plugin(home, plugin)


def troubles(home: Path, project: Path) -> Iterator[HookTrouble]:
    """One: the settings that count here switch all hooks off."""
    for file in reversed(settings_files(home, "project", project)):
        if (said := _object(text_of(file)).get("disableAllHooks")) is not None:
            if said is True:
                words = f"{file} switches all hooks off (disableAllHooks)"
                yield HookTrouble(words=words, mend=f"set disableAllHooks to false in {file}")
            return


def _hooks_of_plugin(home: Path, plugin: str) -> Iterator[Hook]:
    """From the client's own copy of the plugin; ours is known by its name, even where that copy is gone."""
    name, _, marketplace = plugin.partition("@")
    if name == PLUGIN_NAME:
        yield Hook(
            event="*", command="", source=f"plugin {plugin}", group=0, index=0, entry={}, origin="plugin"
        )
        return
    for part in (name, marketplace):
        if not part or "/" in part or part.startswith("."):
            return
    for file in sorted((home / "plugins" / "cache" / marketplace / name).glob("*/hooks/hooks.json")):
        yield from hook_groups.hooks_of(file)


def _events(version: str | None) -> Mapping[str, int]:
    """The events to be called at, each with its timeout. A client whose version nobody knows is taken as a new one."""
    numbers = tuple(int(part) for part in (version or "").split(".") if part.isascii() and part.isdecimal())
    if not numbers or numbers >= _BATCHES_SINCE:
        return _TIMEOUTS
    seconds = _TIMEOUTS["PostToolBatch"]
    return {
        name: value
        for event, timeout in _TIMEOUTS.items()
        for name, value in (
            dict.fromkeys(_BEFORE_BATCHES, seconds) if event == "PostToolBatch" else {event: timeout}
        ).items()
    }


def _put_status_line(draft: Draft, ours: str, beneath: Sequence[str], made: list[str]) -> list[str]:
    """Add our status line, or put it around the one that is there; the notes for the user."""
    at = json_text.root(draft.text)
    there = json_text.member(draft.text, at, STATUS_LINE)
    if there is None:
        inherited = next(filter(None, map(status_line_in, reversed(beneath))), None)
        command = composed(ours, inherited) if inherited else ours
        draft.add_member(at, STATUS_LINE, {"type": "command", "command": command})
        made.append(STATUS_LINE)
        return ["Your status line is shown first, ours below it."] if inherited else []
    old = status_line_in(draft.text)
    if old is None:
        return [f'"{STATUS_LINE}" is no command; it was left as it is, and ours is not shown.']
    _replace_command(draft, there, json_text.written(composed(ours, old)))
    return ["Your status line is shown first, ours below it."]


def _take_status_line(draft: Draft, was: Trace | None) -> None:
    at = json_text.root(draft.text)
    there = json_text.member(draft.text, at, STATUS_LINE)
    line = status_line_in(draft.text)
    if there is None or line is None or not is_statusline_command(line):
        return
    old = composed_with(line)
    if old is None or (was is not None and STATUS_LINE in was.made):
        draft.remove(at, there)
        return
    # As it was written before, escapes and all, if that is remembered.
    plain = json_text.written(old)
    raw = next((edit.removed for edit in (was.edits if was else ()) if _said(edit.removed) == old), plain)
    _replace_command(draft, there, raw)


def _replace_command(draft: Draft, status_line: Item, raw: str) -> None:
    command = json_text.member(draft.text, status_line.at, "command")
    assert command is not None, "a status line with a command was found"
    draft.replace(command.at, command.end, raw)


def _object(text: str) -> JsonObject:
    said = _said(text.removeprefix("\ufeff"))
    return said if isinstance(said, dict) else {}


def _said(text: str) -> JsonValue:
    try:
        said: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return said
