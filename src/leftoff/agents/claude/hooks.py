"""Claude Code's settings files, hooks and status line.

A project's entries go into ``settings.local.json``, because they name an interpreter of this machine and ``settings.json`` is
shared. Of a present status line only the command is changed: ours calls the old one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leftoff.agents import hook_format, json_edit, mcp_entry
from leftoff.agents.claude import plugin_settings
from leftoff.agents.claude.mod import PLUGIN
from leftoff.agents.claude.versions import Version, dotted, known
from leftoff.agents.hook_format import read_text
from leftoff.agents.json_edit import Draft, Item
from leftoff.agents.jsonl import table
from leftoff.agents.jsonl import text as jsonl_text
from leftoff.core.hook_settings import (
    PLUGIN_NAME,
    AgentCommands,
    EditTrace,
    Hook,
    HookProblem,
    Scope,
    WiredSettings,
    compose_statusline,
    is_statusline_command,
    wrapped_statusline,
)
from leftoff.core.wire import JsonObject, JsonValue
from leftoff.errors import ConfigError
from leftoff.platform.files import resolve_links

if TYPE_CHECKING:
    from leftoff.agents.claude.clients import Client

STATUS_LINE = "statusLine"
# The client also runs the line after each reply, but not after a save between two replies; clients before 2.1.197 ignore this.
_REFRESH_SECONDS = 30
MOD = "mod"
# Seconds. The fast path needs milliseconds; these are for the full program on a busy machine. At the end of a session the
# client gives hooks little time unless they ask for more.
TIMEOUTS = {
    "SessionStart": 20,
    "UserPromptSubmit": 20,
    "PostToolUse": 10,
    "PostToolUseFailure": 10,
    "PostToolBatch": 10,
    "Stop": 10,
    "PreCompact": 60,
    "SessionEnd": 20,
}
# The client shows the command of this one on screen. It would show that of PostCompact too, which is left out for that reason: the
# summary is in the transcript.
_SHOWN = "PreCompact"
_BATCH = "PostToolBatch"
_BEFORE_BATCHES = ("PostToolUse", "PostToolUseFailure")  # after every tool instead of once per round trip


class ClaudeHooks:
    """Implements ``HasHooks`` for Claude Code."""

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment

    def settings_files(self, scope: Scope, project: Path) -> tuple[Path, ...]:
        """Return the file of that scope, last; before it those that it overrides."""
        files = (
            self._home / "settings.json",
            project / ".claude" / "settings.json",
            project / ".claude" / "settings.local.json",
        )
        return files[:1] if scope == "user" else files

    def wired(
        self, text: str, commands: AgentCommands, beneath: Sequence[str], *, where: Path
    ) -> WiredSettings:
        """Return the settings with our hooks and status line added."""
        draft, created = json_edit.start_draft(text, where), []
        notes: list[str] = []
        if commands.hook is not None:
            clients = self._clients()
            oldest = _oldest_with_hooks(clients, where)
            entries: dict[str, JsonObject] = {
                event: {
                    "type": "command",
                    "command": (commands.brief_hook if event == _SHOWN else None) or commands.hook,
                    "timeout": TIMEOUTS[event],
                }
                for event in events_of(oldest.version if oldest else ())
            }
            created = hook_format.add_entries(draft, entries, where)
            notes += _notes_on_clients(clients, oldest)
        notes += _add_status_line(draft, commands.statusline, beneath, created)
        if commands.plugin is not None and any(
            each.version >= known().mods_since for each in self._clients()
        ):
            created += plugin_settings.add(draft, commands.plugin)
        return WiredSettings(text=draft.text, trace=draft.trace(created), notes=tuple(notes))

    @property
    def mcp_file(self) -> Path:
        """The client's own state, where it keeps the servers of scope user."""
        folder = self._home if self._environment.get("CLAUDE_CONFIG_DIR") else self._home.parent
        return folder / ".claude.json"

    def with_mcp_server(self, text: str, command: Sequence[str], *, where: Path) -> WiredSettings:
        """Return that file with our server added, as ``claude mcp add --scope user`` writes it."""
        return mcp_entry.add_to_json(text, command, where=where)

    def unwired(self, text: str, was: EditTrace | None, *, where: Path) -> str:
        """Return the settings without our entries; ``was`` is what was remembered when they were added."""
        if where == resolve_links(self.mcp_file):
            return mcp_entry.remove_from_json(text, was, where=where)
        draft = json_edit.start_draft(text, where)
        if draft.edits:
            return text  # the file is empty
        hook_format.remove_entries(draft, None if was is None else was.created)
        _remove_status_line(draft, was)
        plugin_settings.remove(draft, None if was is None else was.created)
        return draft.text

    def ours_in(self, text: str, *, where: Path) -> tuple[Hook, ...]:
        """Return our entries in a settings text; the status line counts as an event."""
        ours = [hook for hook in hook_format.hooks_in(text, str(where)) if hook.origin]
        command = status_line_in(text)
        if command and is_statusline_command(command):
            ours.append(
                Hook(
                    event=STATUS_LINE,
                    command=command,
                    source=str(where),
                    group=0,
                    index=0,
                    entry={"command": command},
                    origin="settings",
                )
            )
        if table(_parse_object(text), plugin_settings.ENABLED).get(PLUGIN) is True:
            ours.append(
                Hook(
                    event=MOD,
                    command="",
                    source=str(where),
                    group=0,
                    index=0,
                    entry={PLUGIN: True},
                    origin="settings",
                )
            )
        return tuple(ours)

    def hooks_here(self, project: Path) -> tuple[Hook, ...]:
        """Return every command hook that runs in the project: those of the settings and of enabled plugins."""
        files = self.settings_files("project", project)
        found = [hook for file in files for hook in hook_format.hooks_in_file(file)]
        enabled: dict[str, object] = {}
        for file in files:
            enabled |= table(_parse_object(read_text(file)), plugin_settings.ENABLED)
        for plugin in (name for name, is_on in enabled.items() if is_on is True and name != PLUGIN):
            found += _hooks_of_plugin(self._home, plugin)
        return tuple(found)

    def hook_troubles(self, scope: Scope, project: Path) -> tuple[HookProblem, ...]:  # noqa: ARG002 - the same for both scopes
        """Say whether the settings that apply in the project switch all hooks off, and which client cannot read them."""
        ours = {hook.event for hook in self.hooks_here(project) if hook.origin == "settings"}
        return (*self._switched_off(project), *(_cannot_read(self._clients(), ours) if ours else ()))

    def _switched_off(self, project: Path) -> Iterator[HookProblem]:
        for file in reversed(self.settings_files("project", project)):
            is_off = _parse_object(read_text(file)).get("disableAllHooks")
            if is_off is True:
                yield HookProblem(
                    problem=f"{file} switches all hooks off (disableAllHooks)",
                    fix=f"set disableAllHooks to false in {file}",
                )
            if is_off is not None:
                return

    def _clients(self) -> list[Client]:
        from leftoff.agents.claude.clients import find_clients  # noqa: PLC0415 - hooks themselves do not need it

        return find_clients(self._home, self._environment)


