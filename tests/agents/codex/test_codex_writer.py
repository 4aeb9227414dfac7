"""An invented session, written as Codex would have, reads back as the same facts."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench import generate
from leftoff.agents.codex import Codex
from leftoff.agents.codex.items import split_output
from leftoff.core.records import Image, RecordKind, Text, ToolResult, ToolUse, Usage
from leftoff.core.session import ToolCall
from leftoff.errors import StorageError
from leftoff.testing.builders import Story, call
from leftoff.testing.script import Asked, Call, Event, Replied, Script
from tests.support.transcripts import write_transcript

CLIENTS = Path(__file__).parents[2] / "golden" / "clients"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+M8AAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)


@pytest.fixture
def write(codex: Codex, home: Path) -> Callable[..., Path]:
    """Writes a story down."""

    def to_file(story: Story | Script, name: str = "a") -> Path:
        home.mkdir(exist_ok=True)
        path = home / f"{name}.jsonl"
        write_transcript(codex, story.script() if isinstance(story, Story) else story, path)
        return path

    return to_file


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(raw) for raw in path.read_bytes().splitlines()]


def a_story() -> Story:
    story = (
        Story()
        .asked("Fix the login 日本語")
        .replied("Looking.", call("read", {"path": "/w/a.py"}, "x = 1\n"), thinking="Hm.")
    )
    return story.replied("", call("shell", {"command": "pytest"}, "1 failed", failed=True)).replied("Done ✓")


# The format


def test_every_line_is_numbered_and_of_a_known_shape(write: Callable[..., Path]) -> None:
    """0 to n-1, or the real client refuses the file; each line has the keys that its type has in the client's own files."""
    shapes = {shape(line) for path in CLIENTS.glob("codex-0.166.0-*.jsonl") for line in lines_of(path)}
    lines = lines_of(write(a_story().compacted("short").asked("more").replied("ok")))
    assert [line["ordinal"] for line in lines] == [*range(len(lines))]
    assert [line for line in lines if shape(line) not in shapes] == []
    assert lines[0]["type"] == "session_meta"
    assert lines[0]["payload"]["history_mode"] == "paginated"


def shape(line: dict[str, Any]) -> tuple[object, ...]:
    payload = line.get("payload", {})
    name, item = payload.get("type"), payload.get("item", {})
    return line.get("type"), name if isinstance(name, str) else None, item.get("type")


def test_a_line_holds_no_key_that_the_client_does_not_write(write: Callable[..., Path]) -> None:
    """Invented keys would be one more thing to keep apart; fewer than the client writes are fine."""
    known: dict[tuple[object, ...], set[str]] = {}
    for path in CLIENTS.glob("codex-0.166.0-*.jsonl"):
        for line in lines_of(path):
            known.setdefault(shape(line), set()).update(line.get("payload", {}))
    for line in lines_of(write(a_story().compacted("short"))):
        assert {*line["payload"]} - known[shape(line)] <= {"status"}


def test_the_same_script_gives_the_same_bytes(write: Callable[..., Path]) -> None:
    """Ids are derived from the session's id, so another session has other ids."""
    one, two = write(a_story(), "one").read_bytes(), write(a_story(), "two").read_bytes()
    other = write(Story(session_id="11111111-6d0c-4c7b-9d57-3f6c9d9a3b11", events=a_story().events), "other")
    assert one == two
    ids = [
        {line["payload"].get("id") for line in lines_of(other.with_name(f"{name}.jsonl"))}
        for name in ("one", "other")
    ]
    assert not (ids[0] & ids[1]) - {None}


def test_ids_are_unique_and_of_the_kind_codex_makes(write: Callable[..., Path]) -> None:
    """Codex's ids are UUIDs of version 7, which sort by time."""
    lines = lines_of(write(a_story()))
    turns = [line["payload"]["turn_id"] for line in lines if line["type"] == "turn_context"]
    assert {uuid.UUID(turn).version for turn in turns} == {7}
    ids = [
        line["payload"]["id"]
        for line in lines
        if line["type"] == "response_item" and line["payload"].get("id")
    ]
    assert len(ids) == len({*ids})


def test_each_turn_begins_and_ends_as_the_clients_do(write: Callable[..., Path]) -> None:
    """task_started, its context, the prompt; task_complete, or turn_aborted where a call was cut short."""
    story = (
        a_story()
        .asked("again")
        .replied("", call("shell", {"command": "sleep 9"}, None))
        .asked("last")
        .replied("ok")
    )
    names = [line["payload"].get("type") for line in lines_of(write(story)) if line["type"] == "event_msg"]
    marks = [name for name in names if name in {"task_started", "task_complete", "turn_aborted"}]
    assert marks == [
        "task_started",
        "task_complete",
        "task_started",
        "turn_aborted",
        "task_started",
        "task_complete",
    ]


