"""Codex keeps every promise of an adapter."""

from __future__ import annotations

from pathlib import Path

from leftoff.agents.codex import Codex
from leftoff.testing.agent_promises import AgentPromises
from leftoff.testing.golden_files import GoldenFile
from leftoff.testing.script import Script
from tests.support import codex_writer

GOLDEN = Path(__file__).parents[2] / "golden"


class TestCodex(AgentPromises):
    def make_agent(self, home: Path) -> Codex:
        return Codex(home)

    def transcript_of(self, home: Path, session_id: str) -> Path:
        return home / "sessions/2026/01/06" / f"rollout-2026-01-06T12-00-00-{session_id}.jsonl"

    def write(self, script: Script, path: Path) -> None:
        codex_writer.write_transcript(script, path)

    def golden_files(self) -> list[GoldenFile]:
        name = "codex-0.166.0-exec-basic"
        return [
            GoldenFile(GOLDEN / "clients" / f"{name}.jsonl", GOLDEN / "promises" / f"{name}.expected.json")
        ]
