"""Codex as a summariser: one prompt on standard input, one answer, no hooks, no rollout, and no tool that could do anything.

Seen with 0.166.0: which tools cannot be switched off depends on the model. With gpt-5.5 they are ``apply_patch`` and
``request_user_input``; with gpt-6 those and ``exec``, which runs JavaScript that reaches no file, no network and no tool but
``apply_patch``, a clock and lists of servers, of which there are none. The read-only sandbox, an empty folder and nobody to
ask leave all of them without effect. The user's own configuration is not read: with it the servers of tools that it names are
started, whatever else is switched off.
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
    "-c",
    "agents.enabled=false",  # models of 2026 are given agents to send whatever the feature says
    *(word for feature in _WITHOUT for word in ("--disable", feature)),
    "-",
)
