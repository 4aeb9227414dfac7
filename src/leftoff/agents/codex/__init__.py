"""Codex: finds, reads and measures its rollouts, and writes invented ones. Everything odd about it lives in this folder."""

from __future__ import annotations

from leftoff.agents.codex.adapter import Codex
from leftoff.system import paths

__all__ = ["Codex", "here"]


def here() -> Codex:
    """Codex as this user has it."""
    return Codex(paths.agent_home("CODEX_HOME", below_home=".codex"))
