"""Lines of an incremental pause."""

import json
from datetime import UTC, datetime
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.errors import DocumentError
from leftoff.model.pause_action import ACTION_TYPES, PauseAction
from tests.model import nasty

actions = st.builds(
    PauseAction,
    type=st.sampled_from(ACTION_TYPES),
    timestamp=st.just("2026-01-06T12:01:00Z"),
    session_id=st.just("session-20260106-120000"),
    data=nasty.mappings.map(lambda data: {key: value for key, value in data.items() if key != "schema"}),
    context_percentage=st.floats(0, 2),
)


@given(actions)
def test_a_line_gives_the_same_action_back(action):
    """One line whatever the data holds, and it can be written as UTF-8."""
    line = action.to_json_line()
    assert "\n" not in line
    assert PauseAction.from_json_line(line.encode().decode() + "\n") == action


def test_a_line_has_the_keys_of_the_design_in_its_order():
    """The fraction is a fraction, and words stay readable."""
    action = PauseAction("user_message", "2026-01-06T12:02:00Z", "session-1", {"message": "日本語?"}, 0.93)
    assert action.to_json_line() == (
        '{"type": "user_message", "timestamp": "2026-01-06T12:02:00Z", "session_id": "session-1",'
        ' "data": {"message": "日本語?"}, "context_percentage": 0.93}'
    )


def test_what_json_cannot_hold_does_not_lose_the_action():
    """A path among a tool's arguments, a time in a state, half an emoji from a transcript: kept as text."""
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
def test_a_foreign_line_is_refused(line):
    """With an error that readers count and pass over."""
    with pytest.raises(DocumentError, match="Not a line of a pause"):
        PauseAction.from_json_line(line)


@pytest.mark.parametrize("line", ["", "\n", '{"type": "tool_call", "timest', '{"type": "tool_call"}}'])
def test_a_torn_line_is_not_json_as_in_the_design(line):
    """The design's own reader catches JSON's error; ours is a ValueError in either case."""
    assert issubclass(DocumentError, ValueError)
    with pytest.raises(json.JSONDecodeError):
        PauseAction.from_json_line(line)


def test_a_percentage_that_is_no_number_is_not_written():
    """A line that no JSON reader takes would spoil the file."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        PauseAction("tool_call", "t", "s", {}, float("nan")).to_json_line()


def test_a_type_that_we_do_not_know_is_kept():
    """Unknown is not invalid."""
    assert PauseAction.from_json_line(json.dumps(WHOLE | {"type": "new"})).type == "new"


def test_a_pause_of_a_newer_leftoff_is_refused_at_its_first_line():
    """The number stands in the data of ``pause_started``; a predecessor wrote none."""
    first = WHOLE | {"type": "pause_started"}
    assert PauseAction.from_json_line(json.dumps(first | {"data": {"schema": 1}})).data == {"schema": 1}
    with pytest.raises(DocumentError, match="written by a newer leftoff"):
        PauseAction.from_json_line(json.dumps(first | {"data": {"schema": 2}}))
    assert PauseAction.from_json_line(json.dumps(WHOLE | {"data": {"schema": 2}})).data == {"schema": 2}
