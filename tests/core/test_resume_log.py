"""The resume log as a value, as Markdown and as JSON."""

import json
import re
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leftoff.core import markdown
from leftoff.core.budget import TRUNCATED, estimate_tokens
from leftoff.core.metrics import ContextMetrics
from leftoff.core.resume_log import CustomSection, ResumeLog
from leftoff.errors import DocumentError, InvalidValueError
from tests.support import strategies

METRICS = ContextMetrics(200_000, 170_000, timestamp="2026-01-06T12:00:00Z")


def a_log(**fields):
    return ResumeLog("20260106_120000", METRICS, **fields)


def body(log, heading, max_tokens=None):
    """Return the text below one heading."""
    _, after = log.to_markdown(max_tokens).split(f"\n## {heading}\n\n")
    return re.split(r"\n\n## ", after)[0].rstrip("\n")


def check_markdown(log, max_tokens):
    """Within its tokens, the expected headings and no other, writable, and the same every time."""
    text = log.to_markdown(max_tokens)
    assert estimate_tokens(text) <= max_tokens
    assert text == log.to_markdown(max_tokens)
    text.encode()
    custom = [markdown.escape_inline(own.name) for own in log.custom_sections]
    found = strategies.outer_headings(text)
    assert found[:8] == list(strategies.FIXED_HEADINGS)
    assert [name for name in found[8:] if not name.endswith("…")] == [
        name for name, shown in zip(custom, found[8:], strict=False) if not shown.endswith("…")
    ]
    assert len(found) == 8 + len(custom) or max_tokens < 2000
    (title, *sections) = strategies.headings(text)
    assert title[0] == 1
    assert title[1].startswith("Session Resume Log:")
    assert [level for level, _ in sections] == [2] * len(found)
    assert tuple(words for _, words in sections[:8]) == strategies.FIXED_HEADINGS


def check_round_trip(log):
    """The value behind the wire form is the same value, through JSON text too."""
    assert ResumeLog.from_dict(log.to_dict()) == log
    assert ResumeLog.from_dict(json.loads(json.dumps(log.to_dict(), allow_nan=False))) == log
    as_written = json.dumps(log.to_dict(), ensure_ascii=False)
    assert ResumeLog.from_dict(json.loads(as_written)) == log


@pytest.mark.slow
@given(strategies.resume_logs, st.just(10_000) | st.integers(500, 10_000) | st.integers(500, 2_500))
def test_markdown_keeps_its_budget_and_its_headings(log, max_tokens):
    """This holds for any content and any budget."""
    check_markdown(log, max_tokens)


@given(strategies.resume_logs, st.integers(-3, 500))
def test_markdown_keeps_even_a_budget_too_small_for_its_headings(log, max_tokens):
    """Headings that do not fit are left out from the end and never cut in two or doubled."""
    text = log.to_markdown(max_tokens)
    assert estimate_tokens(text) <= max(0, max_tokens)
    found = strategies.outer_headings(text)
    assert tuple(found[:8]) == strategies.FIXED_HEADINGS[: len(found)]


@given(strategies.resume_logs)
def test_json_loses_nothing(log):
    """``to_dict`` and ``from_dict`` are exact opposites, for every log that can be made."""
    check_round_trip(log)


@pytest.mark.stress
@given(strategies.resume_logs, st.integers(500, 10_000))
@settings(max_examples=10_000)
def test_ten_thousand_logs_keep_budget_headings_and_content(log, max_tokens):
    """The properties above are checked with many more examples."""
    check_markdown(log, max_tokens)
    check_round_trip(log)


def test_the_markdown_of_an_empty_log_names_every_section():
    """A section without content says so."""
    text = a_log().to_markdown()
    assert text.startswith(
        "# Session Resume Log: 20260106_120000\n\nGenerated: 2026-01-06T12:00:00Z\n\n## Context Metrics\n"
    )
    assert strategies.outer_headings(text) == list(strategies.FIXED_HEADINGS)
    assert text.count("(none)") == 7
    assert text.endswith("(none)\n")