def status_line_in(text: str) -> str | None:
    """Return the status line's command; None when the settings have none."""
    entry = table(_parse_object(text), STATUS_LINE)
    return jsonl_text(entry, "command") if entry.get("type", "command") == "command" else None


def _hooks_of_plugin(home: Path, plugin: str) -> Iterator[Hook]:
    """Read the hooks of the client's own copy of a plugin; ours is known by its name, even if that copy is gone."""
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
        yield from hook_format.hooks_in_file(file)


def events_of(version: Version) -> list[str]:
    """Return the events to be called at by a client; those that every client with hooks knows for an empty version."""
    since = known().hooks_since
    events = [event for event in TIMEOUTS if event not in since or version >= since[event]]
    return [event for event in events if _BATCH not in events or event not in _BEFORE_BATCHES]


def _oldest_with_hooks(clients: Sequence[Client], where: Path) -> Client | None:
    """Return the oldest client, because all read the same file; ConfigError if the one in use is too old.

    Another one that is too old is left out of account: it is often a leftover that nothing starts.
    """
    oldest = known().oldest_with_hooks
    if clients and clients[0].version < oldest:
        raise ConfigError(
            f"{clients[0]} is older than {dotted(oldest)}, the oldest version that leftoff works with, and would skip "
            f"the whole of {where}. Nothing was changed. Type: claude update, then try again.",
            path=where,
        )
    return min((client for client in clients if client.version >= oldest), default=None)


