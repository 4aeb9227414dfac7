"""A pause of five minutes with all types of action, and the context of its snapshot."""

from __future__ import annotations

from datetime import UTC, datetime

from leftoff.core.provenance import Ground
from leftoff.pause.journal import Line, Origin, PauseAction, Recording, first_action
from leftoff.pause.snapshot import SnapshotContext

ID = "session-20260106-120000"
BEGAN = datetime(2026, 1, 6, 12, 0, tzinfo=UTC)
ENDED = datetime(2026, 1, 6, 12, 5, tzinfo=UTC)


def action(type_: str, minute: int, fraction: float, **data: object) -> PauseAction:
    return PauseAction(type_, f"2026-01-06T12:{minute:02}:00Z", ID, data, fraction)


def recorded(*actions: PauseAction, bad: bytes | None = None) -> Recording:
    lines = [Line(each.to_json_line().encode(), each) for each in actions]
    return Recording(lines=tuple(lines) + ((Line(bad, None),) if bad else ()), modified_at=ENDED)


def wind_down() -> Recording:
    origin = Origin(
        agent="sample",
        session_id="0b54f7aa",
        transcript="/home/dev/t.jsonl",
        offset=9,
        project="/home/dev/shop",
    )
    return recorded(
        first_action(ID, 0.9, {"percentage_used": 90.0}, BEGAN, extra={"origin": origin.to_dict()}),
        action(
            "tool_call", 1, 0.91, tool="Read", args={"file_path": "src/main.py"}, result_summary="150 lines"
        ),
        action(
            "assistant_response",
            2,
            0.92,
            summary="Found the two places where the lock is missing: 見つけた",
            length=1840,
        ),
        action("user_message", 3, 0.93, message="What have we done so far?\n## not a heading"),
        action("system_event", 4, 0.93, event="memory_warning", available_mb=500),
        bad=b'{"type": "tool_call", "timest',
    )


def context() -> SnapshotContext:
    return SnapshotContext(
        paused_at=ENDED,
        project="/home/dev/shop",
        ground=Ground(head="8671663aa0", branch="fix/lock", dirty=("src/main.py", "tests/test_lock.py")),
        reason="compaction",
        message="Stopped before the migration.",
        used_tokens=186_000,
        total_tokens=200_000,
        session_state={
            "mission_summary": "Find out why orders are taken twice.",
            "next_steps": ["Take the lock in bucket.py", "Run the tests"],
            "accomplishments": ["Reproduced it with two clients"],
        },
    )
