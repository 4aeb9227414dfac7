"""Polishing: a summariser may say things better; it adds nothing, loses nothing, and never sees the user's words."""

import pytest

from leftoff.errors import ProcessError
from leftoff.model.protocols import Summariser
from leftoff.resume_logs.polish import polish, says_the_same
from leftoff.summarisers.rules import Rules
from tests.restore.logs import full, log


class Answers:
    """A summariser that keeps the protocol: gives its answers one after the other, and remembers the prompts."""

    def __init__(self, *answers: str | Exception):
        self.answers, self.prompts = [*answers], []

    def summarise(self, prompt: str, *, timeout_seconds: float) -> str:
        self.prompts.append(prompt)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def polished(of, *answers):
    model: Summariser = Answers(*answers)
    return polish(of, model, timeout_seconds=5), model


def test_what_says_the_same_is_taken():
    """Each item under its own key, decisions and reasons too; sources and the rest stay."""
    of = log(
        accomplishments=["There was written the file src/a.py by us", "kept"],
        decisions=[
            {"decision": "We took one script", "rationale": "It is so that two calls race"},
            {"decision": "x"},
        ],
    )
    done, _ = polished(
        of, "Sure!\n[a0] Written: src/a.py\n- [d0] One script\n[r0]   Two calls race\n[x9] new\n[a7] new"
    )
    assert done.log.accomplishments == ["Written: src/a.py", "kept"]
    assert done.log.decisions == [
        {"decision": "One script", "rationale": "Two calls race"},
        {"decision": "x"},
    ]
    assert (done.rephrased, done.refused, done.trouble) == (3, 0, "")
    assert done.log.sources == of.sources


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("Changed src/a.py and src/b.py", "src/a.py and src/b.py changed", True),
        ("Changed src/a.py and src/b.py", "src/a.py changed", False),
        ("Changed src/a.py", "src/a.py, src/b.py changed", False),
        ("It takes 12 s", "Takes 13 s", False),
        ("It takes 12 s", "It takes long", False),
        ("`make` is not run", "`make` is run", False),
        ("`make` runs", "`make` never runs", False),
        ("It doesn't work", "It does not work", True),
        ("Short", "Short, and deployed to production as well", False),
        (
            "All tests pass, including integration tests.",
            "All tests fail, including integration tests.",
            False,
        ),
        (
            "All tests pass, including integration tests.",
            "All the tests pass, including integration tests.",
            True,
        ),
        (
            "All tests pass, including integration tests.",
            "The tests pass, including integration tests.",
            False,
        ),
        ("Indented with tabs", "Indented with spaces", False),
        ("Chose tabs over spaces", "Chose spaces over tabs", False),
        ("The branch was merged", "The branch was reverted", False),
        ("Merged the parser, reverted the lexer", "Merged the lexer, reverted the parser", False),
        ("The bug is fixed", "The bug is broken", False),
        ("Added the flag", "Removed the flag", False),
        ("Deploy the service", "Deployed the service", False),
        ("The migration is still open", "The migration is done", False),
        ("It cannot work", "It can not work", True),
        ("It cannot work", "It can work", False),
        ("We moved the parser of the lexer", "Moved the lexer's parser", True),
        ("Only one of the cases works", "One of the cases works", False),
        ("Use it or leave it", "Use it and leave it", False),
        ("The user said “keep the old port” there", "The user said “keep the port” there", False),
    ],
)
def test_only_what_says_the_same_may_stand_for_it(old, new, same):
    """The same exact things, no new word, nothing turned round, and no longer."""
    assert says_the_same(old, new) is same


def test_an_answer_that_adds_is_refused_and_the_rules_version_stands():
    """Item by item: a good one beside it is taken."""
    of = log(next_steps=["Now move the refill", "Now run `make`"])
    done, _ = polished(of, "[n0] Move the refill to src/evil.py\n[n1] Run `make`")
    assert done.log.next_steps == ["Now move the refill", "Run `make`"]
    assert (done.rephrased, done.refused) == (1, 1)


def test_the_users_words_are_never_sent():
    """Mission, rules, pins, critical context, and items that quote a rule; nor texts of several lines."""
    of = log(
        mission_summary="secret mission",
        accomplishments=["obeyed never push to main", "code:\n  x", "fine", " "],
        critical_context={
            "user_rules": ["never push to main"],
            "pins": ["pinned words"],
            "commands": ["`cmd`"],
        },
    )
    _, model = polished(of, "[a2] fine")
    assert "[a2] fine" in model.prompts[0]
    for words in ("secret mission", "never push", "pinned words", "`cmd`", "[a0]", "[a1]", "[a3]"):
        assert words not in model.prompts[0]


def test_one_retry_then_the_rules_version_stands():
    """A failure is told, and is no failure of the log."""
    failed = ProcessError("model: no answer")
    done, model = polished(full(), failed, failed)
    assert (done.log, done.rephrased, done.trouble, len(model.prompts)) == (full(), 0, "model: no answer", 2)
    done, model = polished(full(), failed, "[n0] Step 0: move the refill to the script")
    assert (done.log.next_steps[0], done.trouble) == ("Step 0: move the refill to the script", "")
    done, model = polished(full(), "I am sorry", "No.")
    assert (done.log, done.trouble, len(model.prompts)) == (full(), "The answer held none of the notes.", 2)


def test_a_log_without_prose_asks_nobody():
    """There is nothing to say better."""
    done, model = polished(log())
    assert (done.log, model.prompts) == (log(), [])


def test_the_rules_change_nothing():
    """They give back what they are given."""
    done = polish(full(), Rules(), timeout_seconds=1)
    assert (done.log, done.rephrased, done.refused, done.trouble) == (full(), 0, 0, "")
