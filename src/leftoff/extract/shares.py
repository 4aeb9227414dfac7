"""How many characters each part of what is told may take: for the whole log, and for what a hook can hand over.

What a part leaves unused goes to the names in play, which are told with their files. docs/extraction.md has the reasons.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from leftoff.model.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Characters. ``total`` is what all of it may take, headings included; ``rules`` stand whatever else there is."""

    total: int
    mission: int
    first_prompt: int
    last_prompt: int
    prompt: int  # any in between
    accounts: int  # what the agent says it has done, finished todos, commits, checks, subagents
    account: int  # one of the last three; older ones half of it
    changed: int  # files created and changed, without their names
    findings: int
    decisions: int
    next_steps: int
    rules: int
    question: int  # of a question that the user answered
    files: int
    commands: int
    mentions: int
    names: int  # at most; and what the others leave
    names_per_file: int
    has_full_paths: bool = True  # a tool wants the full path; where room is short, the one below the project


WHOLE = Shares(
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
HOOK = Shares(
    total=9_900,
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


def within(max_chars: int | None) -> Shares:
    """The shares of a text of so many characters; None: the whole log."""
    if max_chars is None or max_chars >= WHOLE.total:
        return WHOLE
    scale = max_chars / 9_900
    sized: dict[str, Any] = {each.name: int(getattr(HOOK, each.name) * scale) for each in fields(HOOK)}
    return Shares(**(sized | {"names_per_file": HOOK.names_per_file, "has_full_paths": False}))
