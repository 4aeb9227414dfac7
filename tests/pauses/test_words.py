"""What the lines of a pause mean, and where bare ones get their words from."""

from __future__ import annotations

import pytest

from leftoff.model.pause_action import PauseAction
from leftoff.model.records import Message, Place, Record, RecordKind, Text, ToolResult, ToolUse
from leftoff.pauses.origin import Origin, origin_in
from leftoff.pauses.words import EXCLUDED, described, shortened, told_by, with_words


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


def said(*records, clean=lambda value: value, exclude=()):
    return told_by(records, lambda each: each.text, clean, exclude_tools=exclude)


CALL = ToolUse(call_id="c1", tool="Read", input={"file_path": "/src/a.py"})
ANSWER = ToolResult(call_id="c1", parts=(Text(text="150 lines of code"),))


def test_a_call_gets_its_arguments_and_the_beginning_of_its_result():
    """By its id; what the line has already stays."""
    told = said(reply(0, 10, CALL), record(RecordKind.RESULT, 10, 20, ANSWER))
    (worded,) = with_words([action("tool_call", tool="Read", call_id="c1", offset=20)], told)
    assert worded.data == {
        "tool": "Read",
        "args": {"file_path": "/src/a.py"},
        "result_summary": "150 lines of code",
        "call_id": "c1",
        "offset": 20,
    }


def test_a_call_that_the_transcript_does_not_have_stays_bare():
    """A subagent's call stands in another file; nothing is invented."""
    bare = action("tool_call", tool="Read", call_id="elsewhere", actor="a1", offset=5)
    assert with_words([bare], said()) == [bare]


def test_an_excluded_tool_leaves_no_words():
    """Neither of its input nor of its result."""
    told = said(reply(0, 10, CALL), record(RecordKind.RESULT, 10, 20, ANSWER), exclude={"Read"})
    (worded,) = with_words([action("tool_call", call_id="c1")], told)
    assert worded.data == {"tool": "Read", "args": EXCLUDED, "call_id": "c1"}


@pytest.mark.parametrize("offset", [95, 100])
def test_a_prompt_is_found_behind_its_offset(offset):
    """It is written after the event, perhaps behind a reply that came to disk late; the turn before is not taken."""
    told = said(prompt(0, 40, "first"), reply(40, 100, Text(text="ok")), prompt(100, 130, "second"))
    (worded,) = with_words([action("user_message", offset=offset)], told)
    assert worded.data["message"] == "second"


def test_a_prompt_that_never_reached_the_transcript_takes_no_other_s_words():
    """Another hook blocked it: neither what was said before nor what was said after the next event is its own."""
    told = said(prompt(0, 40, "before"), reply(40, 100, Text(text="ok")), prompt(150, 180, "after"))
    lines = [
        action("user_message", offset=100),
        action("assistant_response", offset=150),
        action("user_message", offset=150),
    ]
    blocked, _, kept = with_words(lines, told)
    assert blocked == lines[0]
    assert described(blocked) == "(words not in the transcript)"
    assert kept.data["message"] == "after"


def test_a_prompt_blocked_just_before_another_leaves_it_its_words():
    """Nothing was written between the two events: the words are the later one's."""
    told = said(prompt(100, 130, "the second try"))
    events = [action("user_message", offset=100), action("user_message", offset=100)]
    assert [each.data.get("message") for each in with_words(events, told)] == [None, "the second try"]


def test_each_prompt_is_taken_once():
    """Two events get two prompts; a third gets none."""
    told = said(prompt(0, 40, "first"), prompt(100, 130, "second"))
    events = [action("user_message", offset=offset) for offset in (0, 100, 130)]
    assert [each.data.get("message") for each in with_words(events, told)] == ["first", "second", None]


@pytest.mark.parametrize(("offset", "words"), [(90, "late words"), (100, "late words"), (160, "next turn")])
def test_a_reply_is_the_last_of_its_turn_also_when_it_came_to_disk_late(offset, words):
    """L8: Stop fires before the newest reply is written."""
    told = said(
        prompt(0, 10, "go"),
        reply(10, 50, Text(text="on it")),
        reply(90, 100, Text(text="late words")),
        prompt(100, 130, "more"),
        reply(130, 160, Text(text="next turn")),
    )
    (worded,) = with_words([action("assistant_response", offset=offset)], told)
    assert (worded.data["summary"], worded.data["length"]) == (words, len(words))


def test_a_reply_that_came_after_the_next_event_is_not_its_words():
    """Two ends of a turn with a blocked prompt between them: each has its own last words."""
    told = said(prompt(0, 10, "go"), reply(10, 50, Text(text="stopped")), reply(50, 90, Text(text="and on")))
    lines = [
        action("assistant_response", offset=50),
        action("user_message", offset=50),
        action("assistant_response", offset=90),
    ]
    words = [each.data.get("summary") for each in with_words(lines, told)]
    assert words == ["stopped", None, "and on"]


def test_a_turn_without_words_gives_none():
    """The line stays bare."""
    bare = action("assistant_response", offset=20)
    assert with_words([bare], said(prompt(0, 10, "go"))) == [bare]
    assert with_words([action("system_event", event="x")], said())[0].data == {"event": "x"}


def test_subagents_words_are_not_the_sessions():
    """Neither their prompts nor their replies."""
    told = said(prompt(0, 10, "sub task", actor="a1"), reply(10, 20, Text(text="sub reply"), actor="a1"))
    assert (told.prompts, told.replies) == ([], [])


def test_texts_are_made_clean_before_they_are_cut():
    """Half a credential is not recognised as one."""
    secret = "x" * 190 + "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    told = said(
        prompt(0, 10, secret),
        reply(10, 20, Text(text=secret), ToolUse(call_id="c", tool="Bash", input={"command": secret})),
        record(RecordKind.RESULT, 20, 30, ToolResult(call_id="c", parts=(Text(text=secret),))),
        clean=lambda value: str(value).replace("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[R]"),
    )
    assert "ghp_" not in str(told)
    assert str(told).count("[R]") == 4


def test_long_inputs_are_cut_and_small_ones_kept():
    """Each value by itself; structures too large become their beginning."""
    kept = shortened({"a": "short", "b": "x" * 500, "c": ["y" * 500], "d": ["ok"], "e": 7})
    assert kept["a"] == "short"
    assert kept["b"].endswith("… (500 characters)")
    assert kept["c"].startswith('["yyy')
    assert (kept["d"], kept["e"]) == (["ok"], 7)
    assert len(shortened({str(number): number for number in range(50)})) == 20
    assert shortened("z" * 900).endswith("… (900 characters)")


@pytest.mark.parametrize(
    ("given", "words"),
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
def test_an_action_in_words(given, words):
    """On one line, from what the line itself says."""
    assert described(given) == words


def test_an_origin_is_read_as_it_was_written():
    """And anything else is none."""
    origin = Origin(agent="claude", session_id="s", transcript="/t.jsonl", offset=5, project="/p")
    assert origin_in({"origin": origin.to_dict()}) == origin
    broken = {"agent": "claude", "session_id": "s", "transcript": 5, "offset": -1, "project": []}
    assert origin_in({"origin": broken}) == Origin(agent="claude", session_id="s")
    assert origin_in({"origin": {"agent": 5}}) is None
    assert origin_in({}) is None
