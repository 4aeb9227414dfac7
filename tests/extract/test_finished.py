"""When the work of a session came to its end: somebody must have said so, and nothing may be open."""

import pytest

from leftoff.extract import State, is_finished
from leftoff.testing.builders import Story, call
from tests.extract.making import folded

FAILING = call("shell", {"command": "pytest -q"}, "1 failed", failed=True)


def story(asked, answered):
    return folded(Story(session_id="s").asked(asked).replied(answered))


@pytest.mark.parametrize(
    "answered",
    [
        "All done.",
        "Done! The parser reads both forms.",
        "Everything is in place.",
        "The migration is now complete.",
        "The tests pass. All tasks are finished.",
        "Completed.",
    ],
)
def test_the_agent_says_so(answered):
    """In its last words."""
    assert is_finished(story("Write it.", answered))


@pytest.mark.parametrize(
    "asked",
    [
        "Thanks!",
        "thank you, that's all",
        "That is it.",
        "We're done.",
        "Looks good, ship it",
        "Perfect",
        "done",
        "LGTM",
    ],
)
def test_the_user_says_so(asked):
    """In few words."""
    assert is_finished(story(asked, "You are welcome."))


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("Write it.", "Half of it is done."),
        ("Write it.", "It is not done."),
        ("Write it.", "All but the tests is done."),
        ("Write it.", "80 % of it is done."),
        ("Write it.", "I have written the parser."),
        ("Write it.", "Everything is done. Shall I commit?"),
        ("Write it.", "It is done once the build has passed."),
        ("Done for today.", "Good night."),
        ("Thanks, but it fails", "I see."),
        ("Thanks! Can you also add a test?", "Here it is."),
        ("Thanks " + "for all these explanations " * 10, "You are welcome."),
    ],
)
def test_silence_and_parts_are_no_end(asked, answered):
    """People close windows in the middle of their work."""
    assert not is_finished(story(asked, answered))


def test_a_list_that_is_done_is_an_end():
    """The agent's own; with an open entry on it there is none."""
    todo = {"text": "Write it", "status": "completed"}
    for others, ends in (([], True), ([{"text": "Test it", "status": "pending"}], False)):
        listed = call("todo", {"items": [todo, *others]}, "The list was updated.")
        state = folded(
            Story(session_id="s").asked("Write it.").replied("On it.", listed).replied("There you are.")
        )
        assert is_finished(state) is ends


def test_a_list_that_was_done_before_the_last_request_says_nothing_of_it():
    """The work went on without a list."""
    listed = call("todo", {"items": [{"text": "Write it", "status": "completed"}]}, "The list was updated.")
    begun = Story(session_id="s").asked("Write it.").replied("On it.", listed).replied("There you are.")
    assert not is_finished(folded(begun.asked("Now keep cents.").replied("The ledger keeps cents now.")))


def test_what_fails_or_was_not_answered_is_open():
    """Whatever is said."""
    assert not is_finished(
        folded(Story(session_id="s").asked("Fix it.").replied("On it.", FAILING).replied("All done."))
    )
    assert not is_finished(folded(Story(session_id="s").asked("Fix it.")))


def test_without_a_prompt_nothing_has_ended():
    """A file that was just begun."""
    assert not is_finished(State())