def test_context_metrics_have_the_documented_lines():
    """Thousands are separated, the percentage has one digit."""
    assert body(a_log(), "Context Metrics").splitlines() == [
        "- Model: claude-sonnet-4.5",
        "- Total Budget: 200,000 tokens",
        "- Used: 170,000 tokens (85.0%)",
        "- Remaining: 30,000 tokens",
        "- Stop Reason: end_turn",
    ]


def test_unknown_metrics_are_shown_as_unknown():
    """Unknown numbers are shown neither as 0 nor as a percentage."""
    unknown = ResumeLog("s", ContextMetrics(None, None))
    assert body(unknown, "Context Metrics").splitlines()[1:4] == [
        "- Total Budget: unknown",
        "- Used: unknown",
        "- Remaining: unknown",
    ]


def test_an_oversized_mission_is_cut_to_the_total():
    """A mission far over budget leaves the log within 10,000 tokens and with all its sections."""
    text = a_log(mission_summary="x" * 100_000).to_markdown()
    assert 9_000 < ResumeLog.estimate_tokens(text) <= ResumeLog.MAX_TOTAL_TOKENS
    assert TRUNCATED in text
    assert strategies.outer_headings(text) == list(strategies.FIXED_HEADINGS)


def test_critical_context_never_borrows():
    """It holds what can be looked up again; nine times its budget are free here."""
    names = {"names": [f"name_{n} in src/file_{n}.py" for n in range(5000)]}
    assert estimate_tokens(body(a_log(critical_context=names), "Critical Context")) <= 1_000


def test_unused_tokens_go_to_next_steps_then_findings_then_decisions_then_accomplishments():
    """A section that borrows is as long as it needs before the next one gets anything."""
    words = [f"entry {number} with some words" for number in range(700)]  # about 5,500 tokens
    borrowers = {
        "Next Steps": {"next_steps": words},
        "Key Findings": {"key_findings": words},
        "Decisions & Rationale": {"decisions": [{"decision": word} for word in words]},
        "Accomplishments": {"accomplishments": words},
    }
    for number, (first, field) in enumerate(borrowers.items()):
        for later, other in [*borrowers.items()][number + 1 :]:
            log = a_log(**field, **other)
            assert words[0] in body(log, first), (first, later)
            assert words[-1] in body(log, first), (first, later)
            assert "left out to fit" in body(log, later), (first, later)


def test_full_sections_stay_within_their_scaled_budgets():
    """Full sections have nothing to lend."""
    words = [f"entry {number} with some words" for number in range(3000)]
    log = a_log(
        mission_summary=" ".join(words),
        accomplishments=words,
        key_findings=words,
        decisions=[{"decision": word, "rationale": "because"} for word in words],
        next_steps=words,
        critical_context={"names": words},
        metadata={"files_modified": words},
    )
    budgets = ResumeLog.TOKEN_BUDGET
    for name, heading in zip(budgets, strategies.FIXED_HEADINGS, strict=False):
        # The metrics are short, and what they leave is lent to the next steps.
        most = budgets[name] + (budgets["context_metrics"] if name == "next_steps" else 0)
        assert estimate_tokens(body(log, heading)) <= most, name
    assert 9_700 < estimate_tokens(log.to_markdown()) <= 10_000


def test_a_small_budget_keeps_the_newest_results_and_the_first_next_steps():
    """Accomplishments, findings and decisions lose their oldest items, next steps their last."""
    many = [f"number {number:04} " + "word " * 10 for number in range(2000)]
    log = a_log(
        accomplishments=many,
        key_findings=many,
        decisions=[{"decision": text} for text in many],
        next_steps=many,
        critical_context={"names": many},
    )
    for heading in ("Accomplishments", "Key Findings", "Decisions & Rationale"):
        shown = body(log, heading)
        assert "1999" in shown
        assert "0000" not in shown
        assert re.match(r"- \(… \d+ earlier left out to fit the budget\)\n", shown)
    assert body(log, "Next Steps").startswith("- number 0000")
    assert re.search(r"\n- \(… \d+ further left out to fit the budget\)$", body(log, "Next Steps"))


