"""Codex keeps every promise of an adapter."""

from __future__ import annotations

from pathlib import Path

from leftoff.agents.codex import Codex
from leftoff.testing.agent_promises import AgentPromises


class TestCodex(AgentPromises):
    def make_agent(self, home: Path) -> Codex:
        return Codex(home)

    def transcript_of(self, home: Path, session_id: str) -> Path:
        return home / "sessions/2026/01/06" / f"rollout-2026-01-06T12-00-00-{session_id}.jsonl"
