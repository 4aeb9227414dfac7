"""Building a resume log from a session state: lenient about shapes, strict about numbers and sources."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff.core.metrics import ContextMetrics
from leftoff.core.provenance import Ground, Source
from leftoff.core.resume_log import ResumeLog
from leftoff.errors import DocumentError, InvalidValueError
from leftoff.resume_logs.build import from_session_state, from_todos
from tests.resume_logs.session_states import session_states
from tests.support import strategies

SOURCE = {
    "item": "next_steps/0",
    "transcript": "a.jsonl",
    "line_idx": 3,
    "start": 10,
    "end": 20,
    "sha256": "0" * 64,
    "excerpt": "so it stands",
}
GROUND = {"head": "abc", "branch": "main", "worktree": None, "dirty": [], "hashes": {}}


def check(state, max_tokens):
    """Check budget, headings and the round trip through JSON."""
    log = from_session_state("s", state)
    text = log.to_markdown(max_tokens)
    assert ResumeLog.estimate_tokens(text) <= max_tokens
    assert strategies.outer_headings(text) == list(strategies.FIXED_HEADINGS)
    assert [words for level, words in strategies.headings(text) if level == 2] == list(
        strategies.FIXED_HEADINGS
    )
    assert len(strategies.headings(text)) == 9
    assert ResumeLog.from_dict(json.loads(json.dumps(log.to_dict()))) == log


@pytest.mark.slow
@given(session_states, st.just(10_000) | st.integers(500, 10_000))
def test_any_session_state_becomes_a_log_within_its_budget(state, max_tokens):
    """The log survives JSON, and no heading is injected."""
    check(state, max_tokens)


@pytest.mark.stress
@given(session_states, st.just(10_000) | st.integers(500, 10_000))
@settings(max_examples=10_000)
def test_ten_thousand_session_states_become_logs_within_their_budgets(state, max_tokens):
    """The property above is checked with many more examples."""
    check(state, max_tokens)


def test_a_whole_session_state_is_taken_over():
    """Every field of a log is taken over, and so is metadata at the top level."""
    log = from_session_state(
        "20251101_115000",
        {
            "context_metrics": {"total_budget": 200_000, "used_tokens": 170_000, "stop_reason": "max_tokens"},
            "mission_summary": "Implement authentication",
            "accomplishments": ["Created JWT service"],
            "key_findings": ["bcrypt's default is right"],
            "decisions": [{"decision": "JWT", "rationale": "no state"}],
            "next_steps": ["Deploy"],
            "critical_context": {"ids": [7]},
            "metadata": {"agents_used": ["QA"], "errors": ["mine"]},
            "files_modified": ["a.py"],
            "errors": ["loose"],
            "session_duration_minutes": 154,
            "sources": [SOURCE],
            "ground": GROUND,
            "colour": "green",
        },
    )
    assert log == ResumeLog(
        "20251101_115000",
        ContextMetrics(200_000, 170_000, stop_reason="max_tokens", timestamp=log.context_metrics.timestamp),
        mission_summary="Implement authentication",
        accomplishments=["Created JWT service"],
        key_findings=["bcrypt's default is right"],
        decisions=[{"decision": "JWT", "rationale": "no state"}],
        next_steps=["Deploy"],
        critical_context={"ids": [7]},
        metadata={
            "files_modified": ["a.py"],
            "errors": ["mine"],  # the metadata's own entry takes precedence
            "session_duration_minutes": 154,
            "agents_used": ["QA"],
        },
        sources=[Source.from_dict(SOURCE)],
        ground=Ground.from_dict(GROUND),
    )


def test_an_empty_session_state_is_an_empty_log():
    """Unknown usage is not shown as zero."""
    log = from_session_state("s", {})
    assert (log.context_metrics.used_tokens, log.context_metrics.total_budget) == (None, None)
    assert log.metadata == {}
    assert "(none)" in log.to_markdown()


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        (None, []),
        ("one", ["one"]),
        ("", []),
        (["one", "", None, "two"], ["one", "two"]),
        (("one",), ["one"]),
        ([{"content": "Write it", "status": "pending"}], ["Write it"]),
        ([{"task": "T", "text": "the text"}], ["the text"]),
        ([{"a": 1, "b": [2, 3]}], ["a: 1, b: 2\n3"]),
        ([7, True], ["7", "True"]),
        ([["nested", None, "list"]], ["nested\nlist"]),
    ],
)
def test_items_of_any_shape_become_text(given, texts):
    """Other programs write items in many shapes."""
    log = from_session_state("s", {"accomplishments": given, "next_steps": given})
    assert log.accomplishments == texts
    assert log.next_steps == texts


@pytest.mark.parametrize(
    ("given", "decisions"),
    [
        (None, []),
        ("Use Redis", [{"decision": "Use Redis"}]),
        (["Use Redis", "", None], [{"decision": "Use Redis"}]),
        ({"Use Redis": "shared"}, [{"decision": "Use Redis", "rationale": "shared"}]),
        ({"decision": "D", "rationale": "R"}, [{"decision": "D", "rationale": "R"}]),
        ([{"decision": "D", "by": "user"}], [{"decision": "D", "by": "user"}]),
        ([{"rationale": "R"}], [{"rationale": "R"}]),
        ([{"title": "T"}], [{"decision": "T"}]),
    ],
)
def test_decisions_of_any_shape_become_decisions(given, decisions):
    """Reasons are kept where there are any."""
    assert from_session_state("s", {"decisions": given}).decisions == decisions


@pytest.mark.parametrize(
    ("given", "context"),
    [
        (None, {}),
        ("port 5432", {"notes": "port 5432"}),
        (["a", "b"], {"notes": ["a", "b"]}),
        ({"x": 1}, {"x": 1}),
    ],
)
def test_critical_context_without_names_is_kept_as_notes(given, context):
    """Context without keys is not lost."""
    assert from_session_state("s", {"critical_context": given}).critical_context == context


def test_derived_numbers_are_computed_again():
    """An older program's remainder may be negative, its percentage 0."""
    metrics = {"total_budget": 100, "used_tokens": 122, "percentage_used": 0, "remaining_tokens": -22}
    log = from_session_state("s", {"context_metrics": metrics})
    assert (log.context_metrics.percentage_used, log.context_metrics.remaining_tokens) == (122.0, 0)