def test_a_section_that_does_not_fit_says_that_it_is_left_out():
    """``(none)`` would be wrong for a section that was left out."""
    crowded = a_log(next_steps=["do " + "this and that " * 50] * 9, accomplishments=["did it " * 50] * 9)
    assert "(left out)" in crowded.to_markdown(140)


def test_a_long_item_is_cut_with_its_fence_closed():
    """What follows a bullet with endless code is not code."""
    log = a_log(accomplishments=["Ran it:\n```py\n" + "x = 1\n" * 20_000])
    assert body(log, "Accomplishments").endswith(f"\n  ```\n\n{TRUNCATED}")
    assert len(strategies.headings(log.to_markdown())) == 9


def test_decisions_have_their_rationale():
    """Each decision is on one line, because bold text cannot span lines."""
    log = a_log(
        decisions=[
            {"decision": "Use JWT\ninstead of cookies", "rationale": "Stateless"},
            {"decision": "Keep `<T>`"},
            {"rationale": "somebody said so"},
        ]
    )
    assert body(log, "Decisions & Rationale").splitlines() == [
        "- **Use JWT instead of cookies**",
        "  - Rationale: Stateless",
        "- **Keep `<T>`**",
        "- **(not said)**",
        "  - Rationale: somebody said so",
    ]


def test_critical_context_shows_names_values_and_parts():
    """Keys of our own read as words; names and commands stay exact; parts without content are left out."""
    log = a_log(
        critical_context={
            "file_paths": {"auth_service": "src/services/auth.py", "-": "```"},
            "DATABASE_URL": "set",
            "ports": [5432, None, "", {"redis": [6379, 6380]}],
            "branch": "main",
            "commands": ["cat <<E\na  b\nE"],
            "nothing": [],
        }
    )
    assert body(log, "Critical Context") == (
        "**File Paths:**\n- auth_service: src/services/auth.py\n- -: ```\n\n"
        "**DATABASE_URL:** set\n\n"
        "**Ports:**\n- 5432\n- unknown\n- redis: 6379, 6380\n\n"
        "**Branch:** main\n\n"
        "**Commands:**\n- cat <<E\n  a  b\n  E"
    )


def test_standard_metadata_comes_first_and_other_keys_follow():
    """Groups are divided by blank lines, as designed; what has no value is left out."""
    log = a_log(
        metadata={
            "compactions": 2,
            "session_duration_minutes": 154,
            "errors": [],
            "agents_used": {"PM": 3},
            "files_modified": ["a.py", "b.py"],
        }
    )
    assert body(log, "Session Metadata") == (
        "**Files Modified:**\n- a.py\n- b.py\n\n**Agents Used:**\n- PM: 3\n\n"
        "**Session Duration:** 154 minutes\n\n**Compactions:** 2"
    )


@pytest.mark.parametrize("errors", [3, "one error", {"a": 1}, True, [[]], [""], [{}]])
def test_metadata_of_any_shape_can_be_shown(errors):
    """A number in place of a list is shown, and an empty part does not underline a heading."""
    text = a_log(metadata={"errors": errors}, critical_context={"ids": [""], "more": [[]]}).to_markdown()
    assert len(strategies.headings(text)) == 9


def test_custom_sections_follow_in_their_order_and_share_the_total():
    """Custom sections follow the built-in ones and may use what others leave."""
    custom = [
        CustomSection(name="Code Changes", budget_tokens=1500, content="```diff\n+ x\n```"),
        CustomSection(name="Weather ## Next Steps", budget_tokens=10, content="rain. " * 9000),
    ]
    text = a_log(custom_sections=custom).to_markdown()
    assert strategies.outer_headings(text)[8:] == ["Code Changes", "Weather ## Next Steps"]
    assert "```diff\n+ x\n```" in text
    assert 9_500 < estimate_tokens(text) <= 10_000


