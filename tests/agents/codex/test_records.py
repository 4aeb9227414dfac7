"""What each line of a rollout is read as."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.codex import Codex
from leftoff.agents.codex.records import is_plain_event
from leftoff.core.records import (
    Image,
    Message,
    Opaque,
    Record,
    RecordKind,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
)

AT = "2026-11-15T19:46:07.818Z"


def line(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload}


def item(payload: dict[str, Any]) -> dict[str, Any]:
    return line("response_item", payload)


def message_line(role: str, *texts: str, kinds: list[str] | None = None) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text} for text in texts]
    extra = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": kinds}} if kinds else {}
    return item({"type": "message", "role": role, "content": content, **extra})


@pytest.fixture
def read(codex: Codex, rollout: Callable[..., Path]) -> Callable[..., Record]:
    """The record that one line becomes."""

    def of(written: dict[str, Any] | bytes) -> Record:
        (record,) = codex.read(rollout([written]))
        return record

    return of


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(raw) for raw in path.read_bytes().split(b"\n") if raw.strip(b"\0 ")]


# Whole files


def test_no_record_of_the_clients_own_files_is_unknown(codex: Codex, sample: Path) -> None:
    """No record is unknown or broken, and the records together are the whole file."""
    records = [*codex.read(sample)]
    assert [record.note for record in records if record.note] == []
    assert b"".join(record.raw for record in records) == sample.read_bytes()


def test_no_record_of_real_files_is_unknown(codex: Codex, real: Path) -> None:
    """All versions from the oldest header to 0.142: nothing is dropped, nothing unknown, nothing broken."""
    records = [*codex.read(real)]
    kinds = Counter(record.kind for record in records)
    assert kinds[RecordKind.UNKNOWN] == kinds[RecordKind.BROKEN] == 0
    assert b"".join(record.raw for record in records) == real.read_bytes()
    assert [record.place.line_idx for record in records] == [*range(len(records))]


def test_every_item_of_a_real_file_is_sent(codex: Codex, real: Path) -> None:
    """Every response item is a message, except for snapshots, which are the client's own."""
    items = Counter(
        (each.get("payload") or each).get("type")
        for each in lines_of(real)
        if each.get("type") == "response_item" or "payload" not in each
    )
    wanted = sum(count for name, count in items.items() if name not in {None, "ghost_snapshot"})
    found = [record for record in codex.read(real) if record.messages and record.type != "compacted"]
    assert len(found) == wanted


def test_the_prompts_of_a_real_file_are_those_the_client_showed(codex: Codex, real: Path) -> None:
    """Word for word what its user_message events say; the oldest files have none to compare with."""
    shown = [
        each["payload"]["message"]
        for each in lines_of(real)
        if each.get("type") == "event_msg" and each["payload"].get("type") == "user_message"
    ]
    prompts = [record.text for record in codex.read(real) if record.kind is RecordKind.PROMPT]
    assert prompts == shown or (not shown and prompts)


def test_each_replys_usage_can_be_added_up_once(codex: Codex, real: Path) -> None:
    """The sum is what the client itself adds up; repeats and estimates are not in it."""
    counts = [
        each["payload"]["info"]
        for each in lines_of(real)
        if each.get("type") == "event_msg" and each["payload"].get("type") == "token_count"
    ]
    replies = {record.reply_id: record.usage for record in codex.read(real) if record.usage}
    totals = [info["total_token_usage"]["total_tokens"] for info in counts if info]
    assert sum(usage.occupancy_tokens for usage in replies.values()) == (totals[-1] if totals else 0)


def test_failed_commands_are_marked(codex: Codex, real: Path) -> None:
    """A real file has both kinds of answers, and no answer is called failed whose exit code is 0."""
    results = [
        block for record in codex.read(real) for block in record.blocks if isinstance(block, ToolResult)
    ]
    assert {result.is_error for result in results} >= {True, False}
    assert not any(result.is_error for result in results if "exited with code 0\n" in result.text[:200])


# Messages


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>",
        "  <environment_context>\nCurrent working directory: /w",
        "<user_instructions>\nBe brief.\n</user_instructions>",
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>x</INSTRUCTIONS>",
        '<hook_prompt hook_run_id="1">go on</hook_prompt>',
        "<turn_aborted>\nThe user interrupted.\n</turn_aborted>",
        "<user_shell_command>\nls\n</user_shell_command>",
        "Another language model started to solve this problem and produced a summary of its thinking process.",
    ],
)
def test_what_the_client_adds_to_the_users_messages_is_context(
    read: Callable[..., Record], text: str
) -> None:
    """Context that the file does not mark as such is recognised by how it begins."""
    assert read(message_line("user", text)).kind is RecordKind.CONTEXT
    assert read(message_line("user", "Fix the login")).kind is RecordKind.PROMPT


