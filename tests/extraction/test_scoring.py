"""Scores decide what is kept when space is short."""

import pytest

from leftoff.config.settings import MAX_HOOK_CHARS
from leftoff.extraction import scoring
from leftoff.extraction.state import Command, File, Statement
from tests.extraction.builders import a_ref


def command(text: str, runs: int = 1, call: int = 0) -> Command:
    return Command(a_ref(), text, runs, 0, failed=False, call=call)


def file(*, reads: int = 0, edits: int = 0, call: int = 0, last="read") -> File:
    return File(a_ref(), "a.py", reads=reads, edits=edits, call=call, last=last)


def test_recency_halves_with_the_calls_since() -> None:
    """Nothing scores higher than what just happened."""
    assert scoring.recency(100, 100) == 1
    assert scoring.recency(60, 100, 40) == 0.5
    assert scoring.recency(120, 100) == 1


def test_file_scores() -> None:
    """Changed above read, frequent above single use, recent above old, deleted below all."""
    assert scoring.file_score(file(edits=1), 10) > scoring.file_score(file(reads=1), 10)
    assert scoring.file_score(file(reads=5), 10) > scoring.file_score(file(reads=1), 10)
    assert scoring.file_score(file(reads=1, call=90), 100) > scoring.file_score(file(reads=1), 100)
    assert scoring.file_score(file(edits=3, last="deleted"), 10) < scoring.file_score(file(edits=3), 10)


def test_command_scores() -> None:
    assert scoring.command_score(command("ls -l", runs=4), 10) > scoring.command_score(command("ls -l"), 10)
    assert scoring.command_score(command("ls"), 10) > scoring.command_score(command("ls " + "x" * 500), 10)
    assert scoring.command_score(command("go test"), 10) > scoring.command_score(command("go away"), 10)


@pytest.mark.parametrize(
    "text", ["make test", "cd src && go test ./...", "mise run test:ci", "uv run pytest -q", "npx tsc"]
)
def test_checks_are_recognised(text: str) -> None:
    """The failure of a check is something to fix."""
    assert scoring.is_check(command(text))


@pytest.mark.parametrize(
    "text", ["cat test.log", "grep test x", "git log", "", "rg build | head", "ls tests"]
)
def test_looking_around_is_not_a_check(text: str) -> None:
    """Commands that only mention tests are not checks."""
    assert not scoring.is_check(command(text))


def test_statement_scores() -> None:
    """A reason and names score higher."""

    def score_of(text: str, reason: str = "") -> float:
        return scoring.statement_score(Statement(a_ref(), "decision", text, reason, 1, 0), 10)

    assert score_of("x", "because") > score_of("x")
    assert score_of("`a` and `b`") > score_of("a and b")


def test_the_best_facts_that_fit_keep_their_order() -> None:
    """A large fact that does not fit leaves space for smaller ones."""
    facts = ["aaaa", "b" * 50, "cc"]
    assert scoring.select_best(facts, {"aaaa": 1, "b" * 50: 3, "cc": 2}.__getitem__, str, 20) == [
        "aaaa",
        "cc",
    ]
    assert scoring.select_best(facts, len, str, 1_000) == facts
    assert scoring.select_best(facts, len, str, 0) == []


def test_the_shares_of_a_hook_text_are_chosen_for_the_size_of_one() -> None:
    """Extraction imports no settings, so it has the number itself."""
    assert scoring.shares_for(MAX_HOOK_CHARS) == scoring.HOOK_TEXT
