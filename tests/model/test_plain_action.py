"""Actions whose data is JSON already: read and made without copying it."""

import pytest

from leftoff.errors import DocumentError
from leftoff.model.pause_action import PauseAction, action_of, plain_action

WIRE = {
    "type": "tool_call",
    "timestamp": "2026-01-06T12:00:00Z",
    "session_id": "s",
    "data": {"tool": "Read"},
    "context_percentage": 1,
}


def test_it_is_the_same_action_as_one_read_from_its_line():
    """Equal, and written the same."""
    action = action_of(WIRE)
    assert action == PauseAction("tool_call", "2026-01-06T12:00:00Z", "s", {"tool": "Read"}, 1.0)
    assert PauseAction.from_json_line(action.to_json_line()) == action


def test_its_data_is_taken_as_it_is():
    """Nothing is copied: that is what it is for."""
    data = {"tool": "Read"}
    assert plain_action("tool_call", "t", "s", data, 0.9).data is data


@pytest.mark.parametrize("foreign", [None, [], {}, WIRE | {"data": 5}, WIRE | {"type": None}])
def test_what_is_no_action_is_refused(foreign):
    """As for a line."""
    with pytest.raises(DocumentError, match="Not a line of a pause"):
        action_of(foreign)


def test_a_pause_of_a_newer_leftoff_is_refused():
    """Its first line says so."""
    with pytest.raises(DocumentError, match="newer leftoff"):
        action_of(WIRE | {"type": "pause_started", "data": {"schema": 99}})
