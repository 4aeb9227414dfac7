"""Codex' ``hooks.json``, the user's approval of what is in it.

``config.toml`` is only read, except for our MCP server. Codex ignores a hook until the user has approved it, when it asks at its start or in ``/hooks``; it
then records the hash of exactly that entry at exactly that place as ``trusted_hash``. Our entries therefore stay the same from
version to version, at the end of each event. A version of Codex ignores events and fields that it does not know (seen with 0.128,
0.145 and 0.166), so all get the same entries.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from leftoff.agents import hook_format, json_edit, mcp_entry
from leftoff.agents.hook_format import read_text
from leftoff.agents.jsonl import count, table
from leftoff.agents.jsonl import text as jsonl_text
from leftoff.core.hook_settings import AgentCommands, EditTrace, Hook, HookProblem, Scope, WiredSettings
from leftoff.core.wire import JsonObject
from leftoff.platform.files import resolve_links

FILE_NAME, CONFIG_NAME = "hooks.json", "config.toml"
# Seconds; for SessionEnd Codex allows no more than three.
_TIMEOUTS = {
    "SessionStart": 20,
    "UserPromptSubmit": 20,
    "PostToolUse": 10,
    "Stop": 10,
    "PreCompact": 60,
    "SessionEnd": 3,
}
# Their answers must arrive whole: without additionalContextLimit, Codex puts more than some 2,500 tokens into a file.
_UNLIMITED_CONTEXT = ("SessionStart", "UserPromptSubmit")
_DEFAULT_TIMEOUT_SECONDS, _DEFAULT_CONTEXT_LIMIT = 600, 2500


class CodexHooks:
    """Implements ``HasHooks`` for Codex."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def settings_files(self, scope: Scope, project: Path) -> tuple[Path, ...]:
        """Return the ``hooks.json`` of that scope."""
        return (self._home / FILE_NAME if scope == "user" else project / ".codex" / FILE_NAME,)

    def wired(
        self,
        text: str,
        commands: AgentCommands,
        beneath: Sequence[str],  # noqa: ARG002 - Codex has no layers of settings
        *,
        where: Path,
    ) -> WiredSettings:
        """Return the file with our hooks added. Codex has no status line that runs a command."""
        draft = json_edit.start_draft(text, where)
        hook = commands.hook
        entries = {} if hook is None else {event: _entry(event, hook) for event in _TIMEOUTS}
        created = hook_format.add_entries(draft, entries, where)
        return WiredSettings(text=draft.text, trace=draft.trace(created))

    @property
    def mcp_file(self) -> Path:
        """The user's configuration."""
        return self._home / CONFIG_NAME

    def with_mcp_server(self, text: str, command: Sequence[str], *, where: Path) -> WiredSettings:
        """Return the configuration with our server added."""
        return mcp_entry.add_to_toml(text, command, where=where)

    def unwired(self, text: str, was: EditTrace | None, *, where: Path) -> str:
        """Return the file without our hooks, or the configuration without our server."""
        if where == resolve_links(self.mcp_file):
            return mcp_entry.remove_from_toml(text, was, where=where)
        draft = json_edit.start_draft(text, where)
        if draft.edits:
            return text  # the file is empty
        hook_format.remove_entries(draft, None if was is None else was.created)
        return draft.text

    def ours_in(self, text: str, *, where: Path) -> tuple[Hook, ...]:
        """Return our entries in the file."""
        return tuple(hook for hook in hook_format.hooks_in(text, str(where)) if hook.origin)

    def hooks_here(self, project: Path) -> tuple[Hook, ...]:
        """Return every command hook of both files and of ``config.toml``."""
        files = (*self.settings_files("user", project), *self.settings_files("project", project))
        config = self._home / CONFIG_NAME
        in_config = json.dumps({"hooks": table(_read_toml(config), "hooks")}, default=str)
        return (
            *(hook for file in files for hook in hook_format.hooks_in_file(file)),
            *hook_format.hooks_in(in_config, str(config)),
        )

    def hook_troubles(self, scope: Scope, project: Path) -> tuple[HookProblem, ...]:
        """Say which of our hooks are not approved, were changed since, or are switched off."""
        problems: list[HookProblem] = []
        config = _read_toml(self._home / CONFIG_NAME)
        if table(config, "features").get("hooks") is False:
            problems.append(
                HookProblem(
                    problem=f"{self._home / CONFIG_NAME} switches all hooks off",
                    fix="set hooks = true under [features] in it",
                )
            )
        approvals = table(table(config, "hooks"), "state")
        files = self.settings_files(scope, project)
        ours = [hook for file in files for hook in hook_format.hooks_in_file(file) if hook.origin]
        waiting = [hook.event for hook in ours if not _is_approved(hook, table(approvals, _key(hook)))]
        if waiting:
            what = "none of them is" if len(waiting) == len(ours) else f"{', '.join(waiting)} are not"
            problems.append(
                HookProblem(
                    problem=f"Codex runs hooks only when you have approved them, and {what}",
                    fix='start codex and answer "Hooks need review" with "Trust all", or type /hooks and approve those of leftoff',
                )
            )
        return tuple(problems)


def trust_hash(hook: Hook) -> str:
    """Return the hash that Codex records when the user approves the hook."""
    entry = hook.entry
    seconds = count(entry, "timeout")
    normal: JsonObject = {
        "type": "command",
        "command": hook.command,
        "async": entry.get("async") is True,
        "timeout": _DEFAULT_TIMEOUT_SECONDS if seconds is None else max(1, seconds),
    }
    if (message := jsonl_text(entry, "statusMessage")) is not None:
        normal["statusMessage"] = message
    if (limit := count(entry, "additionalContextLimit")) not in {None, _DEFAULT_CONTEXT_LIMIT}:
        normal["additionalContextLimit"] = limit
    identity: JsonObject = {"event_name": _snake_case(hook.event), "hooks": [normal]}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _entry(event: str, command: str) -> JsonObject:
    entry: JsonObject = {"type": "command", "command": command, "timeout": _TIMEOUTS[event]}
    return entry | {"additionalContextLimit": 0} if event in _UNLIMITED_CONTEXT else entry


def _is_approved(hook: Hook, approval: JsonObject) -> bool:
    return approval.get("enabled") is not False and approval.get("trusted_hash") == trust_hash(hook)


def _key(hook: Hook) -> str:
    return f"{hook.source}:{_snake_case(hook.event)}:{hook.group}:{hook.index}"


def _snake_case(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _read_toml(file: Path) -> JsonObject:
    import tomllib  # noqa: PLC0415 - hooks themselves do not need it

    try:
        return tomllib.loads(read_text(file))
    except ValueError:
        return {}
