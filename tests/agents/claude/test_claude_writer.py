"""An invented session is written as the client would have written it, and reads back as the same facts."""

import json
import re
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.claude import Claude
from leftoff.core.records import Image, RecordKind, Text, ToolResult, ToolUse, Usage
from leftoff.errors import TranscriptError
from leftoff.testing.script import Asked, Call, Compacted, DelegatedTask, Event, Replied, Script
from tests.support.transcripts import write_transcript

START = datetime(2026, 1, 6, 12, tzinfo=UTC)
ID = "0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
TODOS: Any = [{"text": "write tests", "status": "in_progress"}]


def at(minutes: int) -> datetime:
    return START + timedelta(minutes=minutes)


def used(tokens: int) -> Usage:
    return Usage(input_tokens=3, output_tokens=97, cache_read_tokens=tokens - 600, cache_creation_tokens=500)


def call(tool: str, tool_input: dict[str, Any], answer: str | None = "ok", **fields: Any) -> Call:
    return Call(tool=tool, input=tool_input, answer=answer, **fields)


EVENTS: tuple[Event, ...] = (
    Asked(text="Please mend the login 日本語", at=at(0)),
    Replied(
        at=at(1),
        text="I look.",
        thinking="Where is it?",
        calls=(
            call("read", {"path": "/p/a.py", "offset": 7, "limit": 2}, "def a():\n    ..."),
            call("shell", {"command": "pytest"}, "Exit code 1\n1 failed", failed=True),
            call("read", {"path": "/p/a.png"}, "", image=PNG),
        ),
        usage=used(30_000),
    ),
    Replied(
        at=at(2),
        calls=(
            call("edit", {"path": "/p/a.py", "old": "a", "new": "b"}),
            call("write", {"path": "/p/b.py", "content": "b"}),
            call("search", {"pattern": "login", "path": "/p"}, "/p/a.py:7:login"),
            call("list", {"path": "/p"}, "a.py\nb.py"),
            call("todo", {"items": TODOS}),
            call("fetch", {"url": "https://example.invalid"}, "a page"),
            call("deploy", {"to": "staging"}),
            call("shell", {"command": "seq 9999"}, "\n".join(map(str, range(9_999)))),
        ),
        usage=used(40_000),
    ),
    DelegatedTask(
        task="Count the files",
        steps=(
            Replied(
                at=at(3),
                text="On it.",
                calls=(call("shell", {"command": "ls"}, "SUBOUTPUT"),),
                usage=used(9_000),
            ),
        ),
        answer="There are 7.",
        at=at(3),
        usage=used(45_000),
    ),
    Replied(at=at(4), text="Seven files.", usage=used(46_000)),
    Compacted(
        summary="The login is mended.", before_tokens=46_000, after_tokens=4_000, automatic=True, at=at(5)
    ),
    Asked(text="And the logout?", at=at(6)),
    Replied(at=at(7), text="Too.", calls=(call("shell", {"command": "sleep 99"}, None),), usage=used(9_000)),
)


def script(*events: Event, model: str = "claude-opus-5-5") -> Script:
    return Script(
        session_id=ID,
        project="/home/dev/p",
        branch="main",
        model=model,
        window_tokens=1_000_000,
        events=events,
    )


@pytest.fixture
def transcript(claude: Claude) -> Path:
    path = claude.home / f"projects/-home-dev-p/{ID}.jsonl"
    write_transcript(claude, script(*EVENTS), path)
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_story_reads_back(claude: Claude, transcript: Path) -> None:
    """Prompts, replies, occupancy and the compaction are those of the story."""
    records = [*claude.read(transcript)]
    assert [record.text for record in records if record.kind is RecordKind.PROMPT] == [
        "Please mend the login 日本語",
        "And the logout?",
    ]
    replies = [record.text for record in records if record.kind is RecordKind.REPLY and record.text]
    assert replies == ["I look.", "Seven files.", "Too."]
    assert claude.occupancy(transcript).used_tokens == 9_000
    (boundary,) = (each for each in records if each.compaction and each.compaction.trigger)
    assert boundary.compaction is not None
    assert (
        boundary.compaction.trigger,
        boundary.compaction.before_tokens,
        boundary.compaction.after_tokens,
    ) == ("auto", 46_000, 4_000)
    assert {record.branch for record in records if record.id} == {"main"}


def test_tools_are_the_clients_own(claude: Claude, transcript: Path) -> None:
    """Names and inputs are translated; unknown tools are passed through."""
    calls = [
        block for record in claude.read(transcript) for block in record.blocks if isinstance(block, ToolUse)
    ]
    names = [use.tool for use in calls]
    assert names[:3] == ["Read", "Bash", "Read"]
    assert names[3:] == [
        "Edit",
        "Write",
        "Grep",
        "Glob",
        "TodoWrite",
        "WebFetch",
        "deploy",
        "Bash",
        "Agent",
        "Bash",
    ]
    assert calls[0].input == {"file_path": "/p/a.py", "offset": 7, "limit": 2}
    assert calls[3].input == {"file_path": "/p/a.py", "old_string": "a", "new_string": "b"}
    assert calls[7].input == {
        "todos": [{"content": "write tests", "status": "in_progress", "activeForm": "write tests"}]
    }


def test_answers_have_the_form_of_the_client(claude: Claude, transcript: Path) -> None:
    """Lines of a file are numbered, failures are marked and pictures become blocks, as the client does it."""
    results = [
        block
        for record in claude.read(transcript)
        for block in record.blocks
        if isinstance(block, ToolResult)
    ]
    assert results[0].text == "7\tdef a():\n8\t    ..."
    assert (results[1].text, results[1].is_error) == ("Exit code 1\n1 failed", True)
    assert results[2].parts == (Image(media_type="image/png", size_bytes=len(PNG)),)