def test_a_flood_of_custom_sections_leaves_the_others_whole():
    """Sections whose headings do not fit are left out from the end."""
    flood = [CustomSection(name=f"Section {n}", budget_tokens=50, content="x") for n in range(3000)]
    found = strategies.outer_headings(a_log(custom_sections=flood).to_markdown())
    assert tuple(found[:8]) == strategies.FIXED_HEADINGS
    assert 500 < len(found) < 3000


def test_a_very_long_id_is_shown_by_its_beginning():
    """The heading shows only the beginning of a very long id, so that every section keeps its space."""
    text = ResumeLog("9" * 50_000, METRICS).to_markdown()
    assert text.splitlines()[0] == "# Session Resume Log: " + "9" * 200 + "…"
    assert strategies.outer_headings(text) == list(strategies.FIXED_HEADINGS)


def test_static_helpers_estimate_and_truncate():
    """Estimating and truncating are available as static methods."""
    assert ResumeLog.estimate_tokens("words") == 2
    assert a_log().estimate_tokens("word") == 1
    cut = ResumeLog.truncate_to_budget("A sentence. " * 1000, 50)
    assert cut.endswith(f"sentence.\n\n{TRUNCATED}")
    assert sum(ResumeLog.TOKEN_BUDGET.values()) == ResumeLog.MAX_TOTAL_TOKENS == 10_000


def test_a_log_keeps_copies_of_what_it_is_given():
    """What the caller does to its own lists and mappings later changes nothing, nor does what a reader does to a wire form."""
    context = {"paths": {"a": "b"}}
    steps = ["one"]
    log = a_log(next_steps=steps, critical_context=context)
    context["paths"]["a"] = "changed"
    steps.append("two")
    log.to_dict()["critical_context"]["paths"]["a"] = "changed"
    assert log.critical_context == {"paths": {"a": "b"}}
    assert log.next_steps == ["one"]
    with pytest.raises(FrozenInstanceError):
        log.next_steps = []


def test_values_that_json_cannot_represent_become_text():
    """Saving never fails because of a path, a time, a set or infinity in a session state."""
    log = a_log(
        critical_context={
            "path": PurePosixPath("/a/b"),
            "at": datetime(2026, 1, 6, tzinfo=UTC),
            "names": {"b", "a"},
            "frozen": frozenset({2, 1}),
            "pair": (1, 2),
            "ratio": float("inf"),
            7: "seven",
            "half": "cut \ud83d",
        },
        mission_summary="cut \ud83d",
    )
    assert log.critical_context == {
        "path": "/a/b",
        "at": "2026-01-06 00:00:00+00:00",
        "names": ["a", "b"],
        "frozen": [1, 2],
        "pair": [1, 2],
        "ratio": "inf",
        "7": "seven",
        "half": "cut \ufffd",
    }
    assert log.mission_summary == "cut \ufffd"
    check_round_trip(log)


def test_a_value_that_holds_itself_is_refused():
    """A circular value is refused with a clear error instead of a RecursionError."""
    circle = {}
    circle["me"] = circle
    with pytest.raises(InvalidValueError, match="nested more than 50 deep"):
        a_log(critical_context=circle)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"mission_summary": 5}, "mission_summary is not text"),
        ({"accomplishments": "one"}, "accomplishments is not a list"),
        ({"next_steps": [1]}, "next_steps holds something that is not text"),
        ({"decisions": ["one"]}, "decisions holds something that is not a mapping"),
        ({"metadata": []}, "metadata is not a mapping"),
    ],
)
def test_a_field_of_the_wrong_shape_is_refused(fields, sentence):
    """The fields are checked when the log is made, not when it is shown."""
    with pytest.raises(InvalidValueError, match=sentence):
        a_log(**fields)


