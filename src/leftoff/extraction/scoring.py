"""Score facts and share out the space of a log: recency, use, staleness, and who said it.

A score only orders the facts of one section. How many characters a section may take is set by ``Shares``; what the sections leave
unused goes to the names of the recent work. docs/extraction.md has the table and the reasons.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from leftoff.extraction.phrases import LISTS, any_of
from leftoff.extraction.state import Command, File, State, Statement

_HALF_LIFE_CALLS = 40  # a fact loses half of its score in so many calls
_COMMAND_HALF_LIFE_CALLS = 80
_CHECK_KINDS = ("test", "build", "lint", "format", "types")
_KINDS_OF_WORD = {
    word: frozenset(kind for kind in _CHECK_KINDS if word in LISTS[f"check: {kind}"])
    for kind_of_list in _CHECK_KINDS
    for word in LISTS[f"check: {kind_of_list}"]
}
_LOOK_AROUND = frozenset(LISTS["look around"])
_ONLY_READS = re.compile(rf"(?:{any_of('only reads')})(?!\S)")
COMMAND_SEPARATOR = re.compile(r"&&|\|\||[;|\n]")
T = TypeVar("T")


def recency(call: int, now: int, half_life_calls: int = _HALF_LIFE_CALLS) -> float:
    """Return 1 for what just happened, 0.5 for what happened a half-life ago."""
    return math.pow(0.5, max(0, now - call) / half_life_calls)


def file_score(file: File, now: int) -> float:
    """Score a file: edits count more than reads, frequent use more than single use."""
    use = math.log2(2 + file.reads + 3 * file.edits)
    return (
        use * recency(file.call, now)
        + (0.5 if file.edits else 0.0)
        - (2.0 if file.last == "deleted" else 0.0)
    )


def command_score(command: Command, now: int) -> float:
    """Score a command by how likely it is to be run again: often run, short, or checking the work."""
    use = math.log2(1 + command.runs) + (1.0 if is_check(command) else 0.0)
    short = min(1.0, 80 / max(1, len(command.text)))  # a long one is seldom repeated exactly
    return use * (0.5 + recency(command.call, now, _COMMAND_HALF_LIFE_CALLS)) * (0.1 + 0.9 * short)


def is_check(command: Command) -> bool:
    """Return whether the command checks the work, so that its failure is something to fix."""
    return bool(check_kinds(command))


def check_kinds(command: Command) -> frozenset[str]:
    """Return what a command checks: test, build, lint, format, types; empty for a command that checks nothing."""
    return _check_kinds_of_text(command.text)


@lru_cache(maxsize=512)  # each command is asked about several times, and compared with the others
def _check_kinds_of_text(text: str) -> frozenset[str]:
    return frozenset[str]().union(
        *(_check_kinds_of_words(part.split()) for part in COMMAND_SEPARATOR.split(text))
    )


def _check_kinds_of_words(words: list[str]) -> frozenset[str]:
    """Look at the program and its first arguments only, not at paths: ``go test``, ``mise run test:ci``."""
    if not words or words[0] in _LOOK_AROUND:
        return frozenset()
    named = [word.split(":", 1)[0] for word in words[:4]]
    if words[0] == "make" and len(words) > 1:
        named = named[1:]  # its target says more
    return frozenset[str]().union(*(_KINDS_OF_WORD.get(word, frozenset()) for word in named))


def only_reads(command: str) -> bool:
    """Return whether a command changes no file, as ``ls`` and ``cat`` do; not if its output goes to a file."""
    parts = (part.strip() for part in COMMAND_SEPARATOR.split(command))
    return ">" not in command and all(_ONLY_READS.match(part) for part in parts if part)


def statement_score(statement: Statement, now: int) -> float:
    """Score a statement: recent ones, ones with a reason, and ones that name things."""
    names = statement.text.count("`") / 2
    return recency(statement.call, now) + (0.3 if statement.reason else 0.0) + min(0.4, 0.1 * names)


def select_best(
    facts: Sequence[T], score: Callable[[T], float], text: Callable[[T], str], chars: int
) -> list[T]:
    """Return the facts with the best scores whose texts fit into ``chars``, in the order in which they were given."""
    selected = []
    for number in sorted(range(len(facts)), key=lambda number: score(facts[number]), reverse=True):
        need = len(text(facts[number])) + 3  # the bullet and the line end
        if need <= chars:
            selected.append(number)
            chars -= need
    return [facts[number] for number in sorted(selected)]


def unresolved_failures(state: State) -> list[Command]:
    """Return the checks (tests, builds, linters) that failed when last run, unless a later check shows the failure is gone."""
    passed = [each for each in state.commands.values() if each.failed is False and is_check(each)]
    return [
        command
        for command in state.commands.values()
        if command.failed
        and is_check(command)
        and not any(later.call > command.call and _refutes(later.text, command.text) for later in passed)
    ]


def is_refuted(failed: str, state: State) -> bool:
    """Return whether a check of this session shows that an earlier failure of this command is gone."""
    return any(
        each.failed is False and is_check(each) and _refutes(each.text, failed)
        for each in state.commands.values()
    )


def _refutes(passed: str, failed: str) -> bool:
    """Return whether a passing check shows that a failure is gone: the same kind, and not of a smaller part.

    Tests build first, so passing tests refute a failed build.
    """
    kinds, passed_kinds = _check_kinds_of_text(failed), _check_kinds_of_text(passed)
    is_same_kind = bool(kinds & passed_kinds) or ("test" in passed_kinds and "build" in kinds)
    is_narrower = len(passed) > len(failed) and (
        passed.startswith(failed) or _command_family(passed) == _command_family(failed)
    )
    return is_same_kind and not is_narrower


def _command_family(command: str) -> str:
    """Return the program and its first argument, after any change of folder."""
    last = command.rsplit("&&", 1)[-1].strip() if command.startswith("cd ") else command
    return " ".join(last.split()[:2])


class Shares(NamedTuple):
    """How many characters each part of a log may take; ``total`` includes headings, ``rules`` are never given up for others."""

    total: int
    mission: int
    first_prompt: int
    last_prompt: int
    prompt: int  # any in between
    accounts: int  # summaries by the agent, finished to-dos, commits, checks, subagents
    account: int  # each of the last three summaries; older ones get half of it
    changed: int  # files created and changed, without the names in them
    findings: int
    decisions: int
    next_steps: int
    rules: int
    question: int  # of a question that the user answered
    files: int
    commands: int
    mentions: int
    names: int  # at most; less where the other parts leave less
    names_per_file: int
    has_full_paths: bool = True  # tools need full paths; a short log has paths below the project


FULL_LOG = Shares(
    total=31_000,
    mission=4_200,
    first_prompt=1_600,
    last_prompt=900,
    prompt=260,
    accounts=7_000,
    account=1_000,
    changed=2_200,
    findings=4_800,
    decisions=3_200,
    next_steps=2_000,
    rules=7_000,
    question=160,
    files=3_400,
    commands=2_600,
    mentions=600,
    names=12_500,
    names_per_file=36,
)
HOOK_TEXT = Shares(
    total=9_900,  # what the shares below were chosen for: the most that an agent takes from a hook
    mission=700,
    first_prompt=300,
    last_prompt=280,
    prompt=90,
    accounts=750,
    account=260,
    changed=650,
    findings=550,
    decisions=360,
    next_steps=560,
    rules=2_400,
    question=80,
    files=650,
    commands=1_000,
    mentions=120,
    names=9_000,
    names_per_file=24,
    has_full_paths=False,
)


def shares_for(max_chars: int | None) -> Shares:
    """Return the shares for a text of ``max_chars`` characters; None is the full log."""
    if max_chars is None or max_chars >= FULL_LOG.total:
        return FULL_LOG
    scale = max_chars / HOOK_TEXT.total
    scaled: dict[str, Any] = {name: int(value * scale) for name, value in HOOK_TEXT._asdict().items()}
    return Shares(**(scaled | {"names_per_file": HOOK_TEXT.names_per_file, "has_full_paths": False}))
