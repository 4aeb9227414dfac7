"""Claude Code's adapter keeps every promise of an agent."""

from pathlib import Path

from leftoff.agents.claude import Claude
from leftoff.core.protocols import Agent
from leftoff.testing.agent_promises import AgentPromises
from leftoff.testing.golden_files import GoldenFile
from leftoff.testing.script import Script
from tests.support import claude_writer

GOLDEN = Path(__file__).parents[2] / "golden"


class TestClaude(AgentPromises):
    def make_agent(self, home: Path) -> Agent:
        return Claude(home=home)

    def transcript_of(self, home: Path, session_id: str) -> Path:
        return home / "projects" / "-home-dev-project" / f"{session_id}.jsonl"

    def write(self, script: Script, path: Path) -> None:
        claude_writer.write_transcript(script, path)

    def golden_files(self) -> list[GoldenFile]:
        name = "claude-2.1.325-parallel-tools"
        return [
            GoldenFile(GOLDEN / "clients" / f"{name}.jsonl", GOLDEN / "promises" / f"{name}.expected.json")
        ]
