"""What cuts took out of events is found again in the ancestors: the right one of several, whole, and only what was cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.codex import Codex
from leftoff.model.copying import CopyOrder, LeftOut, Rejoined
from leftoff.model.wire import JsonObject

AT = datetime(2026, 1, 6, 12, tzinfo=UTC)
SHORT = "[suppressed]"
HERE, PARENT, GRANDPARENT = (f"01a1e0be-dee8-7b23-ae31-94e01237340{number}" for number in (0, 1, 2))
Rollout = Callable[..., Path]


def shows(output: str, call: str = "c1") -> JsonObject:
    """An event that shows what a call answered."""
    return {
        "timestamp": "2026-01-06T12:00:01.000Z",
        "type": "event_msg",
        "payload": {"type": "exec_command_end", "call_id": call, "stdout": output},
    }


@pytest.fixture
def written(rollout: Rollout) -> Rollout:
    """A rollout of these events."""

    def write(thread: str, *events: JsonObject) -> Path:
        meta = {"id": thread, "timestamp": "t", "cwd": "/p", "cli_version": "0.166.0", "source": "cli"}
        head = {"timestamp": "t", "type": "session_meta", "payload": meta}
        return rollout([head, *events], thread)

    return write


def found(codex: Codex, here: Path, ancestors: Sequence[Path]) -> dict[int, Any]:
    """What each line of the session is given back."""
    left_out = codex.left_out(codex.open(here), ancestors)
    return {part.place.line_idx: json.loads(part.raw)["payload"]["stdout"] for part in left_out.parts}


def test_of_several_alike_each_gets_its_own(codex: Codex, written: Rollout) -> None:
    """The same time, type and call: then it is known by which of them it is."""
    parent = written(PARENT, shows("first " * 99), shows("second " * 99), shows("third " * 99))
    here = written(HERE, shows(SHORT), shows("second " * 99), shows(SHORT))
    assert found(codex, here, [parent]) == {1: "first " * 99, 3: "third " * 99}


def test_what_the_oldest_ancestor_shows_counts(codex: Codex, written: Rollout) -> None:
    """One that came later may show less of it, cut already, and still more than the session."""
    oldest = written(GRANDPARENT, shows("whole " * 99))
    later = written(PARENT, shows("partly " * 9))
    here = written(HERE, shows(SHORT))
    assert found(codex, here, [oldest, later]) == {1: "whole " * 99}


def test_what_is_the_same_or_was_less_is_not_given_back(codex: Codex, written: Rollout) -> None:
    """Neither does one get what another call showed."""
    parent = written(PARENT, shows("same"), shows("less", "c2"), shows("other " * 99, "c3"))
    here = written(HERE, shows("same"), shows("more than it was", "c2"), shows(SHORT, "c4"))
    assert found(codex, here, [parent]) == {}
    assert codex.left_out(codex.open(here), []) == LeftOut()


def test_an_ancestor_that_cannot_be_read_keeps_nothing_of_the_others_back(
    codex: Codex, written: Rollout
) -> None:
    """It has nothing to give."""
    parent = written(PARENT, shows("whole " * 99))
    here = written(HERE, shows(SHORT))
    assert found(codex, here, [parent.with_name("gone.jsonl"), parent]) == {1: "whole " * 99}


def test_bytes_that_are_no_object_give_nothing_back(codex: Codex, written: Rollout) -> None:
    """Where an ancestor was changed after it was looked at: the event stays as it is."""
    here = written(HERE, shows(SHORT))
    place = next(record.place for record in codex.read(here) if record.place.line_idx == 1)
    left_out = LeftOut(parts=(Rejoined(place=place, raw=b""),))
    copy = codex.write_copy(codex.open(here), (), CopyOrder(at=AT, metadata={}, left_out=left_out))
    assert json.loads(copy.transcript.read_bytes().splitlines()[1]) == shows(SHORT)
