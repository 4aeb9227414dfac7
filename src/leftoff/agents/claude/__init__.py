"""Claude Code: everything odd about it lives in this folder.

A newcomer reads ``adapter`` (what it can do), ``reading`` (a line becomes a record), ``chain`` and ``sending`` (what the
model is sent next), ``tail`` (how full the window is). ``known_data`` holds what may change with the next version.
"""

from __future__ import annotations

from leftoff.agents.claude.adapter import Claude
from leftoff.system import paths

__all__ = ["Claude", "here"]


def here() -> Claude:
    """Claude Code as this user has it."""
    home = paths.agent_home("CLAUDE_CONFIG_DIR", below_home=".claude")
    return Claude(home=home, environment=paths.environment())
