"""What the user types for leftoff ("continue project 1", "save progress", ``>pin``) is never a request in a log."""

import json

import pytest

from leftoff.core.own_phrases import HANDED_OVER
from leftoff.core.records import RecordKind
from leftoff.extraction import State, is_finished, render, step
from leftoff.testing.builders import Story, call
from tests.extraction.builders import PLAIN, folded, record, session_state_of, through_json

LISTING = call("shell", {"command": "ls"}, "a.py")
PHRASES = [
    "continue project 1",
    "Continue  project #12!",
    'continue project "Skills Research"',
    "save progress",
    "Save progress.",
    "Done for today!",
    ">pickup 2",
    ">handoff",
    ">trim yes",
]


def said(log: dict) -> str:
    """Return all that a log says, apart from where the items come from."""
    return json.dumps({key: value for key, value in log.items() if key != "sources"}).lower()


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("is_answered", [True, False])
def test_a_phrase_for_leftoff_is_neither_mission_nor_request_nor_next_step(phrase, is_answered):
    """It stays out wherever it was typed: first, in between and last."""
    for prompts in (
        [phrase],
        [phrase, "Fix the parser"],
        ["Fix the parser", phrase],
        ["Fix the parser", phrase, "yes", phrase],
    ):
        story = Story()
        for prompt in prompts:
            story.asked(prompt).replied("Saved, of course.", LISTING)
        if is_answered:
            story.replied("There it is.")
        log = session_state_of(story)
        assert phrase.lower() not in said(log)
        assert "fix the parser" in log["mission_summary"].lower() or "Fix the parser" not in prompts


def test_a_session_that_only_continues_a_project_says_which():
    """The mission names the project, and so does the next step while the work is under way."""
    log = session_state_of(Story().asked("continue project 24").replied("On it.", LISTING))
    assert log["mission_summary"] == "The user had project 24 continued; its _resume.md says what it is for."
    assert log["next_steps"][0] == "The next task of project 24 is in its _resume.md"


def test_an_answered_request_is_not_reopened_by_continuing_a_project():
    """Work on the project has followed it."""
    story = Story().asked("Fix the typo").replied("Fixed.").asked("continue project 1").replied("", LISTING)
    assert session_state_of(story)["next_steps"][0] == "The next task of project 1 is in its _resume.md"


def test_saving_in_the_middle_of_a_request_leaves_the_request_open():
    story = Story().asked("Fix the parser").replied("", LISTING).asked("save progress").replied("", LISTING)
    assert "“Fix the parser”" in session_state_of(story)["next_steps"][0]


@pytest.mark.parametrize(
    "prompt", ["continue project planning", "continue project 1 and fix it", "save progress bars"]
)
def test_words_that_only_resemble_a_phrase_are_a_request(prompt):
    """Only leftoff's own answer makes an unquoted name the name of a project."""
    log = session_state_of(Story().asked(prompt).replied("", LISTING))
    assert prompt in log["mission_summary"]
    assert prompt in log["next_steps"][0]


def test_an_unquoted_name_that_leftoff_answered_is_a_project():
    """The state keeps it when it is written and read."""
    handed_over = json.dumps({"content": f"{HANDED_OVER} A record, quoted."}).encode() + b"\n"
    records = [
        record(RecordKind.PROMPT, "continue project Skills Research", line=0),
        record(RecordKind.CONTEXT, HANDED_OVER, line=1, raw=handed_over),
        record(RecordKind.REPLY, "On it.", line=2),
    ]
    state = through_json(step(State(), records, PLAIN))
    assert "continue project" not in said(render(state))
    assert "project Skills Research" in render(state)["mission_summary"]


def test_a_session_without_any_answer_is_not_finished():
    assert not is_finished(folded(Story().asked("save progress")))


def test_a_phrase_is_no_rule():
    story = Story().asked("done for today").replied("You're right, I should stop.")
    assert "user_rules" not in session_state_of(story)["critical_context"]
