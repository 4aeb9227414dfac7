"""Actions described, and the texts that they get from the transcript."""

from __future__ import annotations

import pytest

from leftoff.core.records import Message, Place, Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.pause.journal import Origin, PauseAction, parse_origin
from leftoff.pause.texts import EXCLUDED, add_texts, collect_texts, describe_action, shorten


def action(type_, **data):
    return PauseAction(type_, "2026-01-06T12:00:00Z", "session-1", data, 0.91)


def record(kind, start, end, *blocks, actor=None):
    role = "user" if kind is not RecordKind.REPLY else "assistant"
    return Record(
        Place("t", 0, start, end), kind, "x", b"", (Message(role=role, blocks=blocks),), actor=actor
    )


def prompt(start, end, text, **more):
    return record(RecordKind.PROMPT, start, end, Text(text=text), **more)


def reply(start, end, *blocks, **more):
    return record(RecordKind.REPLY, start, end, *blocks, **more)


def texts_of(*records, clean=lambda value: value, exclude=()):
    return collect_texts(records, lambda each: each.text, clean, exclude_tools=exclude)


CALL = ToolUse(call_id="c1", tool="Read", input={"file_path": "/src/a.py"})
ANSWER = ToolResult(call_id="c1", parts=(Text(text="150 lines of code"),))


def test_a_call_gets_its_arguments_and_the_beginning_of_its_result():
    """Fields that the line already has are kept."""
    result = texts_of(reply(0, 10, CALL), record(RecordKind.RESULT, 10, 20, ANSWER))
    (worded,) = add_texts([action("tool_call", tool="Read", call_id="c1", offset=20)], result)
    assert worded.data == {
        "tool": "Read",
        "args": {"file_path": "/src/a.py"},
        "result_summary": "150 lines of code",
        "call_id": "c1",
        "offset": 20,
    }


def test_a_call_that_is_not_in_the_transcript_stays_as_it_is():
    """A subagent's call is in another file."""
    bare = action("tool_call", tool="Read", call_id="elsewhere", actor="a1", offset=5)
    assert add_texts([bare], texts_of()) == [bare]


def test_nothing_is_recorded_of_an_excluded_tool():
    result = texts_of(reply(0, 10, CALL), record(RecordKind.RESULT, 10, 20, ANSWER), exclude={"Read"})
    (worded,) = add_texts([action("tool_call", call_id="c1")], result)
    assert worded.data == {"tool": "Read", "args": EXCLUDED, "call_id": "c1"}


@pytest.mark.parametrize("offset", [95, 100])
def test_a_prompt_is_the_first_after_its_offset(offset):
    """The prompt is written after the event, perhaps after a late reply."""
    result = texts_of(prompt(0, 40, "first"), reply(40, 100, Text(text="ok")), prompt(100, 130, "second"))
    (worded,) = add_texts([action("user_message", offset=offset)], result)
    assert worded.data["message"] == "second"


def test_a_blocked_prompt_gets_no_other_prompt_s_text():
    result = texts_of(prompt(0, 40, "before"), reply(40, 100, Text(text="ok")), prompt(150, 180, "after"))
    lines = [
        action("user_message", offset=100),
        action("assistant_response", offset=150),
        action("user_message", offset=150),
    ]
    blocked, _, kept = add_texts(lines, result)
    assert blocked == lines[0]
    assert describe_action(blocked) == "(words not in the transcript)"
    assert kept.data["message"] == "after"


def test_a_prompt_after_a_blocked_one_keeps_its_text():
    result = texts_of(prompt(100, 130, "the second try"))
    events = [action("user_message", offset=100), action("user_message", offset=100)]
    assert [each.data.get("message") for each in add_texts(events, result)] == [None, "the second try"]


def test_each_prompt_is_used_once():
    result = texts_of(prompt(0, 40, "first"), prompt(100, 130, "second"))
    events = [action("user_message", offset=offset) for offset in (0, 100, 130)]
    assert [each.data.get("message") for each in add_texts(events, result)] == ["first", "second", None]


@pytest.mark.parametrize(("offset", "words"), [(90, "late words"), (100, "late words"), (160, "next turn")])
def test_a_reply_is_the_last_of_its_turn_even_if_written_late(offset, words):
    """The Stop event fires before the newest reply is written."""
    result = texts_of(
        prompt(0, 10, "go"),
        reply(10, 50, Text(text="on it")),
        reply(90, 100, Text(text="late words")),
        prompt(100, 130, "more"),
        reply(130, 160, Text(text="next turn")),
    )
    (worded,) = add_texts([action("assistant_response", offset=offset)], result)
    assert (worded.data["summary"], worded.data["length"]) == (words, len(words))


