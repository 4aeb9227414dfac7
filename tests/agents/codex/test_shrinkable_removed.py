"""What cuts took out of events is found again in the ancestors: the right one of several, whole, and only what was cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.codex import Codex
from leftoff.core.trim_plan import CopyOrder, RemovedContent, RestoredPart
from leftoff.core.wire import JsonObject

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


def restored_output(codex: Codex, here: Path, ancestors: Sequence[Path]) -> dict[int, Any]:
    """Return the output that each line of the session gets back."""
    left_out = codex.left_out(codex.open(here), ancestors)
    return {part.place.line_idx: json.loads(part.raw)["payload"]["stdout"] for part in left_out.parts}


def test_of_several_equal_events_each_gets_its_own_content(codex: Codex, written: Rollout) -> None:
    """Events with the same time, type and call are matched by their order."""
    parent = written(PARENT, shows("first " * 99), shows("second " * 99), shows("third " * 99))
    here = written(HERE, shows(SHORT), shows("second " * 99), shows(SHORT))
    assert restored_output(codex, here, [parent]) == {1: "first " * 99, 3: "third " * 99}


def test_the_oldest_ancestor_counts(codex: Codex, written: Rollout) -> None:
    """One that came later may show less of it, cut already, and still more than the session."""
    oldest = written(GRANDPARENT, shows("whole " * 99))
    later = written(PARENT, shows("partly " * 9))
    here = written(HERE, shows(SHORT))
    assert restored_output(codex, here, [oldest, later]) == {1: "whole " * 99}


def test_content_that_was_not_cut_is_not_restored(codex: Codex, written: Rollout) -> None:
    """An event does not get the output of another call either."""
    parent = written(PARENT, shows("same"), shows("less", "c2"), shows("other " * 99, "c3"))
    here = written(HERE, shows("same"), shows("more than it was", "c2"), shows(SHORT, "c4"))
    assert restored_output(codex, here, [parent]) == {}
    assert codex.left_out(codex.open(here), []) == RemovedContent()


def test_an_unreadable_ancestor_does_not_hide_the_others(codex: Codex, written: Rollout) -> None:
    parent = written(PARENT, shows("whole " * 99))
    here = written(HERE, shows(SHORT))
    assert restored_output(codex, here, [parent.with_name("gone.jsonl"), parent]) == {1: "whole " * 99}


def test_bytes_that_are_not_an_object_restore_nothing(codex: Codex, written: Rollout) -> None:
    """An event is left alone if its ancestor was changed after it was read."""
    here = written(HERE, shows(SHORT))
    place = next(record.place for record in codex.read(here) if record.place.line_idx == 1)
    left_out = RemovedContent(parts=(RestoredPart(place=place, raw=b""),))
    copy = codex.write_copy(codex.open(here), (), CopyOrder(at=AT, metadata={}, left_out=left_out))
    assert json.loads(copy.transcript.read_bytes().splitlines()[1]) == shows(SHORT)
