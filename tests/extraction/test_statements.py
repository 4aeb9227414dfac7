"""Statements of the agent: decisions with their reason, findings, what was given up."""

import pytest

from leftoff.extraction import statements
from leftoff.testing.builders import Story
from tests.extraction.builders import folded, session_state_of


def story_with_replies(*replies: str) -> Story:
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
    """The reason is the clause before "so" or from "because" on; empty where none is given."""
    (entry,) = session_state_of(story_with_replies(sentence))["decisions"]
    assert entry["decision"].removeprefix("so ") == (decision or sentence)
    assert entry["rationale"] == reason


@pytest.mark.parametrize(
    "sentence",
    [
        "The root cause is that the importer reads the file twice.",
        "It turns out the worker already handles retries by itself.",
    ],
)
def test_a_finding_is_extracted(sentence: str) -> None:
    """A finding is kept in the agent's own words."""
    assert sentence in session_state_of(story_with_replies(sentence))["key_findings"]


def test_abandoned_attempts_are_extracted() -> None:
    """The next session must not try them again."""
    sentence = "The regular expression approach didn't work for nested brackets."
    assert f"Tried and given up: {sentence}" in session_state_of(story_with_replies(sentence))["key_findings"]


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
def test_progress_questions_and_small_talk_are_ignored(sentence: str) -> None:
    """Sentences that are too short or too long are ignored too."""
    log = session_state_of(story_with_replies(sentence, "Now it runs."))
    assert (log["decisions"], log["key_findings"]) == ([], [])


def test_progress_with_a_reason_is_a_decision() -> None:
    """A sentence that says what is about to be done, and why, is a decision."""
    decisions = session_state_of(
        story_with_replies("Let me fix the importer instead of the store because it is older.")
    )["decisions"]
    assert decisions[0]["rationale"] == "because it is older"


def test_lasting_statements_outlive_the_recent_texts() -> None:
    """Decisions are kept longer than passing remarks, and the same words count once."""
    lasting = "I decided on a plain file because a database is one more thing to run."
    passing = "The tests pass when the importer is given a real file."
    story = story_with_replies(lasting, passing)
    for number in range(300):
        story.replied(f"Step {number} of the work is behind us and nothing new came up.")
    texts = [each.text for each in statements.all_statements(folded(story))]
    assert lasting in texts
    assert passing not in texts
    assert [
        each.text for each in statements.all_statements(folded(story_with_replies(lasting, lasting)))
    ] == [lasting]


def test_the_last_text_of_a_turn_is_its_summary() -> None:
    """A summary is kept for each answered prompt."""
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