def test_a_reply_written_after_the_next_event_is_not_used():
    result = texts_of(
        prompt(0, 10, "go"), reply(10, 50, Text(text="stopped")), reply(50, 90, Text(text="and on"))
    )
    lines = [
        action("assistant_response", offset=50),
        action("user_message", offset=50),
        action("assistant_response", offset=90),
    ]
    words = [each.data.get("summary") for each in add_texts(lines, result)]
    assert words == ["stopped", None, "and on"]


def test_a_turn_without_text_adds_nothing():
    bare = action("assistant_response", offset=20)
    assert add_texts([bare], texts_of(prompt(0, 10, "go"))) == [bare]
    assert add_texts([action("system_event", event="x")], texts_of())[0].data == {"event": "x"}


def test_texts_of_subagents_are_left_out():
    result = texts_of(
        prompt(0, 10, "sub task", actor="a1"), reply(10, 20, Text(text="sub reply"), actor="a1")
    )
    assert (result.prompts, result.replies) == ([], [])


def test_credentials_are_removed_before_texts_are_cut():
    """Half of a credential is not recognized."""
    secret = "x" * 190 + "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    result = texts_of(
        prompt(0, 10, secret),
        reply(10, 20, Text(text=secret), ToolUse(call_id="c", tool="Bash", input={"command": secret})),
        record(RecordKind.RESULT, 20, 30, ToolResult(call_id="c", parts=(Text(text=secret),))),
        clean=lambda value: str(value).replace("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[R]"),
    )
    assert "ghp_" not in str(result)
    assert str(result).count("[R]") == 4


def test_long_inputs_are_cut_value_by_value():
    kept = shorten({"a": "short", "b": "x" * 500, "c": ["y" * 500], "d": ["ok"], "e": 7})
    assert kept["a"] == "short"
    assert kept["b"].endswith("… (500 characters)")
    assert kept["c"].startswith('["yyy')
    assert (kept["d"], kept["e"]) == (["ok"], 7)
    assert len(shorten({str(number): number for number in range(50)})) == 20
    assert shorten("z" * 900).endswith("… (900 characters)")


@pytest.mark.parametrize(
    ("action_data", "words"),
    [
        (
            action("tool_call", tool="Read", path="/src/main.py", lines=150),
            "Read path: /src/main.py, lines: 150",
        ),
        (
            action("tool_call", tool="Read", args={"file_path": "a.py"}, result_summary="ok\nok"),
            "Read a.py → ok ok",
        ),
        (action("tool_call", tool="Grep", args="needle"), "Grep needle"),
        (action("tool_call"), "unknown"),
        (action("assistant_response", summary="Analyzed the code"), "Analyzed the code"),
        (action("assistant_response"), "(a reply)"),
        (action("user_message", message="What now?"), "What now?"),
        (action("user_message", summary="What now?"), "What now?"),
        (action("user_message"), "(a prompt)"),
        (action("user_message", offset=3), "(words not in the transcript)"),
        (
            action("system_event", event="memory_warning", available_mb=500),
            "memory_warning available_mb: 500",
        ),
        (action("system_event"), "system_event"),
        (action("pause_started"), "the pause began"),
        (action("pause_finalized", reason="compaction"), "the pause was finalised: compaction"),
        (action("pause_finalized"), "the pause was finalised"),
        (action("from_the_future", x="y" * 500), "from_the_future x: " + "y" * 199 + "…"),
    ],
)
def test_an_action_is_described_on_one_line(action_data, words):
    assert describe_action(action_data) == words


def test_an_origin_survives_a_round_trip():
    origin = Origin(agent="claude", session_id="s", transcript="/t.jsonl", offset=5, project="/p")
    assert parse_origin({"origin": origin.to_dict()}) == origin
    broken = {"agent": "claude", "session_id": "s", "transcript": 5, "offset": -1, "project": []}
    assert parse_origin({"origin": broken}) == Origin(agent="claude", session_id="s")
    assert parse_origin({"origin": {"agent": 5}}) is None
    assert parse_origin({}) is None