GOOD = {"schema": 1, "session_id": "s", "context_metrics": {"total_budget": 100, "used_tokens": 50}}
DEEP = json.loads("[" * 90 + "]" * 90)


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ({"session_id": None}, "no session_id or context_metrics"),
        ({"session_id": 7}, "session_id is not text"),
        ({"context_metrics": None}, "no session_id or context_metrics"),
        ({"context_metrics": "full"}, "no session_id or context_metrics"),
        ({"context_metrics": {"used_tokens": "many"}}, "used_tokens is 'many'"),
        ({"context_metrics": {"used_tokens": -1}}, "used_tokens is -1"),
        ({"context_metrics": {"used_tokens": 10**400}}, "used_tokens is above 1,000,000,000,000"),
        ({"context_metrics": {"model": 4}}, "model is 4: text was expected"),
        ({"context_metrics": {"total_budget": 100, "used_tokens": 50, "percentage_used": 90}}, "make it 50"),
        ({"mission_summary": ["x"]}, "mission_summary is not text"),
        ({"accomplishments": {}}, "accomplishments is not a list"),
        ({"accomplishments": [None]}, "accomplishments holds something that is not text"),
        ({"decisions": ["x"]}, "decisions holds something that is not a mapping"),
        ({"critical_context": [1]}, "critical_context is not a mapping"),
        ({"critical_context": {"deep": DEEP}}, "nested more than 50 deep"),
        ({"metadata": "x"}, "metadata is not a mapping"),
        ({"custom_sections": {"name": "x"}}, "custom_sections is not a list"),
        ({"custom_sections": [{"name": "x"}]}, "a custom section is not in the known form"),
        ({"sources": 5}, "sources is not a list"),
        ({"sources": [{"item": "next_steps/0"}]}, "not in the known form"),
        ({"ground": {"head": 5}}, "not in the known form"),
        ({"schema": 2}, r"newer leftoff \(schema 2, this one reads up to 1\). Upgrade leftoff"),
        ({"schema": -1}, "schema -1 is not a schema number"),
        ({"schema": True}, "schema True is not a schema number"),
        ({"schema": "1"}, "schema '1' is not a schema number"),
    ],
)
def test_a_broken_wire_form_is_named_with_what_is_wrong(broken, sentence):
    """The error says which document and which field, whatever is broken."""
    with pytest.raises(DocumentError, match=sentence) as caught:
        ResumeLog.from_dict(GOOD | broken, where="session-1.json")
    assert str(caught.value).startswith("session-1.json: ")
    assert caught.value.path == "session-1.json"


@pytest.mark.parametrize("document", [None, [], "text", 5])
def test_a_document_that_is_not_an_object_is_rejected(document):
    """The error names the document."""
    with pytest.raises(DocumentError, match=r"session-1.json: not a resume log: a JSON object was expected"):
        ResumeLog.from_dict(document, where="session-1.json")


@given(strategies.json_values)
def test_no_json_value_breaks_the_reader(value):
    """Anything at all is read as a log or refused with a DocumentError."""
    for key in (
        *GOOD,
        "mission_summary",
        "decisions",
        "critical_context",
        "metadata",
        "custom_sections",
        "sources",
        "ground",
    ):
        document = json.loads(json.dumps(GOOD | {key: value}))
        try:
            ResumeLog.from_dict(document).to_markdown()
        except DocumentError as error:
            assert str(error).startswith("resume log: ")  # noqa: PT017 - both outcomes are right


def test_missing_and_null_fields_keep_their_defaults():
    """A short document is a log, and unknown keys are passed over."""
    empty = dict.fromkeys(
        ("mission_summary", "accomplishments", "decisions", "metadata", "sources", "ground")
    )
    log = ResumeLog.from_dict(GOOD | empty | {"colour": "green"})
    assert log == ResumeLog("s", replace(log.context_metrics))
