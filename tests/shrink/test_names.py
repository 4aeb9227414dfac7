"""Lines near a name that was spoken of later still matter."""

from leftoff.model.actions import Ran, Wrote
from leftoff.shrink.names import Reach, last_spoken_of, near_names
from leftoff.shrink.steps import Said
from tests.shrink.making import step

REACH = Reach(lines=1, most_lines=2)


def test_names_are_long_words_or_have_an_inner_capital_or_underscore() -> None:
    """Short plain words are none."""
    assert last_spoken_of([Said("maxLen is a_bcd here, checkout there")]) == {
        "maxLen": 0,
        "a_bcd": 0,
        "checkout": 0,
    }


def test_inputs_count_except_those_that_may_be_cut() -> None:
    """Else a smaller copy would speak of fewer names."""
    told = [
        step(1, Ran("run_tests"), given="run_tests"),
        step(3, Wrote("a", "new_name"), given="new_name"),
        Said("run_tests"),
    ]
    assert last_spoken_of(told) == {"run_tests": 2}


def test_lines_near_a_name_matter_and_others_do_not() -> None:
    """As far as the reach goes, and only for names of later than the result."""
    lines = ["zero", "one", "def my_name", "three", "four"]
    assert near_names(lines, {"my_name": 5}, 4, REACH) == [False, True, True, True, False]
    assert near_names(lines, {"my_name": 4}, 4, REACH) == [False] * 5


def test_a_name_in_too_many_lines_tells_nothing() -> None:
    """It would keep everything."""
    assert near_names(["my_name"] * 3, {"my_name": 5}, 0, REACH) == [False] * 3