def test_content_item_kinds_decide_what_the_user_typed(read: Callable[..., Record]) -> None:
    """``content_item_kinds`` takes precedence over how a text begins."""
    assert read(message_line("user", "<environment_context>?", kinds=["user.text"])).kind is RecordKind.PROMPT
    assert read(message_line("user", "Hello", kinds=["hooks.additional_context"])).kind is RecordKind.CONTEXT
    assert read(message_line("user", "Hello", kinds=["unknown"])).kind is RecordKind.PROMPT


def test_roles_are_the_models(read: Callable[..., Record]) -> None:
    """A developer's words are the system's; several parts stay several blocks."""
    record = read(message_line("developer", "one", "two"))
    assert record.kind is RecordKind.CONTEXT
    assert record.messages == (Message(role="system", blocks=(Text(text="one"), Text(text="two"))),)
    assert read(message_line("assistant", "done")).kind is RecordKind.REPLY


def test_a_picture_in_a_prompt_keeps_its_kind_and_size(read: Callable[..., Record]) -> None:
    """The bytes stay in the raw record; of an address nothing is known."""
    part = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    linked = {"type": "input_image", "image_url": "https://example.invalid/a.png"}
    record = read(item({"type": "message", "role": "user", "content": [part, linked]}))
    assert record.blocks == (
        Image(media_type="image/png", size_bytes=8),
        Image(media_type=None, size_bytes=0),
    )
    assert record.kind is RecordKind.PROMPT


def test_thinking_is_its_summary(read: Callable[..., Record]) -> None:
    """Thinking of which only the encrypted form was kept has an empty text."""
    summary = [{"type": "summary_text", "text": "Look"}, {"type": "summary_text", "text": "first"}]
    assert read(item({"type": "reasoning", "summary": summary})).blocks == (Thinking(text="Look\nfirst"),)
    hidden = {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "gAAAA"}
    assert read(item(hidden)).blocks == (Thinking(text=""),)


# Tools


def test_arguments_are_parsed(read: Callable[..., Record]) -> None:
    """JSON becomes an object; what is broken or no object stays the text that the model wrote."""
    for arguments, wanted in (
        ('{"cmd": "ls"}', {"cmd": "ls"}),
        ('{"cmd": "l', '{"cmd": "l'),
        ("[1]", "[1]"),
        ("", ""),
        (None, {}),
    ):
        call = {"type": "function_call", "name": "exec_command", "call_id": "c", "arguments": arguments}
        assert read(item(call)).blocks == (ToolUse(call_id="c", tool="exec_command", input=wanted),)


def test_a_servers_tool_is_named_with_its_server(read: Callable[..., Record]) -> None:
    """The tool of a server is named as other agents name it."""
    call = {
        "type": "function_call",
        "name": "recall",
        "namespace": "mcp__leftoff",
        "call_id": "c",
        "arguments": "{}",
    }
    assert read(item(call)).blocks == (ToolUse(call_id="c", tool="mcp__leftoff__recall", input={}),)


def test_a_patch_is_free_text(read: Callable[..., Record]) -> None:
    """The input of a custom tool is kept as it is."""
    call = {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c", "input": "*** Begin Patch\n"}
    record = read(item(call))
    assert record.kind is RecordKind.REPLY
    assert record.blocks == (ToolUse(call_id="c", tool="apply_patch", input="*** Begin Patch\n"),)


@pytest.mark.parametrize("name", ["function_call_output", "custom_tool_call_output"])
@pytest.mark.parametrize(
    ("output", "is_error"),
    [
        ('{"output":"ok","metadata":{"exit_code":0,"duration_seconds":0.1}}', False),
        ('{"output":"no","metadata":{"exit_code":2,"duration_seconds":0.1}}', True),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nok", False),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno", True),
        (
            "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 1\nOutput:\nok",
            False,
        ),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 7\nOutput:\nno", True),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess running with session ID 5\nOutput:\n…", None),
        ("apply_patch verification failed: Failed to find expected lines", True),
        ("Plan updated", None),
        ("", None),
    ],
)
def test_an_answer_is_what_the_model_is_sent(
    read: Callable[..., Record], name: str, output: str, is_error: bool | None
) -> None:
    """Word for word, head and JSON included; whether it failed is taken from it."""
    record = read(item({"type": name, "call_id": "c", "output": output}))
    assert record.kind is RecordKind.RESULT
    assert record.messages == (
        Message(
            role="user", blocks=(ToolResult(call_id="c", parts=(Text(text=output),), is_error=is_error),)
        ),
    )


