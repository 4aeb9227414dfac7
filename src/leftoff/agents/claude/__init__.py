"""Claude Code. Everything peculiar to it is in this folder.

Start with ``adapter`` (what it can do), ``records`` (a line becomes a record), ``chain`` (what the model is sent next) and
``usage`` (how full the context window is). ``versions.json`` holds what may change with the next version.
"""

from __future__ import annotations

from leftoff.agents.claude.adapter import Claude
from leftoff.platform import paths

__all__ = ["Claude", "here"]


def here() -> Claude:
    """Return the adapter for this user's Claude Code."""
    home = paths.agent_home("CLAUDE_CONFIG_DIR", below_home=".claude")
    return Claude(home=home, environment=paths.environment())
