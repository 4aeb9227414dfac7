"""Codex' adapter keeps every promise of CanCopy and CanRehearse."""

from pathlib import Path

from leftoff.agents.codex import Codex
from leftoff.testing.copy_promises import CopyingAgent, RehearsalPromises
from leftoff.testing.script import Script
from tests.support import codex_writer


class TestCodexCopies(RehearsalPromises):
    def make_agent(self, home: Path) -> CopyingAgent:
        return Codex(home)

    def transcript_of(self, home: Path, session_id: str) -> Path:
        return home / "sessions" / "2026" / "01" / "06" / f"rollout-2026-01-06T12-00-00-{session_id}.jsonl"

    def write(self, script: Script, path: Path) -> None:
        codex_writer.write_transcript(script, path)
