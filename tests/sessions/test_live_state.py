"""The state of a live session: its JSON form, which the fast path reads too, and queued messages."""

import json
from pathlib import Path

import pytest

from leftoff.core.hook_event import NO_RESPONSE, HookResponse
from leftoff.core.metrics import Level
from leftoff.core.wire import SCHEMAS
from leftoff.errors import DocumentError
from leftoff.live import fast
from leftoff.sessions.live_state import LiveState

GOLDEN = Path(__file__).parents[1] / "golden" / "wire" / "watch_state.v1.json"


def test_the_state_is_read_and_written_byte_for_byte():
    """Reading the golden file and writing it again gives the same file."""
    text = GOLDEN.read_text(encoding="utf-8")
    state = LiveState.from_dict(json.loads(text), where="x")
    assert json.dumps(state.to_dict(), indent=2, ensure_ascii=False) + "\n" == text


def test_the_fast_path_has_the_same_schema_number():
    """Any other makes the fast path start the full program at every event."""
    assert SCHEMAS["watch_state"] == fast.SCHEMA


def test_a_queued_message_makes_the_next_event_due():
    """Two hooks that queue the same message deliver it once."""
    state = LiveState(agent="a", session_id="s")
    assert not state.is_due
    queued = state.with_messages(to_user="u", to_agent="a").with_messages(to_user="u")
    assert (queued.to_user, queued.to_agent, queued.is_due) == (("u",), ("a",), True)
    assert state.with_messages() == state


def test_a_picked_log_makes_the_next_event_due():
    """An open offer alone does not: the fast path asks for the full program if the prompt may want the log."""
    assert LiveState(agent="a", session_id="s", pickup="/log.json").is_due
    assert not LiveState(agent="a", session_id="s", offer_open=True).is_due


def test_the_used_fraction_is_known_only_with_both_numbers():
    """Unknown usage is ``None``, not 0."""
    assert LiveState(agent="a", session_id="s", used_tokens=5).used_fraction is None
    assert LiveState(agent="a", session_id="s", used_tokens=5, usable_tokens=10).used_fraction == 0.5


@pytest.mark.parametrize(
    "data",
    [[], {"schema": 1}, {"schema": 99}, {"schema": 1, "agent": "a", "session_id": "s", "said": "loud"}],
)
def test_a_document_that_is_not_a_state_is_refused(data):
    """The session then counts as new: at worst a warning comes twice."""
    with pytest.raises(DocumentError):
        LiveState.from_dict(data, where="x")


def test_missing_keys_count_as_not_known():
    """A state of an older version lacks keys that came later."""
    state = LiveState.from_dict({"schema": 1, "agent": "a", "session_id": "s", "new": 1}, where="x")
    assert (state.said, state.to_user, state.next_mark_tokens) == (Level.OK, (), 0)


def test_an_empty_response_is_false():
    """A response with any message is true."""
    assert not NO_RESPONSE
    for something in (
        HookResponse(to_user="u"),
        HookResponse(to_agent="a"),
        HookResponse(to_summariser="s"),
        HookResponse(blocks=True),
    ):
        assert something
