"""Codex as a summariser: one prompt on standard input, one answer, no hooks, no rollout, and no tool that could do anything.

Seen with 0.166.0: of its tools the request carries only ``apply_patch`` and ``request_user_input``, which cannot be
switched off; the read-only sandbox, an empty folder and nobody to ask leave both without effect. The user's own
configuration is not read: with it the servers of tools that it names are started, whatever else is switched off.
"""

from __future__ import annotations

_WITHOUT = (
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

COMMAND = (
    "codex",
    "exec",
    "--ephemeral",
    "--ignore-user-config",  # it may name servers of tools, and those would be started
    "--skip-git-repo-check",
    "--color",
    "never",
    "--sandbox",
    "read-only",
    "-c",
    'web_search="disabled"',
    *(word for feature in _WITHOUT for word in ("--disable", feature)),
    "-",
)
