"""Actions whose data is JSON already: read and made without copying it."""

import pytest

from leftoff.errors import DocumentError
from leftoff.pause.journal import PauseAction, parse_action, unchecked_action

WIRE = {
    "type": "tool_call",
    "timestamp": "2026-01-06T12:00:00Z",
    "session_id": "s",
    "data": {"tool": "Read"},
    "context_percentage": 1,
}


def test_an_unchecked_action_equals_one_read_from_its_line():
    action = parse_action(WIRE)
    assert action == PauseAction("tool_call", "2026-01-06T12:00:00Z", "s", {"tool": "Read"}, 1.0)
    assert PauseAction.from_json_line(action.to_json_line()) == action


def test_an_unchecked_action_does_not_copy_its_data():
    data = {"tool": "Read"}
    assert unchecked_action("tool_call", "t", "s", data, 0.9).data is data


@pytest.mark.parametrize("foreign", [None, [], {}, WIRE | {"data": 5}, WIRE | {"type": None}])
def test_parsed_json_that_is_not_an_action_is_refused(foreign):
    with pytest.raises(DocumentError, match="Not a line of a pause"):
        parse_action(foreign)


def test_a_parsed_pause_of_a_newer_leftoff_is_refused():
    with pytest.raises(DocumentError, match="newer leftoff"):
        parse_action(WIRE | {"type": "pause_started", "data": {"schema": 99}})
