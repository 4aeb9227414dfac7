"""Starts Claude Code from the command line, and writes a new session of one message."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

from leftoff.agents.claude.listing import sessions_folder
from leftoff.agents.claude.versions import dotted, known
from leftoff.agents.command_line import CommandLine
from leftoff.core.session import name_in_lineage_block
from leftoff.core.trim_plan import Copy, FreshOrder
from leftoff.core.wire import JsonObject, encode_json
from leftoff.platform import clock, files

# Seen with 2.1.325. Headless, the request has an empty list of tools, no hook of the user's settings runs, and no transcript is
# written. A client that does not know one of the options fails.
COMMAND_LINE = CommandLine(
    program="claude",
    resume=("claude", "--resume"),
    headless=(
        "claude",
        "--print",
        "--output-format",
        "text",
        "--tools",
        "",
        "--strict-mcp-config",
        "--disable-slash-commands",
        "--no-session-persistence",
        "--settings",
        '{"disableAllHooks": true}',
    ),
    once={"-p", "--print"},
    session_flags={"--resume", "-r", "--continue", "-c", "--session-id", "--fork-session", "--from-pr"},
    flags_without_value={
        "--continue",
        "-c",
        "--fork-session",
        "--print",
        "-p",
        "--verbose",
        "--bare",
        "--brief",
        "--chrome",
        "--no-chrome",
        "--ide",
        "--dangerously-skip-permissions",
        "--allow-dangerously-skip-permissions",
        "--strict-mcp-config",
        "--disable-slash-commands",
        "--include-partial-messages",
        "--include-hook-events",
        "--replay-user-messages",
        "--no-session-persistence",
        "--exclude-dynamic-system-prompt-sections",
        "--mcp-debug",
    },
    flags_with_values={
        "--add-dir",
        "--allowedTools",
        "--allowed-tools",
        "--disallowedTools",
        "--disallowed-tools",
        "--betas",
        "--file",
        "--mcp-config",
        "--tools",
    },
)


def write_fresh(home: Path, order: FreshOrder) -> Copy:
    """Write a session as the client would have begun it. Its only line carries the metadata, so that a fork keeps them."""
    session_id, project = clock.uuid4(), order.project.resolve()
    target = sessions_folder(home, project) / f"{session_id}.jsonl"
    line: JsonObject = {
        "parentUuid": None,
        "isSidechain": False,
        "promptId": clock.uuid4(),
        "type": "user",
        "message": {"role": "user", "content": name_in_lineage_block(order.first_message, target.name)},
        "uuid": clock.uuid4(),
        "timestamp": order.at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "userType": "external",
        "entrypoint": "cli",  # the client does not list sessions that were begun without a terminal
        "cwd": str(project),
        "sessionId": session_id,
        "version": dotted(known().newest_version),
        **order.metadata,
    }
    with files.atomic_writer(target) as file:
        file.write(encode_json(line) + b"\n")
    return Copy(session_id=session_id, transcript=target, size_bytes=target.stat().st_size)
