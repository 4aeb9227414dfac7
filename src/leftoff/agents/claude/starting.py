"""Starting Claude Code with a person's own flags, and again with the same ones on another session."""

from __future__ import annotations

from leftoff.agents.flags import Flags

PROGRAM = "claude"
# Seen with 2.1.325. --resume takes an id or none; the prompt stands last.
FLAGS = Flags(
    once={"-p", "--print"},
    of_session={"--resume", "-r", "--continue", "-c", "--session-id", "--fork-session", "--from-pr"},
    alone={
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
    several={
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
