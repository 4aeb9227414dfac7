"""What is Codex' own in a copy: shapes of outputs, what events repeat, forks, numbers, heads, old and compressed rollouts."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.agents.codex import Codex
from leftoff.core.records import Place
from leftoff.core.trim_plan import CopyOrder, Cut, FreshOrder, RestoredPiece
from leftoff.errors import LeftoffError
from leftoff.shrink.invariants import COMMON_INVARIANTS

GOLDEN = Path(__file__).parents[2] / "golden" / "clients"
AT = datetime(2026, 1, 7, 8, 30, tzinfo=UTC)
OLD = "01a1e0be-dee8-7b23-ae31-94e0123734a3"
LONG = "secret words " * 60


@pytest.fixture
def codex(tmp_path):
    return Codex(tmp_path)


@pytest.fixture
def source(codex):
    """Writes payloads of a legacy rollout where Codex would, and gives the rollout."""

    def write(*payloads, head=True, name=OLD):
        meta = {
            "id": OLD,
            "timestamp": "t",
            "cwd": "/home/dev/work",
            "cli_version": "0.166.0",
            "source": "cli",
        }
        lines = [{"type": "session_meta", "payload": meta}] if head else []
        lines += [{"type": kind, "payload": payload} for kind, payload in payloads]
        path = codex.home / "sessions" / "2026" / "01" / "06" / f"rollout-2026-01-06T12-00-00-{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        stamped = ({"timestamp": "2026-01-06T12:00:00.000Z", **each} for each in lines)
        path.write_bytes(
            b"".join(json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in stamped)
        )
        return path

    return write


def item(kind, **more):
    return "response_item", {"type": kind, **more}


def event(kind, **more):
    return "event_msg", {"type": kind, **more}


def message_line(role, text):
    part = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": part, "text": text}])


CALL = item("function_call", name="shell", arguments='{"cmd": "ls"}', call_id="c1")


def order(**more):
    fields = {"at": AT, "metadata": {"trim_metadata": {"parent_file": "/p"}}, "invariants": COMMON_INVARIANTS}
    return CopyOrder(**fields | more)


def copied(codex, path, *changes, **more):
    return codex.write_copy(codex.open(path), changes, order(**more)).transcript


def payloads(path):
    return [json.loads(line)["payload"] for line in path.read_bytes().splitlines()]


def record_at(codex, path, line_idx):
    return next(record for record in codex.read(path) if record.place.line_idx == line_idx)


def at(path, number):
    lines = path.read_bytes().splitlines(keepends=True)
    start = sum(map(len, lines[:number]))
    return Place(str(path), number, start, start + len(lines[number]))


def cut(place, part="result", call_id="c1", replacement="[less]"):
    return Cut(
        place=place,
        part=part,
        call_id=call_id,
        tool=None,
        original_chars=9,
        replacement=replacement,
        rationale="",
        key="K",
    )


@pytest.mark.parametrize("kind", ["function_call_output", "custom_tool_call_output"])
@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (LONG, "[less]"),
        (json.dumps({"output": LONG, "metadata": {"exit_code": 1}}), "[less]"),
        (
            [{"type": "input_text", "text": LONG}, {"type": "input_image", "image_url": "data:x"}],
            [{"type": "input_text", "text": "[less]"}],
        ),
        ({"content": LONG, "success": True}, {"content": "[less]", "success": True}),
        (
            {"content": LONG, "content_items": [1]},
            {"content": "[less]", "content_items": [{"type": "input_text", "text": "[less]"}]},
        ),
    ],
)
def test_an_output_keeps_its_shape(codex, source, kind, output, expected):
    """Text stays text, a list a list, an object an object; restored, each is what it was."""
    path = source(message_line("user", "Go"), CALL, item(kind, call_id="c1", output=output))
    copy = copied(codex, path, cut(at(path, 3)))
    assert payloads(copy)[3]["output"] == expected
    value = codex.original(record_at(codex, path, 3), "result", "c1")
    back = copied(codex, copy, RestoredPiece(place=at(copy, 3), part="result", call_id="c1", value=value))
    assert payloads(back)[3]["output"] == output


def test_events_that_repeat_a_cut_are_cut_too(codex, source):
    """Events that name the same call are cut; those of another call are left alone."""
    other = event("exec_command_end", call_id="c2", aggregated_output=LONG)
    path = source(
        message_line("user", "Go"),
        CALL,
        event(
            "item_completed",
            thread_id=OLD,
            item={"type": "CommandExecution", "id": "c1", "command": ["x" * 300], "aggregated_output": LONG},
        ),
        item("function_call_output", call_id="c1", output=LONG),
        event("exec_command_end", call_id="c1", stdout=LONG, aggregated_output=LONG, exit_code=0),
        event(
            "mcp_tool_call_end", call_id="c1", result={"Ok": {"content": [{"type": "text", "text": LONG}]}}
        ),
        other,
    )
    found = payloads(copied(codex, path, cut(at(path, 4))))
    note = "[suppressed: leftoff expand K]"
    assert found[3]["item"]["aggregated_output"] == note
    assert found[3]["item"]["command"] == ["x" * 300]
    assert (found[5]["stdout"], found[5]["exit_code"]) == (note, 0)
    assert (
        found[6]["result"]["Ok"]["content"] == [{"type": "text", "text": note}]
        or found[6]["result"]["Ok"]["content"] == []
    )
    assert found[7] == other[1]


def test_the_text_of_a_reply_is_cut_where_events_repeat_it(codex, source):
    """The text is cut in old and new events and at the end of the turn."""
    path = source(
        message_line("user", "Go"),
        event(
            "item_completed",
            item={"type": "AgentMessage", "id": "m", "content": [{"type": "Text", "text": LONG}]},
        ),
        message_line("assistant", LONG),
        event("agent_message", message=LONG),
        event("agent_message", message="other words"),
        event("task_complete", last_agent_message=LONG),
    )
    copy = copied(codex, path, cut(at(path, 3), part="text", call_id=None))
    assert b"secret" not in copy.read_bytes()
    assert payloads(copy)[3]["content"] == [{"type": "output_text", "text": "[less]"}]
    assert payloads(copy)[5]["message"] == "other words"
    back = copied(codex, copy, RestoredPiece(place=at(copy, 3), part="text", call_id=None, value=LONG))
    assert payloads(back)[3]["content"][0]["text"] == LONG


def test_inputs_stay_what_their_tools_take(codex, source):
    """Arguments are JSON in a string, a patch is words; the file's content in the event goes too."""
    command_arguments = json.dumps({"cmd": LONG, "workdir": "/w"})
    path = source(
        message_line("user", "Go"),
        item("function_call", name="shell", arguments=command_arguments, call_id="c1"),
        item("custom_tool_call", name="apply_patch", input=LONG, call_id="c2"),
        event("patch_apply_end", call_id="c2", changes={"/a": {"add": {"content": LONG}}}, success=True),
        item("function_call", name="odd", arguments="no json " * 90, call_id="c3"),
    )
    cuts = [
        cut(at(path, number), part="input", call_id=call)
        for number, call in ((2, "c1"), (3, "c2"), (5, "c3"))
    ]
    copy = copied(codex, path, *cuts)
    found = payloads(copy)
    assert json.loads(found[2]["arguments"]) == {"cmd": "[less]", "workdir": "/w"}
    assert found[3]["input"] == "[less]"
    assert found[5]["arguments"] == "[less]"
    assert b"secret" not in copy.read_bytes()
    assert codex.original(record_at(codex, path, 2), "input", "c1") == command_arguments


