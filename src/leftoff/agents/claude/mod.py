"""leftoff's mod, a plugin module inside Claude Code: its files, and the messages that it exchanges with the program.

``leftoff install`` adds the mod as a plugin of a marketplace that the user's settings declare: such a plugin is read from its folder.

As seen with 2.1.325: ``session.compact`` hands over messages with role, text, ``toolUses``, ``toolResults`` and a ``handle``, which is the
uuid of the message's line. What is answered is sent as it is, also after a resume, if no call has the id it had and no message carries its
handle but prompts. A copy of a result gets the original call as its parent, and a copy of a reply the original's id: by either the client
finds the original lines again, and sends them and all before them.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from leftoff.agents.jsonl import rows, text
from leftoff.core.hook_settings import PLUGIN_NAME
from leftoff.core.live_messages import LiveMessage
from leftoff.core.records import Record, Text, Thinking, ToolResult, ToolUse
from leftoff.core.wire import JsonObject, JsonValue

MARKETPLACE = f"{PLUGIN_NAME}-local"
PLUGIN = f"{PLUGIN_NAME}@{MARKETPLACE}"
_CALL_ID = "toolu_lo_"
# Models that think adaptively, as the client decides it: from version 4.6 on, 4.6 itself unless the user asks for a budget. With a budget
# the API wants the turn that is under way to begin with its thinking. A name that does not tell, as of a gateway, may be of either kind.
_ADAPTIVE_MODEL = re.compile(r"claude-[a-z]+-(?:4[-.](?:[6-9](?!\d)|[1-9]\d(?!\d))|(?:[5-9]|[1-9]\d)(?!\d))")
_OPTIONAL_BUDGET_MODEL = re.compile(r"claude-(?:opus|sonnet)-4[-.]6")
_BUDGET_VARIABLE = "CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING"
_FILES = ("hooks/mod.js", "hooks/leftoff.sh", "commands/trim.md", "commands/untrim.md", "commands/expand.md")


def plugin_files() -> dict[str, bytes]:
    """Return the files of the plugin, by path: the mod and its commands. The hooks of the settings stay the only ones."""
    source = Path(__file__).with_name("plugin")  # in an installed package
    if not source.is_dir():
        source = Path(__file__).parents[4] / "integrations" / "claude" / PLUGIN_NAME
    manifest = json.loads((source / ".claude-plugin" / "plugin.json").read_bytes())
    del manifest["hooks"]
    listed = {"name": PLUGIN_NAME, "source": f"./{PLUGIN_NAME}", "description": manifest["description"]}
    marketplace = {"name": MARKETPLACE, "owner": manifest["author"], "plugins": [listed]}
    hooks = {"modules": ["./mod.js"], "hooks": {}}  # clients before mods want the second key
    return {
        ".claude-plugin/marketplace.json": json.dumps(marketplace, indent=2).encode(),
        f"{PLUGIN_NAME}/.claude-plugin/plugin.json": json.dumps(manifest, indent=2).encode(),
        f"{PLUGIN_NAME}/hooks/hooks.json": json.dumps(hooks, indent=2).encode(),
        **{f"{PLUGIN_NAME}/{name}": (source / name).read_bytes() for name in _FILES},
    }


def needs_thinking(newest_first: Iterable[Record], environment: Mapping[str, str]) -> bool:
    """Say whether the API may want the turn that is under way to begin with thinking: the session has some, perhaps with a budget."""
    model, has_thinking = "", False
    for record in newest_first:
        if (model and has_thinking) or (record.compaction and record.compaction.trigger != "micro"):
            break
        if record.actor is None:
            model = model or record.model or ""
            has_thinking = has_thinking or any(isinstance(block, Thinking) for block in record.blocks)
    if not has_thinking:
        return False
    if _OPTIONAL_BUDGET_MODEL.search(model):  # a cloud's name has something before it
        return environment.get(_BUDGET_VARIABLE, "").lower() in ("1", "true", "yes", "on")
    return _ADAPTIVE_MODEL.search(model) is None


def read_messages(value: JsonValue) -> list[LiveMessage]:
    """Read the messages that the mod hands over; anything that is not a message is left out."""
    given = value if isinstance(value, list) else []
    return [_message(each) for each in given if isinstance(each, dict)]


def _message(value: JsonObject) -> LiveMessage:
    return LiveMessage(
        role="assistant" if value.get("role") == "assistant" else "user",
        text=text(value, "text") or "",
        calls=tuple(_call(each) for each in rows(value, "toolUses") if isinstance(each, dict)),
        results=tuple(_result(each) for each in rows(value, "toolResults") if isinstance(each, dict)),
        handle=text(value, "handle"),
    )


def _call(value: JsonObject) -> ToolUse:
    given = value.get("input")
    return ToolUse(
        call_id=text(value, "tool_use_id") or "",
        tool=text(value, "tool") or "",
        input=given if isinstance(given, dict) else {},
    )


def _result(value: JsonObject) -> ToolResult:
    return ToolResult(
        call_id=text(value, "tool_use_id") or "",
        parts=(Text(text=text(value, "text") or ""),),
        is_error=value.get("isError") is True,
    )


def write_messages(messages: Iterable[LiveMessage]) -> list[JsonValue]:
    """Write rebuilt messages in the form that the client takes, with new ids for all calls. A prompt with its handle stays as it is."""
    stamp = secrets.token_hex(6)
    ids: dict[str, str] = {}

    def new_id(call_id: str) -> str:
        return ids.setdefault(call_id, f"{_CALL_ID}{stamp}_{len(ids)}")

    return [
        {
            "role": each.role,
            "text": each.text,
            "toolUses": [
                {"tool_use_id": new_id(call.call_id), "tool": call.tool, "input": call.input}
                for call in each.calls
            ],
            "toolResults": [
                {
                    "tool_use_id": new_id(result.call_id),
                    "text": result.text,
                    "isError": bool(result.is_error),
                }
                for result in each.results
            ],
            **({"handle": each.handle} if each.handle else {}),
        }
        for each in messages
    ]
