"""What is remembered of a live session: its wire form, which the fast path reads too, and words kept for later."""

import json
from pathlib import Path

import pytest

from leftoff.errors import DocumentError
from leftoff.hook import fast
from leftoff.model.context_metrics import Level
from leftoff.model.hook_event import NOTHING, Saying
from leftoff.model.watch_state import WatchState
from leftoff.model.wire import SCHEMAS

GOLDEN = Path(__file__).parents[1] / "golden" / "wire" / "watch_state.v1.json"


def test_the_state_is_read_and_written_byte_for_byte():
    """Reading the golden file and writing it again gives the same file."""
    text = GOLDEN.read_text(encoding="utf-8")
    state = WatchState.from_dict(json.loads(text), where="x")
    assert json.dumps(state.to_dict(), indent=2, ensure_ascii=False) + "\n" == text


def test_the_fast_path_knows_the_number_that_is_written():
    """Any other makes it hand over at every event, which would be felt."""
    assert SCHEMAS["watch_state"] == fast.SCHEMA


def test_words_for_later_stand_once_and_make_the_next_event_due():
    """Two hooks that find the same out say it once."""
    state = WatchState(agent="a", session_id="s")
    assert not state.is_due
    told = state.told_later(to_user="u", to_agent="a").told_later(to_user="u")
    assert (told.to_user, told.to_agent, told.is_due) == (("u",), ("a",), True)
    assert state.told_later() == state


@pytest.mark.parametrize("change", [{"offer_open": True}, {"pickup": "/log.json"}])
def test_an_open_offer_makes_the_next_event_due(change):
    """The first prompt may want what was left off."""
    assert WatchState(agent="a", session_id="s", **change).is_due


def test_the_share_is_known_only_with_both_numbers():
    """None is not 0."""
    assert WatchState(agent="a", session_id="s", used_tokens=5).used_fraction is None
    assert WatchState(agent="a", session_id="s", used_tokens=5, usable_tokens=10).used_fraction == 0.5


@pytest.mark.parametrize(
    "data",
    [[], {"schema": 1}, {"schema": 99}, {"schema": 1, "agent": "a", "session_id": "s", "said": "loud"}],
)
def test_what_is_no_state_is_refused(data):
    """The session is then taken as new: a warning may come twice, nothing worse."""
    with pytest.raises(DocumentError):
        WatchState.from_dict(data, where="x")


def test_what_is_left_out_is_not_known():
    """An older state lacks keys that came later."""
    state = WatchState.from_dict({"schema": 1, "agent": "a", "session_id": "s", "new": 1}, where="x")
    assert (state.said, state.to_user, state.next_mark_tokens) == (Level.OK, (), 0)


def test_saying_nothing_is_false():
    """And anything else is something."""
    assert not NOTHING
    for something in (
        Saying(to_user="u"),
        Saying(to_agent="a"),
        Saying(to_summariser="s"),
        Saying(blocks=True),
    ):
        assert something
