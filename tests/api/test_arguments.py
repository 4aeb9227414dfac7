"""What the library answers to arguments of the wrong type: an error of leftoff that names the argument."""

from __future__ import annotations

import pytest

import leftoff
from leftoff.errors import LeftoffError

METRICS = leftoff.ContextMetrics(200_000, 1)
LOG = leftoff.ResumeLog("s", METRICS)


def generator():
    return leftoff.ResumeLogGenerator()


def manager():
    return leftoff.SessionManager()


def tracker():
    return leftoff.ContextUsageTracker()


def pause():
    return leftoff.IncrementalPauseManager()


CALLS = {
    "ResumeLog context_metrics": lambda: leftoff.ResumeLog("s", {"total_budget": 1}),
    "ResumeLog session_id": lambda: leftoff.ResumeLog(7, METRICS),
    "ResumeLog sources": lambda: leftoff.ResumeLog("s", METRICS, sources=["x"]),
    "ResumeLog custom_sections": lambda: leftoff.ResumeLog("s", METRICS, custom_sections=7),
    "ResumeLog ground": lambda: leftoff.ResumeLog("s", METRICS, ground={}),
    "to_markdown max_tokens": lambda: LOG.to_markdown("many"),
    "estimate_tokens text": lambda: LOG.estimate_tokens(None),
    "truncate_to_budget budget": lambda: LOG.truncate_to_budget("x", None),
    "ContextMetrics.from_dict mapping": lambda: leftoff.ContextMetrics.from_dict(None),
    "ResumeLogGenerator config": lambda: leftoff.ResumeLogGenerator("x"),
    "save_resume_log resume_log": lambda: generator().save_resume_log({"session_id": "s"}),
    "load_resume_log session_id": lambda: generator().load_resume_log(None),
    "generate_from_session_state session_state": lambda: generator().generate_from_session_state("s", None),
    "generate_from_todo_list todos": lambda: generator().generate_from_todo_list("s", None, METRICS),
    "generate_from_todo_list each todos": lambda: generator().generate_from_todo_list("s", ["x"], METRICS),
    "generate_from_todo_list context_metrics": lambda: generator().generate_from_todo_list("s", [], {}),
    "should_generate context_metrics": lambda: generator().should_generate({}, "manual_pause"),
    "cleanup_old_logs keep_count": lambda: generator().cleanup_old_logs("3"),
    "SessionManager config": lambda: leftoff.SessionManager(7),
    "SessionManager transcript": lambda: leftoff.SessionManager(transcript=7),
    "observe_occupancy model": lambda: manager().observe_occupancy(1, model=["x"]),
    "generate_resume_log session_state": lambda: manager().generate_resume_log("x"),
    "should_warn_context_limit threshold": lambda: manager().should_warn_context_limit("70"),
    "get_session_manager session_id": lambda: leftoff.get_session_manager(7),
    "ContextUsageTracker project_path": lambda: leftoff.ContextUsageTracker(7),
    "ContextUsageTracker session id": lambda: leftoff.ContextUsageTracker(session_id=7),
    "check_thresholds state": lambda: tracker().check_thresholds({}),
    "start_incremental_pause context_percentage": lambda: pause().start_incremental_pause("a", {}),
    "start_incremental_pause initial_state": lambda: pause().start_incremental_pause(0.9, None),
    "append_action action_data": lambda: pause().append_action("tool_call", "x", 0.9),
    "PauseAction timestamp": lambda: leftoff.PauseAction("tool_call", 7, "s", {}, 0.9),
    "PauseAction context_percentage": lambda: leftoff.PauseAction("tool_call", "t", "s", {}, "0.9"),
    "PauseAction.from_json_line line": lambda: leftoff.PauseAction.from_json_line(None),
    "SessionPauseManager project_path": lambda: leftoff.SessionPauseManager(7),
    "create_pause_session message": lambda: leftoff.SessionPauseManager().create_pause_session(b"x"),
    "create_pause_session export_path": lambda: leftoff.SessionPauseManager().create_pause_session(
        export_path=7
    ),
    "track_stop_response metadata": lambda: leftoff.ResponseTracker().track_stop_response({}, "s", None, []),
    "recover_orphaned_pause project_path": lambda: leftoff.recover_orphaned_pause(7),
}


@pytest.mark.parametrize("call", CALLS)
def test_an_argument_of_the_wrong_type_is_named(call):
    """The error is a ValueError of leftoff, and its text has the name of the argument."""
    with pytest.raises(LeftoffError, match=call.rpartition(" ")[2]) as caught:
        CALLS[call]()
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("odd", [None, 7, ["x"], {"a": 1}, b"x"], ids=repr)
def test_the_handler_of_hooks_records_odd_texts_and_never_fails(odd):
    """What an agent hands over may have any type."""
    handler = leftoff.AutoPauseHandler()
    handler.on_usage_update({"input_tokens": 181_000, "output_tokens": 0})
    handler.on_tool_call(odd, odd, odd)
    handler.on_assistant_response(odd)
    handler.on_user_message(odd)
    assert len(handler.pause_manager.get_recorded_actions()) == 4


def test_a_tracker_of_replies_logs_an_event_that_is_none(caplog):
    """A hook must not die of what an API sends."""
    leftoff.ResponseTracker().track_stop_response("event", "s", {}, [])
    assert "event is 'event': a mapping was expected." in caplog.text