def _notes_on_clients(clients: Sequence[Client], oldest: Client | None) -> Iterator[str]:
    since = dotted(known().oldest_with_hooks)
    if oldest is None:
        yield (
            "leftoff could not find out which version of Claude Code you use, so it takes only the hooks that every version "
            f"since {since} knows. It adds the others by itself once it has seen a session."
        )
        return
    newest = events_of(known().newest_version)
    if missing := [event for event in newest if event not in events_of(oldest.version)]:
        them = "it" if len(missing) == 1 else "them"
        yield f"{oldest} does not know {' and '.join(missing)}; leftoff adds {them} by itself after an upgrade."
    for client in clients:
        if client.version < known().oldest_with_hooks:
            yield f"{client} cannot be used with leftoff any more, which needs {since}. Remove it."


def _cannot_read(clients: Sequence[Client], events: Collection[str]) -> Iterator[HookProblem]:
    """Name the clients that skip the whole settings file because it has these events."""
    for number, client in enumerate(clients):
        unknown = [
            event
            for event, since in known().hooks_since.items()
            if event in events and client.version < since
        ]
        if client.version < known().oldest_with_hooks:
            if number == 0:  # others are often leftovers that nothing starts
                yield HookProblem(
                    problem=f"{client} is older than {dotted(known().oldest_with_hooks)} and skips the whole settings file",
                    fix="claude update, then leftoff install claude",
                )
        elif unknown and client.version < known().ignores_unknown_hooks_since:
            yield HookProblem(
                problem=f"{client} does not know {' and '.join(unknown)} and skips the whole settings file, "
                "with your own hooks and permissions",
                fix="leftoff install claude",
            )


def _add_status_line(draft: Draft, ours: str, beneath: Sequence[str], created: list[str]) -> list[str]:
    """Add our status line, or wrap it around the present one. Return the notes for the user."""
    at = json_edit.root(draft.text)
    present = json_edit.member(draft.text, at, STATUS_LINE)
    if present is None:
        inherited = next(filter(None, map(status_line_in, reversed(beneath))), None)
        entry: JsonObject = {"type": "command"}
        if inherited:
            entry["command"] = compose_statusline(ours, inherited)
        else:
            entry |= {"command": ours, "refreshInterval": _REFRESH_SECONDS}
        draft.add_member(at, STATUS_LINE, entry)
        created.append(STATUS_LINE)
        return ["Your status line is shown first, ours below it."] if inherited else []
    old = status_line_in(draft.text)
    if old is None:
        return [f'"{STATUS_LINE}" is not a command; it was left as it is, and ours is not shown.']
    _replace_command(draft, present, json_edit.to_text(compose_statusline(ours, old)))
    return ["Your status line is shown first, ours below it."]


def _remove_status_line(draft: Draft, was: EditTrace | None) -> None:
    at = json_edit.root(draft.text)
    present = json_edit.member(draft.text, at, STATUS_LINE)
    line = status_line_in(draft.text)
    if present is None or line is None or not is_statusline_command(line):
        return
    old = wrapped_statusline(line)
    if old is None or (was is not None and STATUS_LINE in was.created):
        draft.remove(at, present)
        return
    # With the escapes that it was written with before, if those are remembered.
    plain = json_edit.to_text(old)
    raw = next(
        (edit.removed for edit in (was.edits if was else ()) if _parse_json(edit.removed) == old), plain
    )
    _replace_command(draft, present, raw)


def _replace_command(draft: Draft, status_line: Item, raw: str) -> None:
    command = json_edit.member(draft.text, status_line.at, "command")
    assert command is not None, "a status line with a command was found"
    draft.replace(command.at, command.end, raw)


def _parse_object(text: str) -> JsonObject:
    value = _parse_json(text.removeprefix("\ufeff"))
    return value if isinstance(value, dict) else {}


def _parse_json(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value
