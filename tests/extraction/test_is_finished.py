"""Recognising that the work of a session is finished: the user or the agent says so, and nothing is open."""

import pytest

from leftoff.extraction import State, is_finished
from leftoff.testing.builders import Story, call
from tests.extraction.builders import folded

FAILING = call("shell", {"command": "pytest -q"}, "1 failed", failed=True)


def story(prompt, reply):
    return folded(Story(session_id="s").asked(prompt).replied(reply))


@pytest.mark.parametrize(
    "reply",
    [
        "All done.",
        "Done! The parser reads both forms.",
        "Everything is in place.",
        "The migration is now complete.",
        "The tests pass. All tasks are finished.",
        "Completed.",
    ],
)
def test_the_agents_last_text_can_end_the_work(reply):
    """The agent says that everything is done."""
    assert is_finished(story("Write it.", reply))


@pytest.mark.parametrize(
    "prompt",
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
def test_a_short_prompt_of_the_user_can_end_the_work(prompt):
    """The user says thanks, or that it is done."""
    assert is_finished(story(prompt, "You are welcome."))


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        ("Write it.", "Half of it is done."),
        ("Write it.", "It is not done."),
        ("Write it.", "All but the tests is done."),
        ("Write it.", "80 % of it is done."),
        ("Write it.", "I have written the parser."),
        ("Write it.", "Everything is done. Shall I commit?"),
        ("Write it.", "It is done once the build has passed."),
        ("Write it.", "This cannot be completed here."),
        ("Write it.", "This was never completed, and I stopped."),
        ("Write it.", "That is complete. I skipped the failing test."),
        ("Write it.", "Done so far: the parser."),
        ("Write it.", "Done: the parser. Open: the tests."),
        ("Write it.", "Done!\n\n- [x] parser\n- [ ] tests"),
        ("Write it.", "Done. コミットしますか\uff1f"),
        ("Done for today.", "Good night."),
        ("Thanks, but it fails", "I see."),
        ("Thanks! Can you also add a test?", "Here it is."),
        ("Thanks " + "for all these explanations " * 10, "You are welcome."),
    ],
)
def test_silence_and_partial_results_do_not_end_the_work(prompt, reply):
    """People close windows in the middle of their work."""
    assert not is_finished(story(prompt, reply))


@pytest.mark.parametrize(
    ("reply", "ends"),
    [
        ("The migration is complete.", True),
        ("Noch offen sind die Tests.", False),
        ("Should I run the backfill now?", False),
        ("The parser reads both forms.", False),
    ],
)
def test_thanks_end_only_what_the_agent_had_called_done(reply, ends):
    """In doubt, work is open; what is still to do may be said in any language."""
    told = (
        Story(session_id="s").asked("Write it.").replied(reply).asked("Thanks!").replied("You are welcome.")
    )
    assert is_finished(folded(told)) is ends


def test_a_completed_to_do_list_ends_the_work():
    """With an open entry the work is not finished."""
    todo = {"text": "Write it", "status": "completed"}
    for others, ends in (([], True), ([{"text": "Test it", "status": "pending"}], False)):
        done = call("todo", {"items": [todo, *others]}, "The list was updated.")
        state = folded(
            Story(session_id="s").asked("Write it.").replied("On it.", done).replied("There you are.")
        )
        assert is_finished(state) is ends


def test_a_list_completed_before_the_last_prompt_does_not_count():
    """The last request was worked on without a list."""
    done = call("todo", {"items": [{"text": "Write it", "status": "completed"}]}, "The list was updated.")
    truncate = Story(session_id="s").asked("Write it.").replied("On it.", done).replied("There you are.")
    assert not is_finished(folded(truncate.asked("Now keep cents.").replied("The ledger keeps cents now.")))


def test_failures_and_unanswered_requests_keep_the_work_open():
    """The agent's own claim to be done does not close the work."""
    assert not is_finished(
        folded(Story(session_id="s").asked("Fix it.").replied("On it.", FAILING).replied("All done."))
    )
    assert not is_finished(folded(Story(session_id="s").asked("Fix it.")))


def test_a_session_without_a_prompt_is_not_finished():
    """A new transcript has no prompt yet."""
    assert not is_finished(State())
