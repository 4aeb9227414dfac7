"""Sessions that grow while they are copied: the copy and the check of the source end at the same byte."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.agents.claude import Claude
from leftoff.agents.claude.copy_checks import OUTLINER as CLAUDE_OUTLINER
from leftoff.agents.codex import Codex
from leftoff.agents.codex.copy_checks import OUTLINER as CODEX_OUTLINER
from leftoff.core.trim_plan import CopyOrder, Cut
from leftoff.shrink.invariants import COMMON_INVARIANTS
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript

AT = datetime(2026, 1, 6, 12, tzinfo=UTC)
CLIENTS = {"claude": (Claude, CLAUDE_OUTLINER), "codex": (Codex, CODEX_OUTLINER)}
STEP = 5  # bytes; shorter than any id


@pytest.fixture(params=CLIENTS)
def agent_id(request):
    return request.param


@pytest.fixture
def agent(agent_id, tmp_path):
    return CLIENTS[agent_id][0](home=tmp_path / agent_id)


@pytest.fixture
def transcript(agent):
    story = Story().asked("Go").replied("Looking.", call("shell", {"command": "ls"}, "a.py"))
    story.asked("And?").replied("More.", call("shell", {"command": "cat a.py"}, "pass"))
    folder = agent.home / ("projects/-p" if agent.id == "claude" else "sessions/2026/01/06")
    folder.mkdir(parents=True)
    stem = story.session_id if agent.id == "claude" else f"rollout-2026-01-06T12-00-00-{story.session_id}"
    write_transcript(agent, story.script(), folder / f"{stem}.jsonl")
    return folder / f"{stem}.jsonl"


def copied(agent, source: Path, growing: bytes) -> bytes:
    """The copy of a source to which something is added as soon as the copy has been read."""
    waiting = [growing]

    def progress(done: int, whole: int) -> None:
        if done >= whole and waiting:
            with source.open("ab") as file:
                file.write(waiting.pop())

    order = CopyOrder(
        at=AT,
        metadata={},
        used_tokens=9,
        invariants=(*COMMON_INVARIANTS, *agent.invariants),
        progress=progress,
    )
    copy = agent.write_copy(agent.open(source), (), order)
    assert not waiting
    data = copy.transcript.read_bytes()
    assert copy.size_bytes == len(data)
    copy.transcript.unlink()
    return data


def test_a_source_with_an_unfinished_last_line_can_be_copied(agent, transcript):
    """The last line may be torn anywhere and may be completed during the copy."""
    lines = transcript.read_bytes().splitlines(keepends=True)
    for number in (len(lines) - 1, len(lines) // 2):
        before, line = b"".join(lines[:number]), lines[number]
        for at in range(1, len(line), STEP):
            transcript.write_bytes(before + line[:at])
            data = copied(agent, transcript, line[at:])
            assert data.endswith(b"\n")
            assert data.count(b"\n") == number + 1


def test_lines_added_during_the_copy_do_not_hide_problems_of_the_source(agent, transcript):
    """Otherwise a copy could be refused for a problem that its source already had."""
    lines = transcript.read_bytes().splitlines(keepends=True)
    of_changed = CLIENTS[agent.id][1].changed
    request = next(
        number
        for number, line in enumerate(lines)
        if any(not answers for _, answers in of_changed(line).calls)
    )
    transcript.write_bytes(b"".join(lines[:request] + lines[request + 1 :]))
    flawed = copied(agent, transcript, lines[request])
    assert flawed.count(b"\n") == len(lines) - 1


@pytest.mark.parametrize("has_end", [True, False], ids=["ended", "torn"])
def test_an_outline_never_contains_half_an_id(agent_id, transcript, has_end):
    """A line that is cut anywhere yields only ids, parents and calls of the complete line."""
    outliner = CLIENTS[agent_id][1]
    for line in transcript.read_bytes().splitlines(keepends=True):
        whole = outliner.changed(line)
        following = b'{"x":"y"}\n' if has_end else b""
        for at in range(1, len(line) - 1):
            part = outliner.unchanged(line[:at] + (b"\n" + following if has_end else b""))
            if agent_id == "claude" or not has_end:
                assert {*part.ids} <= {*whole.ids}
                assert {*part.parent_ids} <= {*whole.parent_ids}
                assert {*part.calls} <= {*whole.calls}
            if not has_end:
                assert (part.ids, part.calls) == ([], [])
        assert outliner.unchanged(line.rstrip(b"\n")).calls == whole.calls
        assert outliner.unchanged(line.rstrip(b"\n")).ids == whole.ids


def test_a_torn_event_that_repeats_a_cut_stays_as_it_is(tmp_path):
    """An event that cannot be parsed cannot be shortened, but the copy is still made."""
    codex = Codex(tmp_path)
    name = "01a1e0be-dee8-7b23-ae31-94e0123734a3"
    path = tmp_path / "sessions" / f"rollout-2026-01-06T12-00-00-{name}.jsonl"
    path.parent.mkdir(parents=True)
    records = [
        (
            "session_meta",
            {"id": name, "timestamp": "t", "cwd": "/p", "cli_version": "0.166.0", "source": "cli"},
        ),
        ("response_item", {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c1"}),
        ("response_item", {"type": "function_call_output", "call_id": "c1", "output": "long " * 200}),
        ("event_msg", {"type": "exec_command_end", "call_id": "c1", "stdout": "long " * 200}),
    ]
    lines = [
        json.dumps({"timestamp": "t", "type": kind, "payload": payload}, separators=(",", ":")).encode()
        + b"\n"
        for kind, payload in records
    ]
    torn = lines[-1][: len(lines[-1]) // 2]
    path.write_bytes(b"".join(lines[:-1]) + torn)
    place = next(record.place for record in codex.read(path) if record.place.line_idx == 2)
    cut = Cut(
        place=place,
        part="result",
        call_id="c1",
        tool="shell",
        original_chars=1000,
        replacement="[cut]",
        rationale="long",
    )
    copy = codex.write_copy(
        codex.open(path), [cut], CopyOrder(at=AT, metadata={}, invariants=COMMON_INVARIANTS)
    )
    assert copy.transcript.read_bytes().splitlines()[-1] == torn
