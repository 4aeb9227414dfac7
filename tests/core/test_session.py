"""Turns, joined tool calls, the live chain: what can be said of a session without knowing the agent."""

from datetime import UTC, datetime

from leftoff.core.records import (
    Image,
    Message,
    Opaque,
    Place,
    Record,
    RecordKind,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
)
from leftoff.core.session import LiveChain, Session, ToolCall, Turn, join_tool_calls, split_turns

NOON = datetime(2026, 1, 6, 12, tzinfo=UTC)


def transcript(*entries, actors=None):
    """Records from (kind, role, blocks), one line each of ten bytes."""
    return [
        Record(
            place=Place("t.jsonl", number, number * 10, number * 10 + 10),
            kind=RecordKind(kind),
            type=kind,
            raw=b"{}",
            messages=(Message(role=role, blocks=tuple(blocks)),) if role else (),
            at=NOON,
            actor=(actors or {}).get(number),
        )
        for number, (kind, role, blocks) in enumerate(entries)
    ]


def prompt(words):
    return ("prompt", "user", [Text(text=words)])


def tool_calls(*ids):
    return ("reply", "assistant", [ToolUse(call_id=call, tool="Read", input={"path": call}) for call in ids])


def answered(*ids):
    return ("result", "user", [ToolResult(call_id=call, parts=(Text(text=f"of {call}"),)) for call in ids])


SIDE = ("side", None, [])


def test_turns_begin_at_the_user_s_prompts():
    """Each holds its prompt and all that followed; what precedes the first is turn 0."""
    records = transcript(SIDE, prompt("one"), tool_calls("a"), answered("a"), prompt("two"))
    found = list(split_turns(records))
    assert [(turn.number, len(turn.records)) for turn in found] == [(0, 1), (1, 3), (2, 1)]
    assert found[0].prompt is None
    assert found[1].prompt is records[1] is found[1].records[0]


def test_a_transcript_that_begins_with_a_prompt_has_no_turn_0():
    """An empty transcript has no turn at all."""
    assert list(split_turns(transcript(prompt("one")))) == [
        Turn(number=1, prompt=transcript(prompt("one"))[0], records=tuple(transcript(prompt("one"))))
    ]
    assert list(split_turns([])) == []


def test_a_prompt_to_a_subagent_begins_no_turn():
    """Only the main conversation is split; the records of a subagent belong to the turn they worked for."""
    records = transcript(
        prompt("one"), prompt("look into it"), tool_calls("a"), actors={1: "agent-1", 2: "agent-1"}
    )
    assert [len(turn.records) for turn in split_turns(records)] == [3]


def test_calls_are_joined_with_their_answers_in_the_order_of_the_answers():
    """Parallel calls come as they were answered; the unanswered come last."""
    session = Session(
        agent="x",
        session_id="s",
        transcript="t.jsonl",
        records=transcript(prompt("go"), tool_calls("a", "b", "c"), answered("b"), answered("a")),
    )
    b, a, c = session.tool_calls()
    assert [call.call_id for call in (b, a, c)] == ["b", "a", "c"]
    assert b.result is not None
    assert b.result.text == "of b"
    assert (b.asked.line_idx, b.answered.line_idx) == (1, 2)
    assert (b.asked_at, b.answered_at) == (NOON, NOON)
    assert (b.tool, b.input, b.actor) == ("Read", {"path": "b"}, None)
    assert (c.result, c.answered, c.failed) == (None, None, None)
    assert [turn.number for turn in session.turns()] == [1]
    assert len(list(session.tool_calls())) == 3  # records may be read again


def test_a_result_without_a_request_is_ignored():
    """The beginning of the transcript was cut away."""
    assert list(join_tool_calls(transcript(answered("lost"), SIDE))) == []


def test_a_call_says_whether_it_failed_where_the_agent_does():
    """``None`` means that the agent did not say, which is not ``False``."""
    call = {
        "call_id": "a",
        "tool": "Bash",
        "input": "ls",
        "asked": Place("t", 0, 0, 1),
        "asked_at": None,
        "actor": None,
    }
    results = [ToolResult(call_id="a", parts=(), is_error=error) for error in (True, False, None)]
    assert [ToolCall(**call, result=result).failed for result in results] == [True, False, None]


def test_the_live_chain_gives_its_messages_in_sending_order():
    """Places say the order; records may come in any."""
    records = transcript(prompt("one"), prompt("two"), prompt("three"), SIDE)
    chain = LiveChain(places=(records[2].place, records[0].place, records[3].place, Place("gone", 9, 9, 9)))
    assert [message.text for message in chain.messages(reversed(records))] == ["three", "one"]


def test_cleared_answers_are_not_sent():
    """A message of which nothing is left is not sent at all; the others keep the rest."""
    records = transcript(tool_calls("a", "b", "c"), answered("a"), answered("b", "c"))
    chain = LiveChain(places=tuple(record.place for record in records), cleared_calls=frozenset({"a", "b"}))
    sent = chain.messages(records)
    assert [len(message.blocks) for message in sent] == [3, 1]
    assert sent[1].blocks[0].call_id == "c"


def test_the_words_of_a_record_leave_out_thoughts_requests_and_results():
    """The text of a record is its text blocks, each on its own line."""
    blocks = (Thinking(text="hm"), Text(text="one"), Image(media_type=None, size_bytes=5), Text(text="two"))
    result = ToolResult(call_id="a", parts=(Text(text="x"), Opaque(type="new", chars=3), Text(text="y")))
    record = Record(
        place=Place("t", 0, 0, 1),
        kind=RecordKind.COMPACTION,
        type="compacted",
        raw=b"",
        messages=(
            Message(role="assistant", blocks=blocks),
            Message(role="user", blocks=(result,)),
            Message(role="user", blocks=(Text(text="three"),)),
        ),
    )
    assert record.text == "one\ntwo\nthree"
    assert record.blocks == (*blocks, result, Text(text="three"))
    assert result.text == "x\ny"
    (single,) = transcript(prompt("alone"))
    assert single.blocks == (Text(text="alone"),)


def test_occupancy_is_of_one_reply():
    """Input, what came from the cache, what went into it, and the output."""
    usage = Usage(input_tokens=1, output_tokens=20, cache_read_tokens=300, cache_creation_tokens=4000)
    assert usage.occupancy_tokens == 4321
