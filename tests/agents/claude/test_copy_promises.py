"""Claude Code's adapter keeps every promise of an agent that goes on from copies, and of one that can rehearse them."""

from pathlib import Path

from leftoff.agents.claude import Claude
from leftoff.testing.copy_promises import CopyingAgent, RehearsalPromises


class TestClaudeCopies(RehearsalPromises):
    def make_agent(self, home: Path) -> CopyingAgent:
        return Claude(home=home)

    def transcript_of(self, home: Path, session_id: str) -> Path:
        return home / "projects" / "-home-dev-project" / f"{session_id}.jsonl"
