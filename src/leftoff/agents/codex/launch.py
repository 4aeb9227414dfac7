"""Starts Codex from the command line, and writes a new session of one message.

Headless, Codex runs without hooks, writes no rollout, and has no tool with an effect. As seen with 0.166.0, some tools cannot be
switched off: with gpt-5.5 ``apply_patch`` and ``request_user_input``, with gpt-6 also ``exec``, which runs JavaScript without access to
files and network. The read-only sandbox, an empty folder and the lack of a user make them harmless.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from leftoff.agents.codex import rollouts
from leftoff.agents.codex.usage import model_provider
from leftoff.agents.codex.versions import known
from leftoff.agents.command_line import CommandLine
from leftoff.core.session import name_in_lineage_block
from leftoff.core.trim_plan import Copy, FreshOrder
from leftoff.core.wire import JsonObject, JsonValue, encode_json
from leftoff.platform import clock, files

_DISABLED = (
    "hooks",
    "shell_tool",
    "unified_exec",
    "view_image",
    "image_generation",
    "apps",
    "plugins",
    "multi_agent",
    "goals",
    "tool_suggest",
    "skill_search",
    "sleep_tool",
    "browser_use",
    "computer_use",
    "in_app_browser",
)
# Seen with 0.166. `resume` and `fork` are subcommands, which are left out together with their ids, as prompts are.
COMMAND_LINE = CommandLine(
    program="codex",
    resume=("codex", "resume"),
    headless=(
        "codex",
        "exec",
        "--ephemeral",
        "--ignore-user-config",  # it may name MCP servers, which would be started
        "--skip-git-repo-check",
        "--color",
        "never",
        "--sandbox",
        "read-only",
        "-c",
        'web_search="disabled"',
        "-c",
        "agents.enabled=false",  # models of 2026 get agents whatever the feature says
        *(argument for feature in _DISABLED for argument in ("--disable", feature)),
        "-",
    ),
    once={"exec", "e", "review"},
    session_flags={"--last", "--all", "--include-non-interactive"},
    flags_without_value={
        "--last",
        "--all",
        "--include-non-interactive",
        "--oss",
        "--search",
        "--full-auto",
        "--yolo",
        "--dangerously-bypass-approvals-and-sandbox",
        "--dangerously-bypass-hook-trust",
        "--no-alt-screen",
        "--no-daemon",
        "--strict-config",
    },
    flags_with_values={"--image", "-i"},
)


def write_fresh(home: Path, order: FreshOrder) -> Copy:
    """Write a session: its first line, which carries the metadata, and the message, once for the model and once for the screen.

    Codex does not list a session without the event of the user's message, and takes one without a source for an editor's.
    """
    session_id, at = clock.uuid7(order.at), format_time(order.at)
    target = rollout_path(home, session_id, order.at)
    message = name_in_lineage_block(order.first_message, target.name)
    content: list[JsonValue] = [{"type": "input_text", "text": message}]
    lines: list[tuple[str, JsonObject]] = [
        (
            "session_meta",
            {
                **new_meta(session_id, order.at, str(order.project.resolve())),
                "model_provider": _provider(home, order),
                **({"forked_from_id": order.parent_id} if order.parent_id else {}),
                **order.metadata,
            },
        ),
        ("response_item", {"type": "message", "role": "user", "content": content}),
        ("event_msg", {"type": "user_message", "message": message, "images": []}),
    ]
    with files.atomic_writer(target) as file:
        for name, payload in lines:
            line: JsonObject = {"timestamp": at, "type": name, "payload": payload}
            file.write(encode_json(line) + b"\n")
    return Copy(session_id=session_id, transcript=target, size_bytes=target.stat().st_size)


def rollout_path(home: Path, session_id: str, at: datetime) -> Path:
    """Return the path of a session that was begun at that time."""
    moment = at.astimezone(UTC)
    return home / "sessions" / f"{moment:%Y/%m/%d}" / f"rollout-{moment:%Y-%m-%dT%H-%M-%S}-{session_id}.jsonl"


def new_meta(session_id: str, at: datetime, project: str | None) -> JsonObject:
    """Return the first line of a session that was begun in a terminal."""
    return {
        "session_id": session_id,
        "id": session_id,
        "timestamp": format_time(at),
        "cwd": project or "/",
        "originator": "codex_cli_rs",
        "cli_version": ".".join(map(str, known().newest_version)),
        "source": "cli",
    }


def format_time(at: datetime) -> str:
    """Format a time as rollouts have it."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _provider(home: Path, order: FreshOrder) -> str:
    """Return the provider of the parent session, if it can be found: content must not go to another provider."""
    parent = rollouts.find_rollout(order.parent_id, home, near=home) if order.parent_id else None
    provider = rollouts.lineage(parent, home)[-1].meta.model_provider if parent else None
    return provider or model_provider(home)
