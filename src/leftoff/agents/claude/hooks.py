"""Claude Code's settings files, hooks, events and status line.

A project's entries go into ``settings.local.json``, because they name an interpreter of this machine and ``settings.json`` is
shared. Of a present status line only the command is changed: ours calls the old one. As seen with 2.1.325, PreCompact accepts
plain text for the summariser and refuses an object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from leftoff.agents import hook_format, json_edit
from leftoff.agents.claude import listing, usage
from leftoff.agents.hook_format import read_text
from leftoff.agents.json_edit import Draft, Item
from leftoff.agents.jsonl import JsonLines, table
from leftoff.agents.jsonl import text as jsonl_text
from leftoff.core.fast_path import FastPathRules
from leftoff.core.hook_event import (
    PLUGIN_NAME,
    AgentCommands,
    EditTrace,
    Hook,
    HookEvent,
    HookProblem,
    HookResponse,
    Scope,
    WiredSettings,
    compose_statusline,
    is_statusline_command,
    wrapped_statusline,
)
from leftoff.core.wire import JsonObject, JsonValue

STATUS_LINE = "statusLine"
# Seconds. The fast path needs milliseconds; these are for the full program on a busy machine. At the end of a session the
# client gives hooks little time unless they ask for more.
_TIMEOUTS = {
    "SessionStart": 20,
    "UserPromptSubmit": 20,
    "PostToolBatch": 10,
    "Stop": 10,
    "PreCompact": 60,
    "SessionEnd": 20,
}
# The client shows the command of this one on screen. It would show that of PostCompact too, which is left out for that reason: the
# summary is in the transcript.
_SHOWN = "PreCompact"
# Older clients call after every tool instead of once per round trip.
_BATCHES_SINCE = (2, 1, 152)
_BEFORE_BATCHES = ("PostToolUse", "PostToolUseFailure")
# A reply takes one line for each of its blocks. Subagents' lines, the client's own messages and API errors do not count.
FAST_PATH: FastPathRules = {
    "format": "replies",
    "events": hook_format.FAST_EVENTS,
    "marks": ['put_tokens"', 'compact_boundary"', '"isCompactSummary"'],
    "skip": [
        {"where": {"isSidechain": True}},
        {"where": {"message.model": "<synthetic>"}},
        {"where": {"isApiErrorMessage": True}},
    ],
    "usage": [
        {
            "where": {"type": "assistant"},
            "add": [
                "message.usage.input_tokens",
                "message.usage.output_tokens",
                "message.usage.cache_read_input_tokens",
                "message.usage.cache_creation_input_tokens",
            ],
            "reply": "message.id",
            "about": [
                "requestedModel",
                "message.model",
            ],  # only the former keeps the suffix of a larger window
            "text": "message.content",  # Stop may run before the reply is written (2.1.325)
        }
    ],
    "compaction": [{"where": {"subtype": "compact_boundary"}, "tokens": "compactMetadata.postTokens"}],
    "summary": [{"where": {"isCompactSummary": True}}],
    "cleared": [
        {
            "where": {"subtype": "microcompact_boundary"},
            "before": "microcompactMetadata.preTokens",
            "saved": "microcompactMetadata.tokensSaved",
        }
    ],
}
# Which events pass an answer on to the agent, and which show it to the user. Additional context at Stop would make the turn
# continue (2.1.325), so the agent gets none there.
_HEARS_AGENT = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PostToolBatch")
_HEARS_USER = (*_HEARS_AGENT, "Stop")
_IN_INPUT_BOX = "(Your line is back in the input box; Ctrl+U clears it.)"


class ClaudeHooks:
    """Implements ``HasHooks``, ``HasEvents`` and ``HasFastPath`` for Claude Code."""

    fast_path = FAST_PATH

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment

    def event(self, payload: JsonObject) -> HookEvent | None:
        """Parse the event that a hook is called with."""
        pid = self._environment.get("CLAUDE_PID", "")
        return hook_format.event(
            payload,
            hears_user=_HEARS_USER,
            hears_agent=_HEARS_AGENT,
            summary=jsonl_text(payload, "compact_summary"),
            is_headless=self._environment.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk"),
            client_pid=int(pid) if pid.isascii() and pid.isdecimal() and len(pid) < 10 else None,
        )

    def reply(self, event: HookEvent, response: HookResponse) -> bytes:
        """Return what the hook prints; a blocked prompt is not repeated below the answer, but stays in the input box."""
        if response.blocks:
            response = response._replace(to_user=f"{response.to_user}\n{_IN_INPUT_BOX}")
        return hook_format.reply(event, response, when_blocked={"suppressOriginalPrompt": True})

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
        if commands.hook is not None:
            entries: dict[str, JsonObject] = {
                event: {
                    "type": "command",
                    "command": (commands.brief_hook if event == _SHOWN else None) or commands.hook,
                    "timeout": seconds,
                }
                for event, seconds in _events(self._client_version()).items()
            }
            created = hook_format.add_entries(draft, entries, where)
        notes = _add_status_line(draft, commands.statusline, beneath, created)
        return WiredSettings(text=draft.text, trace=draft.trace(created), notes=tuple(notes))

    def unwired(self, text: str, was: EditTrace | None, *, where: Path) -> str:
        """Return the settings without our entries; ``was`` is what was remembered when they were added."""
        draft = json_edit.start_draft(text, where)
        if draft.edits:
            return text  # the file is empty
        hook_format.remove_entries(draft, None if was is None else was.created)
        _remove_status_line(draft, was)
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
        return tuple(ours)

    def hooks_here(self, project: Path) -> tuple[Hook, ...]:
        """Return every command hook that runs in the project: those of the settings and of enabled plugins."""
        files = self.settings_files("project", project)
        found = [hook for file in files for hook in hook_format.hooks_in_file(file)]
        enabled: dict[str, object] = {}
        for file in files:
            enabled |= table(_parse_object(read_text(file)), "enabledPlugins")
        for plugin in (name for name, is_on in enabled.items() if is_on is True):
            found += _hooks_of_plugin(self._home, plugin)
        return tuple(found)

    def hook_troubles(self, scope: Scope, project: Path) -> tuple[HookProblem, ...]:  # noqa: ARG002 - the same for both scopes
        """Say whether the settings that apply in the project switch all hooks off."""
        for file in reversed(self.settings_files("project", project)):
            is_off = _parse_object(read_text(file)).get("disableAllHooks")
            if is_off is not None:
                problem = HookProblem(
                    problem=f"{file} switches all hooks off (disableAllHooks)",
                    fix=f"set disableAllHooks to false in {file}",
                )
                return (problem,) if is_off is True else ()
        return ()

    def _client_version(self) -> str | None:
        """Return the version of the client that wrote the newest transcript; None if there is none."""
        newest = max(listing.transcripts(self._home), key=lambda path: path.stat().st_mtime_ns, default=None)
        if newest is None:
            return None
        with JsonLines(newest) as lines:
            return usage.read_tail(lines, with_history=False).client_version


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


def _events(version: str | None) -> Mapping[str, int]:
    """Return the events to be called at, each with its timeout. A client of unknown version is taken as a new one."""
    numbers = tuple(int(part) for part in (version or "").split(".") if part.isascii() and part.isdecimal())
    if not numbers or numbers >= _BATCHES_SINCE:
        return _TIMEOUTS
    events: dict[str, int] = {}
    for event, timeout in _TIMEOUTS.items():
        events |= dict.fromkeys(_BEFORE_BATCHES if event == "PostToolBatch" else (event,), timeout)
    return events


def _add_status_line(draft: Draft, ours: str, beneath: Sequence[str], created: list[str]) -> list[str]:
    """Add our status line, or wrap it around the present one. Return the notes for the user."""
    at = json_edit.root(draft.text)
    present = json_edit.member(draft.text, at, STATUS_LINE)
    if present is None:
        inherited = next(filter(None, map(status_line_in, reversed(beneath))), None)
        command = compose_statusline(ours, inherited) if inherited else ours
        draft.add_member(at, STATUS_LINE, {"type": "command", "command": command})
        created.append(STATUS_LINE)
        return ["Your status line is shown first, ours below it."] if inherited else []
    old = status_line_in(draft.text)
    if old is None:
        return [f'"{STATUS_LINE}" is no command; it was left as it is, and ours is not shown.']
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