def test_an_answer_of_several_parts_keeps_them(read: Callable[..., Record]) -> None:
    """Text, images and parts of unknown types are all kept."""
    parts = [
        {"type": "input_text", "text": "Exit code: 1\nOutput:\n"},
        {"type": "input_image", "image_url": "data:image/jpeg;base64,AAAA"},
        {"type": "input_hologram", "rays": 3},
    ]
    (result,) = read(item({"type": "function_call_output", "call_id": "c", "output": parts})).blocks
    assert isinstance(result, ToolResult)
    assert [type(part) for part in result.parts] == [Text, Image, Opaque]
    assert result.is_error


def test_the_forms_of_other_versions_are_read(read: Callable[..., Record]) -> None:
    """An answer as an object, a local shell, a search for tools, one of the web, a picture made, an event from outside."""
    old = {"type": "function_call_output", "call_id": "c", "output": {"content": "no", "success": False}}
    assert read(item(old)).blocks == (ToolResult(call_id="c", parts=(Text(text="no"),), is_error=True),)
    shell = {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}}
    (call,) = read(item(shell)).blocks
    assert call == ToolUse(call_id="c", tool="local_shell", input={"type": "exec", "command": ["ls"]})
    (call,) = read(item({"type": "tool_search_call", "call_id": "t", "arguments": {"query": "x"}})).blocks
    assert call == ToolUse(call_id="t", tool="tool_search", input={"query": "x"})
    found = read(item({"type": "tool_search_output", "call_id": "t", "tools": [{"name": "a"}]}))
    assert found.kind is RecordKind.RESULT
    outside = {"type": "function_call_output", "name": "clock", "output": "noon"}
    assert read(item(outside)).messages == (Message(role="user", blocks=(Text(text="noon"),)),)
    assert read(item({"type": "tool_search_call", "execution": "server"})).kind is RecordKind.REPLY
    assert (
        read(item({"type": "agent_message", "content": [{"type": "input_text", "text": "hi"}]})).text == "hi"
    )
    assert read(item({"type": "additional_tools", "tools": []})).messages[0].role == "system"


@pytest.mark.parametrize(
    ("made", "tool"),
    [
        ({"type": "web_search_call", "action": {"type": "search", "query": "q"}}, "web_search"),
        ({"type": "image_generation_call", "revised_prompt": "a cat", "result": "AAAA"}, "image_generation"),
    ],
)
def test_what_the_api_does_itself_is_a_call_with_its_answer(
    read: Callable[..., Record], made: dict[str, Any], tool: str
) -> None:
    """A call with its answer does not look interrupted; without an id it is opaque."""
    use, result = read(item({**made, "id": "x1"})).blocks
    assert isinstance(use, ToolUse)
    assert isinstance(result, ToolResult)
    assert (use.tool, use.call_id, result.call_id) == (tool, "x1", "x1")
    assert [type(block) for block in read(item(made)).blocks] == [Opaque]


# Numbers


def test_a_reply_whose_usage_is_written_twice_is_one_reply(codex: Codex) -> None:
    """``token_usage_record`` and ``token_count`` have the same usage and reply id."""
    sample = Path(__file__).parents[2] / "golden/clients/codex-0.166.0-exec-basic.jsonl"
    records = [record for record in codex.read(sample) if record.usage]
    assert Counter(record.type for record in records) == {"token_usage_record": 4, "event_msg/token_count": 4}
    assert len({record.reply_id for record in records}) == 4
    assert records[0].usage == Usage(input_tokens=8_000, cache_read_tokens=4_000, output_tokens=80)
    assert [record.usage.occupancy_tokens for record in records if record.usage][-1] == 16_030


def test_an_estimate_is_not_the_usage_of_a_reply(read: Callable[..., Record]) -> None:
    """What Codex reckons after a compaction was taken by no reply; the window still counts."""
    info = {
        "last_token_usage": {"input_tokens": 0, "output_tokens": 0, "total_tokens": 6_690},
        "model_context_window": 95_000,
    }
    record = read(line("event_msg", {"type": "token_count", "info": info}))
    assert (record.usage, record.reply_id, record.window_tokens) == (None, None, 95_000)