def test_large_output_is_saved_to_a_separate_file(claude: Claude, transcript: Path) -> None:
    """The model is sent its beginning and where the rest is."""
    results = [
        block.text
        for record in claude.read(transcript)
        for block in record.blocks
        if isinstance(block, ToolResult)
    ]
    (saved,) = re.findall(r"^<persisted-output>\n.*?saved to: (.+)$", "\n".join(results), re.MULTILINE)
    assert Path(saved).read_text(encoding="utf-8").endswith("\n9998")
    assert Path(saved).parent == transcript.with_suffix("") / "tool-results"


def test_a_reply_is_one_line_per_block_with_the_same_id_and_usage(transcript: Path) -> None:
    """The client writes each block of a reply on its own line."""
    first = [line for line in lines(transcript) if line["type"] == "assistant"][:5]
    assert [line["message"]["content"][0]["type"] for line in first] == [
        "thinking",
        "text",
        *["tool_use"] * 3,
    ]
    assert len({line["message"]["id"] for line in first}) == 1
    assert len({json.dumps(line["message"]["usage"]) for line in first}) == 1


def test_tools_side_by_side_are_branches(transcript: Path) -> None:
    """Each answer hangs from its request, the next reply from the last answer."""
    found = lines(transcript)
    uuid_of_call = {
        line["message"]["content"][0].get("id"): line["uuid"] for line in found if line["type"] == "assistant"
    }
    answers = [line for line in found if line["type"] == "user" and "toolUseResult" in line]
    for line in answers:
        assert (
            line["parentUuid"]
            == line["sourceToolAssistantUUID"]
            == uuid_of_call[line["message"]["content"][0]["tool_use_id"]]
        )
    after = next(line for line in found[found.index(answers[2]) :] if line["type"] == "assistant")
    assert after["parentUuid"] == answers[2]["uuid"]


def test_every_line_of_the_chain_has_what_the_client_wants(transcript: Path) -> None:
    """Ids that are unique, parents that come before, times that never go back, the session's id."""
    seen: set[str] = set()
    times: list[str] = []
    for line in lines(transcript):
        if "uuid" in line:
            assert line["parentUuid"] is None or line["parentUuid"] in seen
            assert line["uuid"] not in seen
            assert {"sessionId", "version", "cwd", "gitBranch", "isSidechain", "userType"} <= line.keys()
            seen.add(line["uuid"])
            times.append(line["timestamp"])
    assert times == sorted(times)
    assert transcript.stat().st_mode & 0o777 == stat.S_IRUSR | stat.S_IWUSR


def test_a_subagent_has_a_file_of_its_own(claude: Claude, transcript: Path) -> None:
    """A subagent's work is not in the session's file, and a notice brings its answer."""
    (inner,) = claude.subagents(transcript)
    assert b"SUBOUTPUT" in inner.read_bytes()
    assert b"SUBOUTPUT" not in transcript.read_bytes()
    actors = {record.actor for record in claude.read(inner)}
    assert actors == {inner.stem.removeprefix("agent-")}
    assert any(
        "There are 7." in record.text
        for record in claude.read(transcript)
        if record.kind is RecordKind.CONTEXT
    )


def test_after_the_compaction_its_summary_and_the_rest_are_sent(claude: Claude, transcript: Path) -> None:
    """The call that was interrupted is at the end."""
    session = claude.open(transcript)
    blocks = [
        block for message in claude.live_chain(session).messages(session.records) for block in message.blocks
    ]
    assert isinstance(blocks[0], Text)
    assert blocks[0].text.endswith("Summary:\nThe login is mended.")
    assert [getattr(block, "text", None) for block in blocks[1:3]] == ["And the logout?", "Too."]
    assert isinstance(blocks[3], ToolUse)
    assert len(blocks) == 4


def test_the_same_script_gives_the_same_bytes(claude: Claude, transcript: Path, tmp_path: Path) -> None:
    """Ids are derived from the session's id, so another session has other ids."""
    again = tmp_path / "again" / transcript.name
    write_transcript(claude, script(*EVENTS[:1]), again)
    first = tmp_path / "first" / transcript.name
    write_transcript(claude, script(*EVENTS[:1]), first)
    assert again.read_bytes() == first.read_bytes()


def test_the_requested_model_names_the_larger_window(claude: Claude, tmp_path: Path) -> None:
    """The client names the requested model beside the model that answered."""
    path = tmp_path / "t.jsonl"
    write_transcript(claude, script(*EVENTS[:2], model="claude-sonnet-4-5[1m]"), path)
    reply = next(line for line in lines(path) if line["type"] == "assistant")
    assert (reply["requestedModel"], reply["message"]["model"]) == (
        "claude-sonnet-4-5[1m]",
        "claude-sonnet-4-5",
    )
    assert claude.occupancy(path).model == "claude-sonnet-4-5[1m]"


def test_an_endless_script_is_written_as_it_comes(claude: Claude, tmp_path: Path) -> None:
    """Events are read one at a time, and none is kept in memory."""
    events = iter([Asked(text="go", at=at(0)), Replied(at=at(1), text="yes", usage=used(1_000))])
    endless = Script(session_id=ID, project="/p", branch="main", model="m", window_tokens=1, events=events)
    write_transcript(claude, endless, tmp_path / "t.jsonl")
    assert claude.occupancy(tmp_path / "t.jsonl").used_tokens == 1_000


def test_a_file_that_is_there_is_never_replaced(claude: Claude, transcript: Path) -> None:
    before = transcript.read_bytes()
    with pytest.raises(TranscriptError, match="exists already"):
        write_transcript(claude, script(*EVENTS), transcript)
    assert transcript.read_bytes() == before