def test_thinking_is_removed_with_its_line_and_the_rest_is_renumbered(codex):
    """A paginated rollout has no gap in its numbers."""
    path = codex.home / "sessions" / "2026" / "11" / "15" / f"rollout-2026-11-15T19-46-07-{OLD}.jsonl"
    path.parent.mkdir(parents=True)
    shutil.copyfile(GOLDEN / "codex-0.166.0-exec-basic.jsonl", path)
    copy = copied(codex, path, cut(at(path, 10), part="thinking", call_id=None, replacement=""))
    lines = [json.loads(line) for line in copy.read_bytes().splitlines()]
    assert [line["ordinal"] for line in lines] == [*range(len(path.read_bytes().splitlines()) - 1)]
    assert not [line for line in lines if line["payload"].get("type") == "reasoning"]
    assert {line["payload"].get("thread_id", copy.stem[-36:]) for line in lines} == {copy.stem[-36:]}


def test_the_header_names_the_parent(codex, source):
    """A new id, the day's folder, the native field and the metadata; what the source said of its parent is gone."""
    path = source(message_line("user", "Go"))
    copy = copied(codex, path)
    assert copy.parent == codex.home / "sessions" / "2026" / "01" / "07"
    head = payloads(copy)[0]
    assert copy.name == f"rollout-2026-01-07T08-30-00-{head['id']}.jsonl"
    assert head["id"][14] == "7"
    assert head["forked_from_id"] == OLD
    assert head["trim_metadata"] == {"parent_file": "/p"}
    again = payloads(copied(codex, copy, metadata={"continue_metadata": {"parent_file": "/q"}}))[0]
    assert again.keys() & {"trim_metadata", "continue_metadata"} == {"continue_metadata"}
    assert again["forked_from_id"] == head["id"]