def test_numbers_that_contradict_each_other_do_no_harm(read: Callable[..., Record]) -> None:
    """More cached than was sent, negative, text: nothing is raised, and no number falls below zero."""
    usage = {
        "input_tokens": 10,
        "cached_input_tokens": 99,
        "cache_write_input_tokens": 5,
        "output_tokens": -3,
    }
    record = read(line("token_usage_record", {"usage": usage}))
    assert record.usage == Usage(input_tokens=0, cache_read_tokens=10, output_tokens=0)
    assert read(line("token_usage_record", {"usage": {"input_tokens": "many"}})).usage is None
    assert read(line("event_msg", {"type": "token_count", "info": None})).usage is None


def test_settings_have_model_and_folder(read: Callable[..., Record]) -> None:
    """Turns and threads name a model and a folder, and the start of a turn names the window."""
    turn = read(line("turn_context", {"model": "gpt-5.5", "cwd": "/w"}))
    thread = read(
        line("event_msg", {"type": "thread_settings_applied", "thread_settings": {"model": "m", "cwd": "/v"}})
    )
    started = read(line("event_msg", {"type": "task_started", "model_context_window": 95_000}))
    assert (turn.model, turn.cwd, turn.kind) == ("gpt-5.5", "/w", RecordKind.SIDE)
    assert (thread.model, thread.cwd) == ("m", "/v")
    assert started.window_tokens == 95_000


# Compactions


def test_a_compaction_carries_the_new_history(read: Callable[..., Record]) -> None:
    """The messages of the new history are sent from then on, and the summary is without its preamble."""
    prefix = "Another language model started to solve this problem and produced a summary of its thinking process. "
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Do it"}]},
        {"type": "compaction", "encrypted_content": "OPAQUE"},
        {"type": "ghost_snapshot"},
    ]
    usage = {"usage": {"input_tokens": 92_500, "output_tokens": 80}}
    record = read(
        line("compacted", {"message": "", "replacement_history": history, "latest_token_usage_record": usage})
    )
    assert record.kind is RecordKind.COMPACTION
    assert record.compaction is not None
    assert (record.compaction.summary, record.compaction.before_tokens) == (None, 92_500)
    assert [message.blocks for message in record.messages] == [
        (Text(text="Do it"),),
        (Opaque(type="compaction", chars=6),),
    ]
    readable = read(line("compacted", {"message": prefix + "…"}))
    assert readable.compaction is not None
    assert readable.messages[0].text == prefix + "…"


def test_the_summary_of_the_clients_own_compaction_is_found(codex: Codex) -> None:
    """The words that Codex puts before the summary for the model are left out."""
    sample = Path(__file__).parents[2] / "golden/clients/codex-0.166.0-hooks-autocompact.jsonl"
    (compaction,) = (record.compaction for record in codex.read(sample) if record.compaction)
    assert compaction.summary == "COMPACT-SUMMARY-TEXT from model"
    assert compaction.before_tokens == 92_500


# Odd lines


def test_the_oldest_files_have_no_envelope(codex: Codex, rollout: Callable[..., Path]) -> None:
    """A header, states and bare items; the folder is only in the text on the environment."""
    header = {"id": "e242", "timestamp": AT, "instructions": None, "git": {"branch": "main"}}
    where = (
        "<environment_context>\nCurrent working directory: /w\nApproval policy: never\n</environment_context>"
    )
    content = [{"type": "input_text", "text": where}]
    bare = {"type": "message", "id": None, "role": "user", "content": content}
    first, state, message = codex.read(rollout([header, {"record_type": "state"}, bare]))
    assert (first.type, first.id, first.branch, first.kind) == ("header", "e242", "main", RecordKind.SIDE)
    assert (state.type, state.kind) == ("state", RecordKind.SIDE)
    assert (message.type, message.cwd, message.at) == ("response_item/message", "/w", None)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (line("tomorrow", {"a": 1}), "tomorrow"),
        (line("event_msg", {"type": "tomorrow"}), "event_msg/tomorrow"),
        (item({"type": "tomorrow"}), "response_item/tomorrow"),
        ({"type": "event_msg", "payload": "no object"}, "event_msg"),
        ({"type": 7, "payload": {}}, ""),
        ({"hello": "world"}, ""),
    ],
)
def test_an_unknown_type_is_named_and_kept(
    read: Callable[..., Record], written: dict[str, Any], name: str
) -> None:
    """Unknown is not broken: it is counted by its name, and passed through."""
    record = read(written)
    assert (record.kind, record.type, record.messages) == (RecordKind.UNKNOWN, name, ())
    assert record.note
    assert json.loads(record.raw) == written


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "message", "role": "user", "content": None},
        {"type": "message", "role": 5, "content": "words"},
        {"type": "message"},
        {"type": "message", "role": "user", "content": [None, 3, {"type": "input_text"}]},
        {"type": "reasoning", "summary": "none"},
        {"type": "function_call"},
        {"type": "custom_tool_call", "input": 5},
        {"type": "function_call_output", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": [None, 1]},
        {"type": "local_shell_call"},
        {"type": "web_search_call", "id": "w", "action": None},
        {"type": "tool_search_output", "tools": None},
        {"type": "compaction"},
        {"type": "ghost_snapshot"},
        {"type": "compaction_trigger"},
    ],
)
def test_items_with_anything_in_their_fields_are_read(
    read: Callable[..., Record], payload: dict[str, Any]
) -> None:
    assert read(item(payload)).kind not in {RecordKind.UNKNOWN, RecordKind.BROKEN}


