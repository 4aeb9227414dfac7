"""Usage in, a pause out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import leftoff
from leftoff.errors import UsageError

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def handler():
    return leftoff.AutoPauseHandler()


def usage(input_tokens, output_tokens=0, **more):
    return {"input_tokens": input_tokens, "output_tokens": output_tokens, **more}


def test_each_threshold_is_reported_once_when_it_is_crossed(handler):
    """The pause begins at 90 %."""
    crossed = [
        handler.on_usage_update(usage(tokens))
        for tokens in (130_000, 10_000, 1_000, 30_000, 10_000, 500, 10_000)
    ]
    assert crossed == [None, "caution", None, "warning", "auto_pause", None, "critical"]
    assert handler.is_pause_active()


def test_the_usage_of_a_reply_can_be_handed_on_as_it_came(handler):
    """The API's own field names for cached tokens are accepted."""
    handler.on_usage_update(
        usage(5, 6, cache_creation_input_tokens=7, cache_read_input_tokens=8, service_tier="standard")
    )
    state = handler.tracker.get_current_state()
    assert (state.cumulative_input_tokens, state.cumulative_output_tokens) == (5, 6)
    assert (state.cache_creation_tokens, state.cache_read_tokens) == (7, 8)
    with pytest.raises(UsageError, match="a whole number of tokens"):
        handler.on_usage_update(usage("many"))
    with pytest.raises(ValueError, match="never negative"):
        handler.on_usage_update(usage(-1))


def test_before_the_pause_nothing_is_recorded(handler):
    """Before a pause nothing is written and nothing fails."""
    handler.on_tool_call("Read", {"path": "a"})
    handler.on_assistant_response("hello")
    handler.on_user_message("hi")
    assert handler.on_session_end() is None
    assert not (Path.cwd() / ".leftoff").exists()


def test_the_wind_down_is_recorded_and_finalised_at_the_end(handler):
    """A tool call with its arguments and result, a reply by its first 200 characters, a user's words in full."""
    handler.on_usage_update(usage(181_000))
    handler.on_tool_call("Read", {"file_path": "/src/main.py"})
    handler.on_tool_call("Bash", {"command": "pytest"}, result={"exit": 0})
    handler.on_assistant_response("x" * 500)
    handler.on_user_message("y" * 500)
    actions = handler.pause_manager.get_recorded_actions()[1:]
    assert [each.data for each in actions] == [
        {"tool": "Read", "args": {"file_path": "/src/main.py"}, "result_summary": None},
        {"tool": "Bash", "args": {"command": "pytest"}, "result_summary": "{'exit': 0}"},
        {"summary": "x" * 200, "length": 500},
        {"message": "y" * 500},
    ]
    assert {each.context_percentage for each in actions} == {0.905}
    path = handler.on_session_end()
    assert json.loads(path.read_text("utf-8"))["reason"] == "session end"
    assert not handler.is_pause_active()


def test_a_credential_at_the_cut_is_removed_first(handler):
    handler.on_usage_update(usage(181_000))
    handler.on_assistant_response("x" * 189 + " " + SECRET)
    handler.on_tool_call("Bash", {"command": "y" * 389 + " " + SECRET}, result="z" * 189 + " " + SECRET)
    assert "ghp_" not in (Path.cwd() / ".leftoff/sessions/ACTIVE-PAUSE.jsonl").read_text("utf-8")


def test_a_stop_is_not_an_end(handler):
    """There is no call for it; the pause continues over any number of turns."""
    handler.on_usage_update(usage(181_000))
    for turn in range(5):
        handler.on_assistant_response(f"turn {turn}")
        handler.on_usage_update(usage(10))
    assert len(handler.pause_manager.get_recorded_actions()) == 6
    assert not hasattr(handler, "on_stop")


def test_three_compactions_make_three_snapshots(handler):
    """Each ends its wind-down; between them nothing is recorded; the next crossing starts a new one."""
    snapshots = []
    for turn in range(3):
        handler.on_tool_call("Unrecorded", {})
        assert handler.on_usage_update(usage(181_000)) == "auto_pause"
        handler.on_user_message(f"turn {turn}")
        snapshots.append(json.loads(handler.on_compaction().read_text("utf-8")))
        assert handler.on_compaction() is None
    assert [each["user_messages"][0]["message"] for each in snapshots] == ["turn 0", "turn 1", "turn 2"]
    assert [each["incremental_pause"]["action_count"] for each in snapshots] == [3, 3, 3]
    assert [each["reason"] for each in snapshots] == ["compaction"] * 3


def test_two_handlers_record_into_one_pause(handler):
    """The second handler to cross the threshold joins the running pause."""
    other = leftoff.AutoPauseHandler(Path.cwd())
    handler.on_usage_update(usage(181_000))
    assert other.on_usage_update(usage(185_000)) == "auto_pause"
    other.on_user_message("from the other")
    assert len(handler.pause_manager.get_recorded_actions()) == 2


def test_the_pause_can_be_switched_off(monkeypatch):
    """With ``pause.enabled: false``, thresholds are still reported."""
    monkeypatch.setenv("LEFTOFF_PAUSE_ENABLED", "false")
    handler = leftoff.AutoPauseHandler()
    assert handler.on_usage_update(usage(181_000)) == "auto_pause"
    assert not handler.is_pause_active()


def test_the_status_joins_usage_and_pause(handler):
    """The status has ``None`` for a pause that is not running."""
    assert (handler.get_status()["pause_active"], handler.get_status()["pause"]) == (False, None)
    handler.on_usage_update(usage(181_000))
    status = handler.get_status()
    assert (status["pause_active"], status["percentage_used"], status["pause"]["action_count"]) == (
        True,
        90.5,
        1,
    )


def test_the_warnings_are_as_documented_with_the_real_numbers(handler):
    """Each threshold has its warning, and any other name is refused."""
    handler.on_usage_update(usage(181_000))
    warning = handler.emit_threshold_warning("auto_pause")
    assert warning.startswith("⏸ Context Usage Auto-Pause: 90% capacity reached\n19,000 tokens remaining")
    assert "actions are being recorded for the next session" in warning
    for wrong in ("ok", "nonsense"):
        with pytest.raises(UsageError, match="There are: caution, warning, auto_pause, critical"):
            handler.emit_threshold_warning(wrong)
