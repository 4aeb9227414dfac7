"""Usage in, a pause out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import leftoff
from leftoff.errors import UsageError
from leftoff.platform import paths

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def handler():
    return leftoff.AutoPauseHandler()


def usage(input_tokens, output_tokens=0, **more):
    return {"input_tokens": input_tokens, "output_tokens": output_tokens, **more}


def test_each_threshold_is_reported_once_when_it_is_crossed(handler):
    """The pause begins at 90 %."""
    crossed, recording = [], []
    for tokens in (130_000, 140_000, 141_000, 171_000, 181_000, 181_500, 191_500):
        crossed.append(handler.on_usage_update(usage(tokens)))
        recording.append(handler.is_pause_active())
    assert crossed == [None, "caution", None, "warning", "auto_pause", None, "critical"]
    assert recording == [False] * 4 + [True] * 3


def test_usage_can_be_added_up_instead(monkeypatch):
    """With ``accounting: cumulative`` the input and output of all replies count, and cached tokens do not."""
    monkeypatch.setenv("LEFTOFF_ACCOUNTING", "cumulative")
    handler = leftoff.AutoPauseHandler()
    crossed = [
        handler.on_usage_update(usage(tokens, cache_read_input_tokens=150_000))
        for tokens in (130_000, 10_000, 1_000, 30_000, 10_000)
    ]
    assert crossed == [None, "caution", None, "warning", "auto_pause"]
    assert handler.get_status()["percentage_used"] == 90.5


def test_a_sum_far_above_the_window_is_still_recorded(monkeypatch):
    """Sums of many replies grow without limit; actions are recorded all the same."""
    monkeypatch.setenv("LEFTOFF_ACCOUNTING", "cumulative")
    handler = leftoff.AutoPauseHandler()
    handler.on_usage_update(usage(9_000_000))
    handler.on_user_message("still here")
    assert [each.type for each in handler.pause_manager.get_recorded_actions()] == [
        "pause_started",
        "user_message",
    ]


REPLIES = {
    "cache beside the input, with its parts": {
        "input_tokens": 3,
        "cache_creation_input_tokens": 510,
        "cache_read_input_tokens": 180_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 510, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 487,
        "server_tool_use": {"web_search_requests": 0},
        "service_tier": "standard",
    },
    "only the parts of the cache": {
        "input_tokens": 3,
        "cache_creation": {"ephemeral_5m_input_tokens": 500, "ephemeral_1h_input_tokens": 10},
        "cache_read_input_tokens": 180_000,
        "output_tokens": 487,
    },
    "cache within the input": {
        "input_tokens": 180_513,
        "input_tokens_details": {"cached_tokens": 180_000},
        "output_tokens": 487,
        "output_tokens_details": {"reasoning_tokens": 300},
        "total_tokens": 181_000,
    },
    "prompt and completion": {
        "prompt_tokens": 180_513,
        "completion_tokens": 487,
        "prompt_tokens_details": {"cached_tokens": 180_000, "audio_tokens": None},
    },
    "text and null": {
        "input_tokens": "180513",
        "output_tokens": 487.0,
        "cache_read_input_tokens": None,
        "cache_creation": None,
    },
    "the same cached tokens in two forms": {
        "prompt_tokens": 180_513,
        "completion_tokens": 487,
        "prompt_tokens_details": {"cached_tokens": 180_000},
        "cache_read_input_tokens": 180_000,
        "cache_creation_input_tokens": 0,
    },
    "only a total": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 181_000},
    "the tracker's own names": {
        "input_tokens": 3,
        "output_tokens": 487,
        "cache_creation": 510,
        "cache_read": 180_000,
    },
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_the_usage_of_a_reply_can_be_handed_on_as_it_came(handler, reply):
    """Whatever the API calls its counts, the window holds 181,000 tokens after each of these replies."""
    assert handler.on_usage_update(reply) == "auto_pause"
    assert handler.get_status()["used_tokens"] == 181_000
    assert handler.is_pause_active()


def test_the_usage_may_be_an_object_of_an_sdk(handler):
    """Attributes count like keys."""
    cache = SimpleNamespace(ephemeral_5m_input_tokens=500, ephemeral_1h_input_tokens=10)
    reply = SimpleNamespace(
        input_tokens=3,
        output_tokens=487,
        cache_creation=cache,
        cache_creation_input_tokens=None,
        cache_read_input_tokens=180_000,
    )
    assert handler.on_usage_update(reply) == "auto_pause"


@pytest.mark.parametrize(
    "wrong",
    [
        usage(-1),
        usage("many"),
        usage(1.5),
        usage(True),
        usage(10**30),
        usage(1, cache_creation={"ephemeral_5m_input_tokens": -1}),
        usage(1, cache_creation=[1]),
        usage(1, input_tokens_details=7),
        {},
        {"tokens": 5},
        None,
        "usage",
        7,
    ],
)
def test_a_usage_that_makes_no_sense_is_logged_and_changes_nothing(handler, wrong, caplog):
    """A hook must not die of what an API sends."""
    before = handler.tracker.get_current_state()
    assert handler.on_usage_update(wrong) is None
    assert "Usage was ignored" in caplog.text
    assert handler.tracker.get_current_state() == before


def test_a_discarded_pause_stays_discarded_until_usage_falls_and_rises_again(handler):
    """Hovering around the threshold, or reaching critical, does not bring it back; a new crossing does."""
    handler.on_usage_update(usage(181_000))
    assert handler.pause_manager.discard_pause()
    for tokens in (182_000, 191_000, 180_000, 179_000, 181_000):
        handler.on_usage_update(usage(tokens))
        assert not handler.is_pause_active()
    assert handler.on_usage_update(usage(100_000)) is None
    assert handler.on_usage_update(usage(181_000)) == "auto_pause"
    assert handler.is_pause_active()


@pytest.mark.parametrize(
    "unsaid", [{"output_tokens": 800}, {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0}]
)
def test_a_reply_that_does_not_say_what_it_was_sent_leaves_the_gauge_and_a_discarded_pause_alone(
    handler, unsaid
):
    """The end of a stream counts the answer only, and an error of the API counts nothing."""
    handler.on_usage_update(usage(181_000))
    handler.pause_manager.discard_pause()
    assert handler.on_usage_update(unsaid) is None
    assert handler.get_status()["used_tokens"] == 181_000
    assert handler.on_usage_update(usage(182_000)) is None
    assert not handler.is_pause_active()


def test_after_a_reset_a_discarded_pause_can_begin_again(handler):
    """A reset begins another session."""
    handler.on_usage_update(usage(181_000))
    handler.pause_manager.discard_pause()
    handler.tracker.reset_session()
    assert handler.on_usage_update(usage(181_000)) == "auto_pause"
    assert handler.is_pause_active()


def test_after_the_end_of_the_session_no_pause_begins(handler):
    """A late reply of the same session does not begin another pause."""
    handler.on_usage_update(usage(181_000))
    assert handler.on_session_end() is not None
    assert handler.on_usage_update(usage(192_000)) == "critical"
    assert not handler.is_pause_active()


def test_handlers_of_one_session_share_usage_and_what_was_announced():
    """Hooks are processes of their own; with the session's id they act as one handler."""
    first = leftoff.AutoPauseHandler(session_id="shared")
    assert first.on_usage_update(usage(50_000, 25_000)) is None
    second = leftoff.AutoPauseHandler(session_id="shared")
    assert second.get_status()["percentage_used"] == 37.5
    assert second.on_usage_update(usage(181_000)) == "auto_pause"
    assert first.on_usage_update(usage(182_000)) is None
    first.pause_manager.discard_pause()
    second.on_usage_update(usage(183_000))
    assert not second.is_pause_active()
    assert leftoff.AutoPauseHandler(session_id="other").get_status()["percentage_used"] == 0.0