def test_an_invalid_time_is_none(read: Callable[..., Record]) -> None:
    """Texts, numbers and impossible years are not taken for times."""
    for stamp in ("yesterday", 5, None, "0001-01-01T00:00:00+23:59"):
        assert read({"timestamp": stamp, "type": "world_state", "payload": {}}).at is None


def test_messages_between_agents_are_context(read: Callable[..., Record]) -> None:
    """Messages between agents are sent to the model; their metadata is not."""
    record = read(line("inter_agent_communication", {"author": "/root", "content": "hello"}))
    assert (record.kind, record.text) == (RecordKind.CONTEXT, "hello")
    assert read(line("inter_agent_communication", {})).messages == ()
    assert read(line("inter_agent_communication_metadata", {})).kind is RecordKind.SIDE


def test_blank_and_broken_lines_are_kept(codex: Codex, rollout: Callable[..., Path]) -> None:
    """A blank line, two objects on one line, NULs of a crash and a torn end: every byte is in some record."""
    glued = (
        json.dumps(message_line("user", "one")).encode()
        + json.dumps(message_line("user", "two")).encode()
        + b"\n"
    )
    path = rollout([b"\n", glued, b"\0\0\0\n", b'{"timestamp": "2026'])
    records = [*codex.read(path)]
    assert [record.kind for record in records] == [
        RecordKind.SIDE,
        RecordKind.PROMPT,
        RecordKind.PROMPT,
        RecordKind.BROKEN,
        RecordKind.BROKEN,
    ]
    assert b"".join(record.raw for record in records) == path.read_bytes()


def test_an_event_that_is_not_parsed_is_the_same_record(read: Callable[..., Record]) -> None:
    """Of most events a record has the type and the time alone: they are read from the beginning of the line."""
    event = line("event_msg", {"type": "item_completed", "item": {"text": "a}{b"}})
    numbered = {"timestamp": AT, "ordinal": 8, "type": "event_msg", "payload": event["payload"]}
    for written in (event, numbered):
        compact = json.dumps(written, separators=(",", ":")).encode() + b"\n"
        assert is_plain_event(compact)
        spaced = json.dumps(written).encode() + b"\n"  # parsed, because Codex does not write it so
        assert not is_plain_event(spaced)
        assert read(compact)._replace(place=None, raw=b"") == read(spaced)._replace(place=None, raw=b"")


@pytest.mark.parametrize("kept", [None, -1, -30])
def test_an_event_that_a_crash_tore_or_glued_hides_no_record(
    codex: Codex, rollout: Callable[..., Path], kept: int | None
) -> None:
    """An event whose end is missing, or that another line follows without a line break, is parsed as every other line."""
    event = json.dumps(
        line("event_msg", {"type": "agent_message", "message": "x" * 99}), separators=(",", ":")
    )
    prompt = json.dumps(message_line("user", "one"), separators=(",", ":"))
    glued = f"{event[:kept]}{prompt}\n".encode()
    kinds = [record.kind for record in codex.read(rollout([glued]))]
    assert kinds == ([RecordKind.SIDE, RecordKind.PROMPT] if kept is None else [RecordKind.BROKEN])
    assert [record.kind for record in codex.read(rollout([event[:-1].encode()]))] == [RecordKind.BROKEN]
