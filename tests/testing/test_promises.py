"""The reference adapter and the reference store keep every promise; a suite that the reference fails is wrong."""

from leftoff.model.protocols import Agent, CanCopy
from leftoff.stores.memory import MemoryStore
from leftoff.testing.agent_promises import AgentPromises
from leftoff.testing.plain_agent import PlainAgent
from leftoff.testing.store_promises import StorePromises


class TestPlainAgent(AgentPromises):
    def make_agent(self, home):
        return PlainAgent(home=home)

    def transcript_of(self, home, session_id):
        return home / f"{session_id}.plain.jsonl"

    def test_it_is_an_agent_that_cannot_copy(self, agent):
        """Capabilities are told by the protocol an adapter keeps, not by a list."""
        assert isinstance(agent, Agent)
        assert not isinstance(agent, CanCopy)


class TestMemoryStore(StorePromises):
    def make_store(self, folder):
        return MemoryStore()
