"""Lines near a name that was spoken of later still matter."""

from leftoff.core.actions import Ran, Wrote
from leftoff.shrink.steps import Message, Reach, last_mentions, near_names
from tests.shrink.builders import step

REACH = Reach(lines=1, most_lines=2)


def test_names_are_long_words_or_have_an_inner_capital_or_underscore() -> None:
    assert last_mentions([Message("maxLen is a_bcd here, checkout there")]) == {
        "maxLen": 0,
        "a_bcd": 0,
        "checkout": 0,
    }


def test_inputs_that_may_be_cut_mention_no_names() -> None:
    """Otherwise a copy would mention fewer names."""
    conversation = [
        step(1, Ran("run_tests"), given="run_tests"),
        step(3, Wrote("a", "new_name"), given="new_name"),
        Message("run_tests"),
    ]
    assert last_mentions(conversation) == {"run_tests": 2}


def test_only_lines_near_a_later_name_matter() -> None:
    lines = ["zero", "one", "def my_name", "three", "four"]
    assert near_names(lines, {"my_name": 5}, 4, REACH) == [False, True, True, True, False]
    assert near_names(lines, {"my_name": 4}, 4, REACH) == [False] * 5


def test_a_frequent_name_does_not_count() -> None:
    assert near_names(["my_name"] * 3, {"my_name": 5}, 0, REACH) == [False] * 3
