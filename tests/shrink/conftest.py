"""A long session of each agent."""

from pathlib import Path

import pytest

from tests.support.long_sessions import write_long_session


@pytest.fixture(params=("claude", "codex"))
def agent_id(request: pytest.FixtureRequest) -> str:
    """Run the test for each agent."""
    return str(request.param)


@pytest.fixture
def source(home: Path, agent_id: str) -> Path:
    """Return the transcript of a long session of the agent."""
    return write_long_session(home, agent_id)
