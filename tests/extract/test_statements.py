"""What the agent said: decisions with their reason, findings, what was given up."""

import pytest

from leftoff.extract import statements
from leftoff.testing.builders import Story
from tests.extract.making import folded, told


def said(*replies: str) -> Story:
    story = Story().asked("Do the export.")
    for reply in replies:
        story.replied(reply)
    return story


@pytest.mark.parametrize(
    ("sentence", "decision", "reason"),
    [
        (
            "The store has no index, so I'm adding one to the importer.",
            "I'm adding one to the importer",
            "The store has no index",
        ),
        (
            "The store has no index, so I\u2019m adding one to the importer.",
            "I\u2019m adding one to the importer",
            "The store has no index",
        ),
        (
            "I'd go with the plain file because a database is one more thing to run.",
            "I'd go with the plain file",
            "because a database is one more thing to run",
        ),
        ("I went for `rg` rather than the slow `find` command here.", None, ""),
    ],
)
def test_a_decision_has_its_reason(sentence: str, decision: str | None, reason: str) -> None:
    """The clause before "so" or behind "because"; empty where none is given."""
    (made,) = told(said(sentence))["decisions"]
    assert made["decision"].removeprefix("so ") == (decision or sentence)
    assert made["rationale"] == reason


@pytest.mark.parametrize(
    "sentence",
    [
        "The root cause is that the importer reads the file twice.",
        "It turns out the worker already handles retries by itself.",
    ],
)
def test_a_finding_is_told(sentence: str) -> None:
    """In the agent's words."""
    assert sentence in told(said(sentence))["key_findings"]


def test_what_was_given_up_is_told_as_such() -> None:
    """So that nobody tries it again."""
    sentence = "The regular expression approach didn't work for nested brackets."
    assert f"Tried and given up: {sentence}" in told(said(sentence))["key_findings"]


@pytest.mark.parametrize(
    "sentence",
    [
        "Let me check the importer now.",
        "Should we use a database rather than a plain file here?",
        "Is the root cause really in the importer, or is it not?",
        "Short so I'm.",
        "I decided: the importer reads rather than writes here:",
        "The weather is fine and the importer runs as it did before.",
        "because " + "very long " * 50,
    ],
)
def test_progress_questions_and_talk_are_not_kept(sentence: str) -> None:
    """Nor what is too short or too long to be one."""
    log = told(said(sentence, "Now it runs."))
    assert (log["decisions"], log["key_findings"]) == ([], [])


def test_progress_with_a_reason_is_a_decision() -> None:
    """What is about to be done, and why."""
    made = told(said("Let me fix the importer instead of the store because it is older."))["decisions"]
    assert made[0]["rationale"] == "because it is older"


def test_what_lasts_is_kept_when_the_last_words_are_gone() -> None:
    """Decisions with telling words outlive the glimpses; the same words count once."""
    lasting = "I decided on a plain file because a database is one more thing to run."
    passing = "The tests pass when the importer is given a real file."
    story = said(lasting, passing)
    for number in range(300):
        story.replied(f"Step {number} of the work is behind us and nothing new came up.")
    texts = [each.text for each in statements.said(folded(story))]
    assert lasting in texts
    assert passing not in texts
    assert [each.text for each in statements.said(folded(said(lasting, lasting)))] == [lasting]


def test_the_end_of_a_turn_is_its_account() -> None:
    """Of each answered prompt the agent's last words are kept."""
    story = (
        Story()
        .asked("Do the export.")
        .replied("First I look.")
        .replied("The export writes CSV.")
        .asked("Thanks")
    )
    assert [each.text for each in folded(story).statements if each.kind == "summary"] == [
        "The export writes CSV."
    ]
