"""The rules of the fast path in a session's state: written by the full program, also over the state of an older version."""

import json

import pytest

from leftoff.sessions import live_state
from tests.support.live_session import LiveSession

pytestmark = pytest.mark.usefixtures("interactive_user")
OLDER_NAMES = {"claude": "replies", "codex": "readings"}


@pytest.mark.parametrize("agent_id", OLDER_NAMES)
def test_a_state_of_an_older_version_gets_rules_at_the_next_event(isolated_home, agent_id):
    """Until then every event is handed over, and older fast paths still find the name they know."""
    live = LiveSession(isolated_home, agent_id)
    live.turn(1000)
    path = live_state.path_of(agent_id, live.session_id)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"schema": 1, "agent": agent_id, "session_id": live.session_id, "tail": "x"}))
    live.hook("Stop")
    state = json.loads(path.read_bytes())
    assert state["fast_path"] == live.agent.fast_path
    assert state["tail"] == OLDER_NAMES[agent_id]