def test_an_empty_script_is_a_header(codex: Codex, write: Callable[..., Path]) -> None:
    """A session in which nothing happened has only its header line."""
    path = write(Story())
    assert [record.type for record in codex.read(path)] == ["session_meta"]


# The facts


def test_usage_reads_back_exactly(codex: Codex, write: Callable[..., Path]) -> None:
    """All four usage numbers of every reply are read back, each reply once."""
    story = a_story()
    usages = [event.usage for event in story.events if isinstance(event, Replied)]
    read: dict[str | None, Usage] = {
        record.reply_id: record.usage for record in codex.read(write(story)) if record.usage
    }
    assert [*read.values()] == usages


def test_the_sums_are_those_of_the_session(write: Callable[..., Path]) -> None:
    """Usage is added up for the turn and for the thread, as Codex does it."""
    lines = lines_of(write(Story().asked("a").replied("b", used=5_000).asked("c").replied("d", used=6_000)))
    last = [line["payload"] for line in lines if line["type"] == "token_usage_record"][-1]
    assert last["turn_token_usage"]["total_tokens"] == 6_000
    assert last["thread_token_usage"]["total_tokens"] == 11_000


def test_a_compaction_reads_back_with_its_numbers(codex: Codex, write: Callable[..., Path]) -> None:
    """The summary, the tokens before and Codex's estimate are read back, and prompts are kept."""
    path = write(a_story().replied("full", used=160_000).compacted("THESUMMARY", after=9_000))
    (compaction,) = (record.compaction for record in codex.read(path) if record.compaction)
    assert (compaction.summary, compaction.before_tokens) == ("THESUMMARY", 160_000)
    assert codex.occupancy(path).used_tokens == 9_000
    session = codex.open(path)
    texts = [message.text for message in codex.live_chain(session).messages(session.records)]
    assert texts[2] == "Fix the login 日本語"
    assert texts[-1].endswith("THESUMMARY")


def test_a_compaction_keeps_only_the_last_prompts(codex: Codex, write: Callable[..., Path]) -> None:
    """At most 20,000 tokens of prompts are kept, so that the history of a long session is short."""
    story = Story()
    for number in range(5):
        story.asked(f"{number} " + "x" * 30_000)
    (record,) = (each for each in codex.read(write(story.compacted("short"))) if each.compaction)
    assert [message.text[:2] for message in record.messages[2:-1]] == ["3 ", "4 "]


def test_windows_are_counted_over_compactions(write: Callable[..., Path]) -> None:
    """Each has an id, and names the one before and the first."""
    lines = lines_of(write(a_story().compacted("one").asked("a").compacted("two")))
    first = lines[0]["payload"]["context_window"]["window_id"]
    one, two = (line["payload"] for line in lines if line["type"] == "compacted")
    assert [one["window_number"], two["window_number"]] == [1, 2]
    assert one["first_window_id"] == one["previous_window_id"] == two["first_window_id"] == first
    assert two["previous_window_id"] == one["window_id"] != two["window_id"]


@pytest.mark.parametrize(
    ("tool", "given", "command"),
    [
        ("shell", {"command": "ls | wc"}, "ls | wc"),
        ("read", {"path": "/w/a b.py"}, "cat '/w/a b.py'"),
        ("read", {"path": "/w/a.py", "offset": 11, "limit": 20}, "sed -n '11,30p' /w/a.py"),
        ("read", {"path": "/w/a.py", "limit": 20}, "sed -n '1,20p' /w/a.py"),
        ("read", {"path": "/w/a.py", "offset": 11}, "sed -n '11,$p' /w/a.py"),
        ("search", {"pattern": "a'b"}, "rg -n 'a'\"'\"'b' ."),
        ("search", {"pattern": "x", "path": "/w"}, "rg -n x /w"),
        ("list", {"path": "/w"}, "ls -1p /w"),
        ("fetch", {"url": "https://example.invalid/?a=1"}, "curl -sL 'https://example.invalid/?a=1'"),
    ],
)
def test_most_tools_are_shell_commands(
    codex: Codex, write: Callable[..., Path], tool: str, given: dict[str, Any], command: str
) -> None:
    """Tools are written as the shell commands that a model in Codex would type."""
    done = only_call(codex, write(Story().asked("go").replied("", call(tool, given, "printed"))))
    assert (done.tool, done.input) == ("exec_command", {"cmd": command, "workdir": "/home/dev/project"})
    assert done.result is not None
    assert split_output(done.result.text) == ("printed", 0)


