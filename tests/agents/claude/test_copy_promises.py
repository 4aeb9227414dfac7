"""Claude Code's adapter keeps every promise of CanCopy and CanRehearse."""

from pathlib import Path

from leftoff.agents.claude import Claude
from leftoff.testing.copy_promises import CopyingAgent, RehearsalPromises
from leftoff.testing.script import Script
from tests.support import claude_writer


class TestClaudeCopies(RehearsalPromises):
    def make_agent(self, home: Path) -> CopyingAgent:
        return Claude(home=home)

    def transcript_of(self, home: Path, session_id: str) -> Path:
        return home / "projects" / "-home-dev-project" / f"{session_id}.jsonl"

    def write(self, script: Script, path: Path) -> None:
        claude_writer.write_transcript(script, path)