def test_processes_of_one_session_announce_a_threshold_once():
    """Of four processes that report the same crossing, one announces it and there is one pause."""
    code = (
        "import leftoff\nhandler = leftoff.AutoPauseHandler(session_id='shared')\n"
        "for _ in range(10): print(handler.on_usage_update({'input_tokens': 181_000, 'output_tokens': 1}))\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    said = [line for process in running for line in process.communicate(timeout=120)[0].split()]
    assert sorted(said) == ["None"] * 39 + ["auto_pause"]
    state = leftoff.ContextUsageTracker(session_id="shared").get_current_state()
    assert state.cumulative_output_tokens == 40
    assert len(leftoff.IncrementalPauseManager().get_recorded_actions()) == 1


def test_a_broken_state_file_does_not_stop_a_hook(caplog):
    """The handler starts from zero and says so; the next reply says how full the window is."""
    leftoff.AutoPauseHandler(session_id="x").on_usage_update(usage(1))
    (paths.state_folder() / "usage" / "x.json").write_text("{ not json")
    handler = leftoff.AutoPauseHandler(session_id="x")
    assert "x.json: not JSON" in caplog.text
    assert handler.on_usage_update(usage(181_000)) == "auto_pause"


def test_a_pause_that_cannot_begin_is_tried_again_with_the_next_reply(handler, caplog):
    """A file in place of the project's folder is reported, and does not stop the hook."""
    blocker = Path.cwd() / ".leftoff"
    blocker.write_text("in the way")
    assert handler.on_usage_update(usage(181_000)) == "auto_pause"
    assert "The pause could not begin" in caplog.text
    blocker.unlink()
    assert handler.on_usage_update(usage(181_500)) is None
    assert handler.is_pause_active()


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
    assert handler.emit_threshold_warning("auto_pause") == ""
    handler.on_usage_update(usage(181_000))
    assert handler.emit_threshold_warning("critical") == ""
    warning = handler.emit_threshold_warning("auto_pause")
    assert warning.startswith("⏸ Context Usage Auto-Pause: 90% capacity reached\n19,000 tokens remaining")
    assert "actions are being recorded for the next session" in warning
    for wrong in ("ok", "nonsense"):
        with pytest.raises(UsageError, match="There are: caution, warning, auto_pause, critical"):
            handler.emit_threshold_warning(wrong)


def test_the_warning_speaks_of_recording_only_while_something_is_recorded(handler):
    """After a discard nothing is recorded, and the warning does not claim it."""
    handler.on_usage_update(usage(181_000))
    handler.pause_manager.discard_pause()
    warning = handler.emit_threshold_warning("auto_pause")
    assert warning.startswith("⏸ Context Usage Auto-Pause: 90% capacity reached\n19,000 tokens remaining")
    assert "recorded" not in warning