def test_a_rollout_without_a_head_gets_one(codex, source):
    """Codex does not resume a rollout without a header."""
    copy = copied(codex, source(message_line("user", "Go"), head=False))
    head = payloads(copy)[0]
    assert (head["source"], head["id"]) == ("cli", copy.stem[-36:])
    assert len(payloads(copy)) == 2


def test_a_fork_is_written_whole(codex):
    """The copy has what the fork inherits and needs no other rollout; the parent is unchanged."""
    folder = codex.home / "sessions" / "2026" / "11" / "15"
    folder.mkdir(parents=True)
    names = {}
    for name in ("fork", "hooks-autocompact"):
        golden = GOLDEN / f"codex-0.166.0-{name}.jsonl"
        names[name] = folder / f"rollout-2026-11-15T19-46-07-{codex.open(golden).session_id}.jsonl"
        shutil.copyfile(golden, names[name])
    parent = names["hooks-autocompact"].read_bytes()
    session = codex.open(names["fork"])
    assert codex.refusal(session) is None
    copy = copied(codex, names["fork"], used_tokens=100)
    lines = [json.loads(line) for line in copy.read_bytes().splitlines()]
    assert [line["ordinal"] for line in lines] == [*range(len(lines))]
    assert [line["type"] for line in lines].count("session_meta") == 1
    assert "history_base" not in lines[0]["payload"]
    opened = codex.open(copy)
    assert codex.live_chain(opened).messages(opened.records) == codex.live_chain(session).messages(
        session.records
    )
    assert names["hooks-autocompact"].read_bytes() == parent


def test_a_fork_without_its_parent_is_refused(codex):
    """Half of a conversation is not a copy of it."""
    path = codex.home / "rollout.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(GOLDEN / "codex-0.166.0-fork.jsonl", path)
    assert "what it inherits is missing" in codex.refusal(codex.open(path))


def test_a_newer_codex_with_unknown_items_is_refused(codex, source):
    """Only items are sent: unknown events and other lines do not prevent a copy."""
    path = source(message_line("user", "Go"), event("new_event"), ("new_line", {}), item("new_item"))
    assert codex.refusal(codex.open(path)) is None
    path.write_bytes(path.read_bytes().replace(b"0.166.0", b"0.999.0"))
    assert codex.refusal(codex.open(path)).endswith(": response_item/new_item")
    plain = source(message_line("user", "Go"))
    plain.write_bytes(plain.read_bytes().replace(b"0.166.0", b"0.999.0"))
    assert codex.refusal(codex.open(plain)) is None


def test_the_block_goes_into_a_replaced_history(codex, source):
    """The block is inserted before the user's first words in the history."""
    history = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "d"}]},
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "<environment_context>"}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Do it"}]},
    ]
    path = source(
        message_line("user", "Do it"), ("compacted", {"message": "s", "replacement_history": history})
    )
    found = payloads(copied(codex, path, block="[B]\nx\n[/B]"))
    assert found[2]["replacement_history"][2]["content"][0]["text"] == "[B]\nx\n[/B]\n\nDo it"
    assert found[1]["content"][0]["text"] == "Do it"


