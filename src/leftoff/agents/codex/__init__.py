"""Codex. Everything peculiar to it is in this folder; ``versions.json`` holds what may change with the next version."""

from __future__ import annotations

from leftoff.agents.codex.adapter import Codex
from leftoff.platform import paths

__all__ = ["Codex", "here"]


def here() -> Codex:
    """Return the adapter for this user's Codex."""
    return Codex(paths.agent_home("CODEX_HOME", below_home=".codex"))
