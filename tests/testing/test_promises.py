"""The reference adapter and the reference store keep every promise; a suite that the reference fails is wrong."""

import json
from pathlib import Path

import pytest

from leftoff.core.protocols import Agent, CanCopy
from leftoff.storage.store_base import MemoryStore
from leftoff.testing.agent_promises import AgentPromises
from leftoff.testing.golden_files import GoldenFile
from leftoff.testing.plain_agent import PlainAgent, write_transcript
from leftoff.testing.store_promises import StorePromises

GOLDEN = Path(__file__).parents[1] / "golden" / "promises"


class TestPlainAgent(AgentPromises):
    def make_agent(self, home):
        return PlainAgent(home=home)

    def transcript_of(self, home, session_id):
        return home / f"{session_id}.plain.jsonl"

    def write(self, script, path):
        write_transcript(script, path)

    def test_it_is_an_agent_that_cannot_copy(self, agent):
        """Capabilities are recognised by protocols, not by a list."""
        assert isinstance(agent, Agent)
        assert not isinstance(agent, CanCopy)


class TestPlainAgentOnGoldenFilesAlone(AgentPromises):
    """Tests an adapter without a writer: what needs an invented session is skipped."""

    def make_agent(self, home):
        return PlainAgent(home=home)

    def transcript_of(self, home, session_id):
        return home / f"{session_id}.plain.jsonl"

    def golden_files(self):
        name = "three-turns.plain"
        return [GoldenFile(GOLDEN / f"{name}.jsonl", GOLDEN / f"{name}.expected.json")]

    def test_a_wrong_expectation_is_noticed(self, agent, tmp_path):
        """Golden files are compared, not only read."""
        (golden,) = self.golden_files()
        wrong = json.loads(golden.expected.read_text(encoding="utf-8")) | {"used_tokens": 1}
        (tmp_path / "wrong.json").write_text(json.dumps(wrong), encoding="utf-8")
        self.golden_files = lambda: [golden._replace(expected=tmp_path / "wrong.json")]
        with pytest.raises(AssertionError, match="three-turns"):
            self.test_golden_files_give_the_expected_facts(agent)


class TestMemoryStore(StorePromises):
    def make_store(self, folder):
        return MemoryStore()