def test_usage_comes_down_and_the_sums_of_the_session_stay(codex, source):
    """Both lines that say it; what was paid for in all is not touched."""
    usage = {
        "input_tokens": 80_000,
        "cached_input_tokens": 40_000,
        "output_tokens": 1_000,
        "total_tokens": 81_000,
    }
    path = source(
        message_line("user", "Go"),
        ("token_usage_record", {"usage": usage, "thread_token_usage": usage}),
        event("token_count", info={"total_token_usage": usage, "last_token_usage": usage}, rate_limits=None),
        event("token_count", info=None),
    )
    found = payloads(copied(codex, path, used_tokens=8_100))
    low = {"input_tokens": 8_000, "cached_input_tokens": 4_000, "output_tokens": 100, "total_tokens": 8_100}
    assert found[2] == {"usage": low, "thread_token_usage": usage}
    assert found[3]["info"] == {"total_token_usage": usage, "last_token_usage": low}
    assert found[0]["trim_metadata"]["usage"]["original"]["total_tokens"] == 81_000


def test_a_compressed_rollout_is_read(codex, source):
    """The copy is not compressed."""
    zstd = pytest.importorskip("backports.zstd")
    path = source(message_line("user", "Go"), CALL, item("function_call_output", call_id="c1", output=LONG))
    place = at(path, 3)
    small = path.with_name(path.name + ".zst")
    small.write_bytes(zstd.compress(path.read_bytes()))
    path.unlink()
    copy = copied(codex, small, cut(place._replace(transcript=str(small))))
    assert payloads(copy)[3]["output"] == "[less]"
    assert codex.original(record_at(codex, small, 3), "result", "c1") == LONG


def test_lines_without_an_envelope_are_cut(codex):
    """Until August 2025 lines had no envelope, and the header itself has the id and metadata."""
    lines = [
        {"id": OLD, "timestamp": "2025-08-26T20:06:08.329Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": LONG},
    ]
    path = codex.home / f"rollout-2025-08-26T20-06-08-{OLD}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    copy = copied(codex, path, cut(at(path, 3)))
    found = [json.loads(line) for line in copy.read_bytes().splitlines()]
    assert found[0]["id"] == copy.stem[-36:]
    assert found[0]["trim_metadata"] == {"parent_file": "/p"}
    assert found[3]["output"] == "[less]"


def test_a_stale_cut_is_refused(codex, source):
    """The records to cut are no longer a message and a thought."""
    path = source(message_line("user", "Go"), CALL)
    for part in ("text", "thinking"):
        with pytest.raises(LeftoffError, match="Plan again"):
            copied(codex, path, cut(at(path, 2), part=part, call_id=None))
    assert codex.original(record_at(codex, path, 2), "thinking", None) is None


def test_a_fresh_session_is_three_lines(codex, tmp_path):
    """The head with its parent, the message for the model, and the event without which it is not listed."""
    fresh = codex.write_fresh(
        FreshOrder(
            at=AT, project=tmp_path, first_message="Hi", metadata={"continue_metadata": {}}, parent_id=OLD
        )
    )
    head, message, user_event = payloads(fresh.transcript)
    assert (head["forked_from_id"], head["source"], head["cwd"]) == (OLD, "cli", str(tmp_path.resolve()))
    assert message["content"] == [{"type": "input_text", "text": "Hi"}]
    assert (user_event["type"], user_event["message"]) == ("user_message", "Hi")


def test_another_folder_is_written_everywhere(codex, source, tmp_path):
    """The new folder is written in the header and in every turn."""
    path = source(message_line("user", "Go"), ("turn_context", {"cwd": "/home/dev/work", "model": "m"}))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    found = payloads(copied(codex, path, project=elsewhere))
    assert {each["cwd"] for each in found if "cwd" in each} == {str(elsewhere.resolve())}


