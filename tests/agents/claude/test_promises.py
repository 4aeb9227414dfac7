"""Claude Code's adapter keeps every promise of an agent."""

from pathlib import Path

from leftoff.agents.claude import Claude
from leftoff.model.protocols import Agent
from leftoff.testing.agent_promises import AgentPromises


class TestClaude(AgentPromises):
    def make_agent(self, home: Path) -> Agent:
        return Claude(home=home)

    def transcript_of(self, home: Path, session_id: str) -> Path:
        return home / "projects" / "-home-dev-project" / f"{session_id}.jsonl"
