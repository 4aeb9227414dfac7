"""Starting Codex with a person's own flags, and again with the same ones on another session."""

from __future__ import annotations

from leftoff.agents.flags import Flags

PROGRAM = "codex"
# Seen with 0.166. `resume` and `fork` are subcommands, which are left out with their ids as prompts are.
FLAGS = Flags(
    once={"exec", "e", "review"},
    of_session={"--last", "--all", "--include-non-interactive"},
    alone={
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
    several={"--image", "-i"},
)