@pytest.mark.parametrize(
    ("config", "provider"),
    [
        (None, "openai"),
        ('model_provider = "local"\n', "local"),
        ('model_provider = "a"\nprofile = "p"\n[profiles.p]\nmodel_provider = "b"\n', "b"),
        ("model_provider = 7\n", "openai"),
    ],
)
def test_a_session_without_provider_gets_that_of_the_settings(codex, source, tmp_path, config, provider):
    """Codex notes it of every session that it has seen, and opens none on its screen that names none."""
    codex.home.mkdir(exist_ok=True)
    if config:
        (codex.home / "config.toml").write_text(config, encoding="utf-8")
    fresh = codex.write_fresh(FreshOrder(at=AT, project=tmp_path, first_message="Hi", metadata={}))
    assert payloads(fresh.transcript)[0]["model_provider"] == provider
    assert payloads(copied(codex, source(message_line("user", "Go"))))[0]["model_provider"] == provider
    assert (
        payloads(copied(codex, source(message_line("user", "Go"), head=False)))[0]["model_provider"]
        == provider
    )


def test_the_provider_of_the_session_before_is_kept(codex, source, tmp_path):
    """A session continues only with the provider it began with, whatever the settings say now."""
    (codex.home / "config.toml").write_text('model_provider = "other"\n', encoding="utf-8")
    path = source(message_line("user", "Go"))
    path.write_bytes(path.read_bytes().replace(b'"source":"cli"', b'"source":"cli","model_provider":"local"'))
    fresh = codex.write_fresh(
        FreshOrder(at=AT, project=tmp_path, first_message="Hi", metadata={}, parent_id=OLD)
    )
    assert payloads(fresh.transcript)[0]["model_provider"] == "local"
    assert payloads(copied(codex, path))[0]["model_provider"] == "local"


def test_numbers_before_what_is_live_stay_but_for_the_last(codex, source):
    """What is no longer sent was not cut; but Codex goes by the last number in the file."""
    usage = {"input_tokens": 80_000, "output_tokens": 1_000, "total_tokens": 81_000}
    counted = event("token_count", info={"total_token_usage": usage, "last_token_usage": usage})
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Do it"}]}]
    compacted = ("compacted", {"message": "s", "replacement_history": history})
    path = source(
        message_line("user", "Do it"), counted, message_line("assistant", "Done"), counted, compacted
    )
    live = codex.live_pieces(codex.open(path), at_least_chars=1, head=9, tail=9)
    assert live.live_from == live.first_prompt == at(path, 5)
    found = payloads(copied(codex, path, used_tokens=8_100, live_from=live.live_from))
    assert [found[number]["info"]["last_token_usage"]["total_tokens"] for number in (2, 4)] == [81_000, 8_100]
    assert found[0]["trim_metadata"]["usage"]["replies"] == 1
    whole = payloads(copied(codex, path, used_tokens=8_100))
    assert [whole[number]["info"]["last_token_usage"]["total_tokens"] for number in (2, 4)] == [8_100, 8_100]


def test_the_last_number_can_be_written_up(codex, source):
    """After originals are restored, both lines with the last usage report what the copy takes now."""
    usage = {"input_tokens": 800, "cached_input_tokens": 400, "output_tokens": 10, "total_tokens": 810}
    path = source(
        message_line("user", "Go"),
        ("token_usage_record", {"usage": usage}),
        event("token_count", info={"total_token_usage": usage, "last_token_usage": usage}),
    )
    found = payloads(copied(codex, path, used_tokens=8_100, measured_at=(at(path, 2), at(path, 3))))
    high = {"input_tokens": 8_000, "cached_input_tokens": 4_000, "output_tokens": 100, "total_tokens": 8_100}
    assert found[2]["usage"] == high
    assert found[3]["info"] == {"total_token_usage": usage, "last_token_usage": high}


def test_an_id_that_a_tool_was_given_stays(codex, source):
    """Only the ids that a record has of its own are replaced; the input of a tool is left alone."""
    tool_input = {"session_id": OLD}
    path = source(
        message_line("user", "Go"),
        event(
            "mcp_tool_call_begin",
            call_id="c1",
            invocation={"tool": "t", "arguments": tool_input},
            thread_id=OLD,
        ),
        event("turn_started", thread_id=OLD),
    )
    copy = copied(codex, path)
    _, _, call, started = payloads(copy)
    assert call["invocation"]["arguments"] == tool_input
    assert call["thread_id"] == started["thread_id"] == payloads(copy)[0]["id"] != OLD
