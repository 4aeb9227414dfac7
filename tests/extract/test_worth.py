"""Worth: what is kept when space is short."""

import pytest

from leftoff.extract import worth
from leftoff.extract.state import Command, File, Statement
from tests.extract.making import a_ref


def command(text: str, runs: int = 1, call: int = 0) -> Command:
    return Command(a_ref(), text, runs, 0, failed=False, call=call)


def file(*, reads: int = 0, edits: int = 0, call: int = 0, last="read") -> File:
    return File(a_ref(), "a.py", reads=reads, edits=edits, call=call, last=last)


def test_worth_fades_with_the_calls_made_since() -> None:
    """By halves; nothing is worth more than what just happened."""
    assert worth.recency(100, 100) == 1
    assert worth.recency(60, 100, 40) == 0.5
    assert worth.recency(120, 100) == 1


def test_files() -> None:
    """Changed above read, often above once, lately above long ago, deleted below living."""
    assert worth.of_file(file(edits=1), 10) > worth.of_file(file(reads=1), 10)
    assert worth.of_file(file(reads=5), 10) > worth.of_file(file(reads=1), 10)
    assert worth.of_file(file(reads=1, call=90), 100) > worth.of_file(file(reads=1), 100)
    assert worth.of_file(file(edits=3, last="deleted"), 10) < worth.of_file(file(edits=3), 10)


def test_commands() -> None:
    """Those that are run again, short ones, and checks of the work."""
    assert worth.of_command(command("ls -l", runs=4), 10) > worth.of_command(command("ls -l"), 10)
    assert worth.of_command(command("ls"), 10) > worth.of_command(command("ls " + "x" * 500), 10)
    assert worth.of_command(command("go test"), 10) > worth.of_command(command("go away"), 10)


@pytest.mark.parametrize(
    "text", ["make test", "cd src && go test ./...", "mise run test:ci", "uv run pytest -q", "npx tsc"]
)
def test_a_check_of_the_work(text: str) -> None:
    """Its failure is something to mend."""
    assert worth.is_check(command(text))


@pytest.mark.parametrize(
    "text", ["cat test.log", "grep test x", "git log", "", "rg build | head", "ls tests"]
)
def test_a_look_at_things_is_no_check(text: str) -> None:
    """However its words sound."""
    assert not worth.is_check(command(text))


def test_statements() -> None:
    """With a reason and with names above bare ones."""

    def said(text: str, reason: str = "") -> float:
        return worth.of_statement(Statement(a_ref(), "decision", text, reason, 1, 0), 10)

    assert said("x", "because") > said("x")
    assert said("`a` and `b`") > said("a and b")


def test_the_best_that_fit_in_their_own_order() -> None:
    """A large one that does not fit makes room for smaller ones behind it."""
    facts = ["aaaa", "b" * 50, "cc"]
    assert worth.best(facts, {"aaaa": 1, "b" * 50: 3, "cc": 2}.__getitem__, str, 20) == ["aaaa", "cc"]
    assert worth.best(facts, len, str, 1_000) == facts
    assert worth.best(facts, len, str, 0) == []
