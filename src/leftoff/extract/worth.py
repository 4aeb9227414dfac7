"""What a fact is worth when space is short: recency, use, staleness, and who said it. docs/extraction.md has the table.

Worth only orders facts of one section; how much room a section has is the budget's business.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from leftoff.extract.state import Command, File, Statement

_HALF_LIFE_CALLS = 40  # a fact loses half of its worth while the agent makes so many calls
_COMMAND_HALF_LIFE_CALLS = 80
# What checks the work, by what it checks.
_CHECKS = {
    "test": "test tests pytest jest vitest tox nox ctest rspec phpunit verify ci check make",
    "build": "build tsc compile make check ci",
    "lint": "lint eslint biome ruff clippy vet golangci-lint check ci",
    "format": "fmt format prettier",
    "types": "mypy pyright tsc typecheck type-check check",
}
_KINDS = {
    word: frozenset(kind for kind, words in _CHECKS.items() if word in words.split())
    for words in _CHECKS.values()
    for word in words.split()
}
_LOOKS = frozenset(
    [
        "rg",
        "grep",
        "cat",
        "sed",
        "nl",
        "ls",
        "find",
        "head",
        "tail",
        "echo",
        "cd",
        "printf",
        "git",
        "gh",
        "wc",
        "which",
        "awk",
        "jq",
        "cp",
        "mv",
        "rm",
        "mkdir",
    ]
)
_PARTS = re.compile(r"&&|\|\||[;|\n]")

T = TypeVar("T")


def recency(call: int, now: int, half_life_calls: int = _HALF_LIFE_CALLS) -> float:
    """1 for what just happened, a half for what happened a half-life ago."""
    return math.pow(0.5, max(0, now - call) / half_life_calls)


def of_file(file: File, now: int) -> float:
    """Files that were changed matter more than files that were read, and often more than once."""
    use = math.log2(2 + file.reads + 3 * file.edits)
    return (
        use * recency(file.call, now)
        + (0.5 if file.edits else 0.0)
        - (2.0 if file.last == "deleted" else 0.0)
    )


def of_command(command: Command, now: int) -> float:
    """Commands that are run again and again, short ones, and those that check the work, will be run once more."""
    use = math.log2(1 + command.runs) + (1.0 if is_check(command) else 0.0)
    short = min(1.0, 80 / max(1, len(command.text)))  # a long one is seldom repeated to the letter
    return use * (0.5 + recency(command.call, now, _COMMAND_HALF_LIFE_CALLS)) * (0.1 + 0.9 * short)


def is_check(command: Command) -> bool:
    """Whether the command checks the work, so that its failure is something to mend; a failed look at things is not."""
    return bool(kinds_of_check(command))


def kinds_of_check(command: Command) -> frozenset[str]:
    """What it checks; empty for what is no check."""
    return _kinds_in(command.text)


@lru_cache(maxsize=512)  # each command is asked about several times, and held against the others
def _kinds_in(text: str) -> frozenset[str]:
    return frozenset[str]().union(*(_kinds(part.split()) for part in _PARTS.split(text)))


def _kinds(words: list[str]) -> frozenset[str]:
    """By the program and what it is told to do, not by the paths it is given: ``go test``, ``mise run test:ci``."""
    if not words or words[0] in _LOOKS:
        return frozenset()
    named = [word.split(":", 1)[0] for word in words[:4]]
    if words[0] == "make" and len(words) > 1:
        named = named[1:]  # what it makes tells more
    return frozenset[str]().union(*(_KINDS.get(word, frozenset()) for word in named))


def of_statement(statement: Statement, now: int) -> float:
    """What was said lately, gives a reason, and names things."""
    names = statement.text.count("`") / 2
    return recency(statement.call, now) + (0.3 if statement.reason else 0.0) + min(0.4, 0.1 * names)


def best(facts: Sequence[T], worth: Callable[[T], float], text: Callable[[T], str], chars: int) -> list[T]:
    """The worthiest that fit into so many characters, in the order in which they were given."""
    order = sorted(range(len(facts)), key=lambda number: worth(facts[number]), reverse=True)
    return [facts[number] for number in sorted(_fitting(order, [text(fact) for fact in facts], chars))]


def _fitting(order: Iterable[int], texts: Sequence[str], chars: int) -> list[int]:
    kept, left = [], chars
    for number in order:
        need = len(texts[number]) + 3  # the bullet and the line end
        if need <= left:
            kept.append(number)
            left -= need
    return kept
