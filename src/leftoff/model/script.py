"""An invented session before any agent has written it down: samples, demo, bench and promises are made from it.

A script says what happened; an adapter's ``transcribe`` says how its agent would have written that to disk. Reading the
result back must give the same facts, which is what the promises of an adapter check.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias

from leftoff.model.records import Usage
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The user wrote a prompt."""

    text: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool was called and answered; ``answer`` is None when the call was interrupted."""

    tool: str
    input: JsonObject
    answer: str | None
    failed: bool = False
    image: bytes | None = None  # a PNG that stands in the answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """The model answered once: thoughts, words, and calls that ran side by side."""

    at: datetime
    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegated:
    """A subagent was given a task: its own small conversation, and what came back."""

    task: str
    steps: tuple[Replied, ...]
    answer: str
    at: datetime
    usage: Usage  # of the main reply that delegated


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """The agent replaced the conversation so far by a summary."""

    summary: str
    before_tokens: int
    after_tokens: int
    automatic: bool
    at: datetime


Event: TypeAlias = Asked | Replied | Delegated | Compacted


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A whole invented session. ``events`` may be endless in length, so it is read once, in order."""

    session_id: str
    project: str
    branch: str
    model: str
    window_tokens: int
    events: Iterable[Event]
