"""AutoPauseHandler on the usage of every reply of real transcripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import leftoff

pytestmark = pytest.mark.slow
_COMPARED = 20  # every so many replies: measuring is slow


def test_the_handler_says_what_measure_says_and_pauses_at_the_first_reply_from_90_percent_on(
    real_transcripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each transcript grows line by line, as in a live session; the handler gets each reply's usage as it is in the file."""
    monkeypatch.setenv("LEFTOFF_RESUME_LOGS_ENABLED", "false")
    fed = compared = paused = 0
    for number, source in enumerate(sorted(real_transcripts.rglob("*.jsonl"))):
        lines = source.read_bytes().splitlines(keepends=True)
        if not any(_usage(line) for line in lines):
            continue
        budget = leftoff.measure(leftoff.open_session(str(source))).total_budget
        assert budget is not None
        monkeypatch.setenv("LEFTOFF_BUDGET_TOTAL", str(budget))
        project = tmp_path / f"project-{number}"
        project.mkdir()
        handler = leftoff.AutoPauseHandler(project)
        growing = tmp_path / source.name
        with growing.open("wb") as copy:
            highest = 0.0
            for line in lines:
                copy.write(line)
                usage = _usage(line)
                if usage is None:
                    continue
                handler.on_usage_update(usage)
                state = handler.tracker.get_current_state()
                fed += 1
                highest = max(highest, state.percentage_used)
                assert handler.is_pause_active() is (highest >= 90), f"{source.name}: {highest} %"
                if fed % _COMPARED:
                    continue
                copy.flush()
                metrics = leftoff.measure(leftoff.open_session(str(growing)))
                if metrics.basis == "reported":
                    assert state.used_tokens == metrics.used_tokens, source.name
                    compared += 1
                # Where the agent compacts is known only after its first compaction.
                if metrics.basis == "reported" and metrics.total_budget == budget:
                    assert state.percentage_used == metrics.percentage_used, source.name
        growing.unlink()
        paused += handler.is_pause_active()
    assert not caplog.records
    assert fed
    assert compared >= fed / _COMPARED / 2
    assert paused


def _usage(line: bytes) -> Any:
    """Return the usage of a reply of the main conversation; None if the line holds none."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    match record:
        case {"isSidechain": True} | {"message": {"model": "<synthetic>"}}:
            return None
        case {"type": "assistant", "message": {"usage": dict(usage)}}:
            return usage
        case {
            "type": "event_msg",
            "payload": {"type": "token_count", "info": {"last_token_usage": dict(usage)}},
        }:
            return usage
        case _:
            return None