def test_files_are_written_and_edited_by_patches(codex: Codex, write: Callable[..., Path]) -> None:
    """A free text, which names the file; what the screen shows has the change too."""
    added = write(
        Story().asked("go").replied("", call("write", {"path": "/w/a", "content": "one\ntwo\n"}, "ok")), "a"
    )
    done = only_call(codex, added)
    assert (done.tool, done.input) == (
        "apply_patch",
        "*** Begin Patch\n*** Add File: /w/a\n+one\n+two\n*** End Patch\n",
    )
    changed = write(
        Story().asked("go").replied("", call("edit", {"path": "/w/a", "old": "one", "new": "1\n2"}, "ok")),
        "b",
    )
    done = only_call(codex, changed)
    assert done.input == "*** Begin Patch\n*** Update File: /w/a\n@@\n-one\n+1\n+2\n*** End Patch\n"
    (shown,) = (
        line["payload"]["item"]
        for line in lines_of(changed)
        if line["payload"].get("item", {}).get("type") == "FileChange"
    )
    assert shown["changes"]["/w/a"]["unified_diff"].endswith("-one\n+1\n+2")


def test_the_list_of_things_to_do_is_a_plan(codex: Codex, write: Callable[..., Path]) -> None:
    """A to-do list is written in Codex's own terms."""
    given = {"items": [{"text": "look", "status": "completed"}]}
    done = only_call(codex, write(Story().asked("go").replied("", call("todo", given, "Plan updated"))))
    assert (done.tool, done.input) == ("update_plan", {"plan": [{"step": "look", "status": "completed"}]})
    assert done.result == ToolResult(call_id=done.call_id, parts=(Text(text="Plan updated"),))


def test_a_picture_is_viewed(codex: Codex, write: Callable[..., Path]) -> None:
    """The answer is the picture itself, behind any words."""
    seen = Call(tool="read", input={"path": "/w/a.png"}, answer=None, image=PNG)
    done = only_call(codex, write(script_of(seen), "a"))
    assert (done.tool, done.input) == ("view_image", {"path": "/w/a.png"})
    assert done.result is not None
    assert done.result.parts == (Image(media_type="image/png", size_bytes=len(PNG)),)
    worded = only_call(codex, write(script_of(replace(seen, answer="a dot")), "b"))
    assert worded.result is not None
    assert worded.result.text == "a dot"


def script_of(done: Call) -> Script:
    at = datetime(2026, 1, 6, 12, tzinfo=UTC)
    usage = Usage(input_tokens=10, output_tokens=5)
    return replace(
        Story().script(), events=(Asked(text="go", at=at), Replied(at=at, calls=(done,), usage=usage))
    )


@pytest.mark.parametrize("tool", ["shell", "edit", "todo", "some_servers_tool"])
def test_a_failure_is_written_for_every_tool(codex: Codex, write: Callable[..., Path], tool: str) -> None:
    """A failure is written as an exit code, which is taken from the answer if that names one."""
    done = only_call(
        codex, write(Story().asked("go").replied("", call(tool, {}, "Exit code 7\nboom", failed=True)))
    )
    assert done.failed
    assert done.result is not None
    assert split_output(done.result.text) == ("Exit code 7\nboom", 7)


def test_a_tool_of_another_name_keeps_name_and_input(codex: Codex, write: Callable[..., Path]) -> None:
    """A tool that Codex does not have keeps its name and input, and its answer has no header."""
    done = only_call(codex, write(Story().asked("go").replied("", call("recall", {"q": "x"}, "found"))))
    assert (done.tool, done.input) == ("recall", {"q": "x"})
    assert done.result is not None
    assert done.result.text == "found"


def only_call(codex: Codex, path: Path) -> ToolCall:
    (done,) = codex.open(path).tool_calls()
    return done


def test_a_long_invented_session_keeps_all_promises_of_a_chain(
    codex: Codex, write: Callable[..., Path]
) -> None:
    """Prompts, replies and calls of a generated session are all read back; no answer without its call."""
    script = generate.generate(seed=7, size_bytes=400_000)
    path = write(script)
    records = [*codex.read(path)]
    events: list[Event] = [*script.events]
    prompts = [record.text for record in records if record.kind is RecordKind.PROMPT]
    assert prompts == [event.text for event in events if isinstance(event, Asked)]
    calls = [block for record in records for block in record.blocks if isinstance(block, ToolUse)]
    call_count = sum(
        len(event.calls) if isinstance(event, Replied) else hasattr(event, "task") for event in events
    )
    assert len({call.call_id for call in calls}) == call_count
    assert not any(record.note for record in records)


# Safety


def test_nothing_is_left_of_a_session_that_cannot_be_written(codex: Codex, home: Path) -> None:
    """An event that fails in the middle takes the file along."""

    def events() -> Iterator[Event]:
        yield Asked(text="go", at=datetime(2026, 1, 6, tzinfo=UTC))
        raise RuntimeError("no more")

    home.mkdir()
    with pytest.raises(RuntimeError):
        write_transcript(codex, replace(Story().script(), events=events()), home / "a.jsonl")
    assert [*home.iterdir()] == []


def test_a_file_that_is_there_is_not_touched(codex: Codex, write: Callable[..., Path]) -> None:
    path = write(a_story())
    with pytest.raises(StorageError, match="exists already"):
        write_transcript(codex, a_story().script(), path)