@pytest.mark.parametrize(
    ("in_state", "given", "kept"),
    [
        ("max_tokens", "end_turn", "max_tokens"),
        (None, "end_turn", "end_turn"),
        ("end_turn", "manual_pause", "manual_pause"),
        ("max_tokens", "model_context_window_exceeded", "model_context_window_exceeded"),
    ],
)
def test_the_more_specific_stop_reason_counts(in_state, given, kept):
    """The caller's counts, unless it is the usual one."""
    state = {"context_metrics": {"total_budget": 10, "used_tokens": 5, "stop_reason": in_state}}
    assert from_session_state("s", state, stop_reason=given).context_metrics.stop_reason == kept
    assert from_session_state("s", {}, stop_reason=given).context_metrics.stop_reason == given


@pytest.mark.parametrize(
    ("state", "error"),
    [
        ({"context_metrics": "full"}, InvalidValueError),
        ({"context_metrics": {"used_tokens": -1}}, InvalidValueError),
        ({"sources": [{"item": "x"}]}, DocumentError),
        ({"ground": {"head": 5}}, DocumentError),
    ],
)
def test_invalid_numbers_sources_and_ground_are_refused(state, error):
    """Other parts of a log rely on these values."""
    with pytest.raises(error):
        from_session_state("s", state)


def test_metrics_may_be_an_object():
    """Metrics are accepted as an object and in their JSON form."""
    metrics = ContextMetrics(200, 100, timestamp="2026-01-06T12:00:00Z")
    assert from_session_state("s", {"context_metrics": metrics}).context_metrics == metrics


def test_a_todo_list_becomes_what_is_done_and_what_is_open():
    """Work in progress comes first, cancelled work is left out, the rest keeps its order."""
    metrics = ContextMetrics(200_000, 100_000)
    log = from_todos(
        "s",
        [
            {"content": "Create service", "status": "completed"},
            {"content": "Write docs", "status": "pending"},
            {"content": "Try memcached", "status": "cancelled"},
            {"content": "Add tests", "status": "in_progress", "activeForm": "Adding tests"},
            {"content": "Deploy"},
            {"content": "", "status": "pending"},
        ],
        metrics,
    )
    assert log.context_metrics == metrics
    assert log.accomplishments == ["Create service"]
    assert log.next_steps == ["Add tests (in progress)", "Write docs", "Deploy"]
    assert log.mission_summary == "Work from a todo list: 1 of 4 done."


def test_an_empty_todo_list_claims_nothing():
    assert from_todos("s", [], ContextMetrics(1, 1)).mission_summary == ""
