"""How Codex is wired to call us: ``hooks.json``, and whether the user has approved what stands there.

``config.toml`` is only ever read. Codex passes over a hook until the user has approved it in ``/hooks``, and then trusts the
hash of exactly that entry at exactly that place: ``trusted_hash`` in ``config.toml``. So our entries stay the same from
version to version, and stand at the end of each event.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from leftoff.agents import fields, hook_groups, json_text
from leftoff.agents.hook_groups import text_of
from leftoff.model.wire import JsonObject
from leftoff.model.wiring import Commands, Hook, HookTrouble, Scope, Trace, Wired

FILE_NAME = "hooks.json"
# Seconds; for SessionEnd Codex allows no more than three.
_TIMEOUTS = {
    "SessionStart": 20,
    "UserPromptSubmit": 20,
    "PostToolUse": 10,
    "Stop": 10,
    "PreCompact": 60,
    "PostCompact": 20,
    "SessionEnd": 3,
}
# What these hand over must arrive whole: without this, some 2,500 tokens and more are put into a file instead.
_HAND_OVER = ("SessionStart", "UserPromptSubmit")
_USUAL_TIMEOUT_SECONDS, _USUAL_CONTEXT_LIMIT = 600, 2500


def settings_files(home: Path, scope: Scope, project: Path) -> tuple[Path, ...]:
    """The file of that scope."""
    return (home / FILE_NAME if scope == "user" else project / ".codex" / FILE_NAME,)


def wired(text: str, commands: Commands, *, where: Path) -> Wired:
    """The file with our hooks in it. Codex has no status line that calls anybody."""
    draft = json_text.begun(text, where)
    hook = commands.hook
    entries = {} if hook is None else {event: _entry(event, hook) for event in _TIMEOUTS}
    made = hook_groups.put_in(draft, entries, where)
    return Wired(text=draft.text, trace=draft.trace(made))


def unwired(text: str, was: Trace | None, *, where: Path) -> str:
    """The file without ours."""
    draft = json_text.begun(text, where)
    if draft.edits:
        return text  # nothing stands in it
    hook_groups.take_out(draft, None if was is None else was.made)
    return draft.text


def hooks_here(home: Path, project: Path) -> Iterator[Hook]:
    """Every command of both files, and of ``config.toml``."""
    for scope in ("user", "project"):
        for file in settings_files(home, "user" if scope == "user" else "project", project):
            yield from hook_groups.hooks_of(file)
    config = home / "config.toml"
    yield from hook_groups.hooks_in(
        json.dumps({"hooks": fields.table(_toml(config), "hooks")}, default=str), str(config)
    )


def troubles(home: Path, scope: Scope, project: Path) -> Iterator[HookTrouble]:
    """Which of our hooks wait for the user's word, or were changed since, or are switched off."""
    config = _toml(home / "config.toml")
    if fields.table(config, "features").get("hooks") is False:
        yield HookTrouble(
            words=f"{home / 'config.toml'} switches all hooks off",
            mend="set hooks = true under [features] in it",
        )
    state = fields.table(fields.table(config, "hooks"), "state")
    ours = [
        hook
        for file in settings_files(home, scope, project)
        for hook in hook_groups.hooks_of(file)
        if hook.origin
    ]
    waiting = [hook.event for hook in ours if not _is_approved(hook, fields.table(state, _key(hook)))]
    if waiting:
        what = "none of them is" if len(waiting) == len(ours) else f"{', '.join(waiting)} are not"
        yield HookTrouble(
            words=f"Codex runs hooks only when you have approved them, and {what}",
            mend="start codex, type /hooks, approve those of leftoff",
        )


def trust_hash(hook: Hook) -> str:
    """What Codex notes when the user approves the hook."""
    entry = hook.entry
    seconds = fields.count(entry, "timeout")
    normal: JsonObject = {
        "type": "command",
        "command": hook.command,
        "async": entry.get("async") is True,
        "timeout": _USUAL_TIMEOUT_SECONDS if seconds is None else max(1, seconds),
    }
    if (message := fields.text(entry, "statusMessage")) is not None:
        normal["statusMessage"] = message
    if (limit := fields.count(entry, "additionalContextLimit")) not in {None, _USUAL_CONTEXT_LIMIT}:
        normal["additionalContextLimit"] = limit
    identity: JsonObject = {"event_name": _snake(hook.event), "hooks": [normal]}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _entry(event: str, command: str) -> JsonObject:
    entry: JsonObject = {"type": "command", "command": command, "timeout": _TIMEOUTS[event]}
    return entry | {"additionalContextLimit": 0} if event in _HAND_OVER else entry


def _is_approved(hook: Hook, noted: JsonObject) -> bool:
    return noted.get("enabled") is not False and noted.get("trusted_hash") == trust_hash(hook)


def _key(hook: Hook) -> str:
    return f"{hook.source}:{_snake(hook.event)}:{hook.group}:{hook.index}"


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _toml(file: Path) -> JsonObject:
    try:
        return tomllib.loads(text_of(file))
    except ValueError:
        return {}
