"""Lines of an incremental pause."""

import json
from datetime import UTC, datetime
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.errors import DocumentError
from leftoff.pause.journal import ACTION_TYPES, PauseAction
from tests.support import strategies

actions = st.builds(
    PauseAction,
    type=st.sampled_from(ACTION_TYPES),
    timestamp=st.just("2026-01-06T12:01:00Z"),
    session_id=st.just("session-20260106-120000"),
    data=strategies.mappings.map(lambda data: {key: value for key, value in data.items() if key != "schema"}),
    context_percentage=st.floats(0, 2),
)


@given(actions)
def test_an_action_survives_a_round_trip_as_one_line(action):
    line = action.to_json_line()
    assert "\n" not in line
    assert PauseAction.from_json_line(line.encode().decode() + "\n") == action


def test_a_line_has_its_keys_in_order():
    action = PauseAction("user_message", "2026-01-06T12:02:00Z", "session-1", {"message": "日本語?"}, 0.93)
    assert action.to_json_line() == (
        '{"type": "user_message", "timestamp": "2026-01-06T12:02:00Z", "session_id": "session-1",'
        ' "data": {"message": "日本語?"}, "context_percentage": 0.93}'
    )


def test_values_that_json_cannot_hold_are_kept_as_text():
    """A path, a time and half of an emoji become text."""
    data = {"path": PurePosixPath("/a"), "at": datetime(2026, 1, 6, tzinfo=UTC), "cut": "\ud83d"}
    action = PauseAction("tool_call", "t", "s", data, 1)
    assert action.data == {"path": "/a", "at": "2026-01-06 00:00:00+00:00", "cut": "\ufffd"}
    assert PauseAction.from_json_line(action.to_json_line()) == action


WHOLE = {"type": "tool_call", "timestamp": "t", "session_id": "s", "data": {}, "context_percentage": 0.9}


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "5",
        "[" * 100_000,
        *(json.dumps({key: value for key, value in WHOLE.items() if key != gone}) for gone in WHOLE),
        *(json.dumps(WHOLE | {wrong: None}) for wrong in WHOLE),
    ],
)
def test_a_line_that_is_not_an_action_is_refused(line):
    with pytest.raises(DocumentError, match="Not a line of a pause"):
        PauseAction.from_json_line(line)


@pytest.mark.parametrize("line", ["", "\n", '{"type": "tool_call", "timest', '{"type": "tool_call"}}'])
def test_a_torn_line_raises_a_json_error(line):
    assert issubclass(DocumentError, ValueError)
    with pytest.raises(json.JSONDecodeError):
        PauseAction.from_json_line(line)


def test_a_percentage_that_is_not_a_number_is_not_written():
    with pytest.raises(ValueError, match="context_percentage is nan: a fraction was expected"):
        PauseAction("tool_call", "t", "s", {}, float("nan")).to_json_line()


def test_an_unknown_type_is_kept():
    assert PauseAction.from_json_line(json.dumps(WHOLE | {"type": "new"})).type == "new"


def test_a_first_line_of_a_newer_leftoff_is_refused():
    """The data of the first line holds the schema number; the first version wrote none."""
    first = WHOLE | {"type": "pause_started"}
    assert PauseAction.from_json_line(json.dumps(first | {"data": {"schema": 1}})).data == {"schema": 1}
    with pytest.raises(DocumentError, match="written by a newer leftoff"):
        PauseAction.from_json_line(json.dumps(first | {"data": {"schema": 2}}))
    assert PauseAction.from_json_line(json.dumps(WHOLE | {"data": {"schema": 2}})).data == {"schema": 2}
