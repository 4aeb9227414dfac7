"""The fast path's look at the end of a transcript: the same tokens and level as the full meter, wherever the file ends."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from leftoff.agents import claude, codex
from leftoff.agents.registry import agent_of
from leftoff.core.metrics import AgentWindow, Occupancy, Thresholds, measure
from leftoff.live import fast
from leftoff.platform import clock

CLAUDE = claude.here().fast_path
SAMPLED = 12  # ends of each transcript that the normal run looks at
WINDOW = AgentWindow(window_tokens=200_000, window_basis="table", compacts_at_tokens=167_000)


def names():
    """The real transcripts whose end the fast path can read; the fixture skips where there are none."""
    return ["claude", "codex"]


def transcripts_of(folder: Path, agent_id: str):
    for path in sorted(folder.rglob("*.jsonl")):
        if path.name.startswith(agent_id) or path.parent.name == "compacted":
            agent = agent_of(path)
            if agent.id == agent_id:
                yield agent, path


def level(used: int | None):
    metrics = measure(
        Occupancy(used_tokens=used), WINDOW, windows={}, observed_compaction_tokens=None, at=clock.now()
    )
    return Thresholds().level(metrics)


def disagreements(agent, path: Path, ends, scratch: Path):
    """Ends of the file at which the two differ."""
    data = path.read_bytes()
    for end in ends:
        scratch.write_bytes(data[:end])
        full = agent.occupancy(scratch).used_tokens
        seen = fast.look(agent.fast_path, str(scratch))
        assert seen is not None
        if seen[0] != full or level(seen[0]) != level(full):
            yield end, seen[0], full


def boundaries(agent, path: Path):
    return [record.place.end for record in agent.read(path)]


def is_fork(path: Path) -> bool:
    """A fork's own file holds only its end; only the full program reads the session it was forked from."""
    return b'"history_base":{' in path.read_bytes()[:100_000]


@pytest.mark.slow
@pytest.mark.parametrize("agent_id", names())
def test_it_agrees_with_the_full_meter_on_real_transcripts(real_transcripts, agent_id, tmp_path):
    """Both are compared at record boundaries, at compactions and in the middle of a line."""
    looked = 0
    for agent, path in transcripts_of(real_transcripts, agent_id):
        if is_fork(path):
            continue
        every = boundaries(agent, path)
        picked = random.Random(path.name).sample(every, min(SAMPLED, len(every)))
        around = [
            end
            for record in agent.read(path)
            if record.compaction is not None
            for end in (record.place.start, record.place.end)
        ][:8]
        ends = {*picked, *around, every[0], every[-1], every[-1] - 1}
        assert [*disagreements(agent, path, sorted(ends), tmp_path / path.name)] == [], path.name
        looked += len(ends)
    assert looked > 50


@pytest.mark.stress
@pytest.mark.parametrize("agent_id", names())
def test_it_agrees_at_every_record_boundary(real_transcripts, agent_id, tmp_path):
    for agent, path in transcripts_of(real_transcripts, agent_id):
        if not is_fork(path):
            ends = boundaries(agent, path)
            assert [*disagreements(agent, path, ends, tmp_path / path.name)] == [], path.name


# Cases that real transcripts may not show


def reply(name, tokens, **more):
    usage = {"input_tokens": tokens - 30, "cache_read_input_tokens": 20, "output_tokens": 10}
    message = {"id": name, "model": "claude-sonnet-4-5", "usage": usage, "content": []}
    return {"type": "assistant", "message": message, "uuid": "u", "sessionId": "s"} | more


def user(text="x", **more):
    return {
        "type": "user",
        "message": {"role": "user", "content": text},
        "uuid": "u",
        "sessionId": "s",
    } | more


def boundary(after):
    return {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"postTokens": after}}


def micro(before, saved):
    metadata = {"preTokens": before, "tokensSaved": saved}
    return {"type": "system", "subtype": "microcompact_boundary", "microcompactMetadata": metadata}


SUMMARY = user("the summary", isCompactSummary=True)
CLAUDE_CASES = {
    "nothing": ([], None),
    "no reply yet": ([user()], None),
    "one reply": ([user(), reply("a", 1000)], 1000),
    "one on several lines, the greatest counts": ([reply("a", 1000), user(), reply("a", 900)], 1000),
    "also when it came last": ([reply("a", 900), user(), reply("a", 1000)], 1000),
    "a reply before is another's": ([reply("a", 5000), reply("b", 900)], 900),
    "replies without a name are their own": ([reply(None, 5000), reply(None, 900)], 900),
    "a subagent's does not count": ([reply("a", 1000), reply("b", 9000, isSidechain=True)], 1000),
    "an error does not count": ([reply("a", 1000), reply("b", 9000, isApiErrorMessage=True)], 1000),
    "after a compaction the client's number": ([reply("a", 9000), boundary(700), SUMMARY, user()], 700),
    "after one that says nothing": ([reply("a", 9000), boundary(None), SUMMARY], None),
    "after a summary without a boundary": ([reply("a", 9000), SUMMARY, user()], None),
    "after a compaction and a reply": ([reply("a", 9000), boundary(700), SUMMARY, reply("b", 800)], 800),
    "the same name before a compaction": ([reply("a", 9000), boundary(700), reply("a", 800)], 800),
    "less what was cleared": ([reply("a", 9000), micro(5000, 2000)], 7000),
    "cleared between its lines": ([reply("a", 9000), micro(5000, 2000), reply("a", 8000)], 7000),
    "cleared before it": ([reply("b", 100), micro(5000, 2000), reply("a", 8000)], 8000),
    "cleared without numbers": ([reply("a", 9000), micro(5000, None)], 4000),
    "the largest number that is believed": ([reply("a", 10**12 + 30)], 10**12 + 30),
    "a larger number": ([reply("a", 10**12 + 31)], 30),
}


def written(path: Path, lines) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("case", CLAUDE_CASES)
def test_replies_count_as_the_full_meter_counts_them(case, tmp_path):
    """The fast path and the full program count the same tokens in every case."""
    lines, used = CLAUDE_CASES[case]
    path = written(tmp_path / "t.jsonl", lines)
    assert claude.here().occupancy(path).used_tokens == used
    assert fast.look(CLAUDE, str(path))[0] == used


def reading(tokens, window=95_000):
    usage = {"input_tokens": tokens - 10, "output_tokens": 10, "total_tokens": tokens}
    info = {"last_token_usage": usage, "model_context_window": window}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def early(tokens):
    return {
        "type": "token_usage_record",
        "payload": {"usage": {"input_tokens": tokens, "total_tokens": tokens}},
    }


META = {"type": "session_meta", "payload": {"id": "01a1e0be-dee8-7b23-ae31-94e0123734a3"}}
COMPACTED = {"type": "compacted", "payload": {"message": "", "replacement_history": []}}
CODEX_CASES = {
    "no reading yet": ([META], None, None),
    "a reading": ([META, reading(500)], 500, "95000"),
    "the later of the two forms": ([META, reading(500), early(900)], 900, None),
    "a compaction without one since": ([META, reading(500), COMPACTED], None, None),
    "a compaction and one since": ([META, reading(500), COMPACTED, reading(60)], 60, "95000"),
    "one that says nothing": (
        [META, reading(500), {"type": "event_msg", "payload": {"type": "token_count"}}],
        500,
        "95000",
    ),
}


@pytest.mark.parametrize("case", CODEX_CASES)
def test_readings_count_as_the_full_meter_counts_them(case, tmp_path):
    """Each case as it is said here, by both; and what it says of the window."""
    lines, used, about = CODEX_CASES[case]
    path = written(tmp_path / "t.jsonl", lines)
    assert codex.here().occupancy(path).used_tokens == used
    seen = fast.look(codex.here().fast_path, str(path))
    assert (seen[0], seen[2]) == (used, about)


def test_the_model_has_the_name_that_was_requested(tmp_path):
    """Only the requested name keeps the suffix of the larger window."""
    path = written(tmp_path / "t.jsonl", [reply("a", 1000, requestedModel="claude-sonnet-4-5[1m]")])
    assert fast.look(CLAUDE, str(path))[2] == "claude-sonnet-4-5[1m]"


@pytest.mark.parametrize("size", [10, 16_000, 16_384, 16_400, 70_000, 300_000])
def test_a_long_line_behind_the_last_reply_is_passed_over(tmp_path, size):
    """The line may be of any length around the steps in which the file is read."""
    path = written(tmp_path / "t.jsonl", [user(), reply("a", 1000), user("y" * size)])
    assert fast.look(CLAUDE, str(path))[0] == 1000
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert fast.look(CLAUDE, str(path))[0] == 1000


def test_glued_torn_and_hostile_lines_are_read_as_far_as_they_go(tmp_path):
    """Two objects on one line, NULs of a crash, half a line, deep nesting, invalid UTF-8 and absurd numbers are survived."""
    path = tmp_path / "t.jsonl"
    good = json.dumps(reply("a", 1000))
    path.write_text(good + json.dumps(reply("b", 2000)) + "\n", encoding="utf-8")
    assert fast.look(CLAUDE, str(path))[0] == 2000
    whole = path.read_bytes()
    for end in (
        b'{"type":"assistant","message":{"usage":{"input_tokens":5',
        b'{"put_tokens":' + b"[" * 100_000,
        b"\0\0\0\n",
        b'\xff\xfe put_tokens"\n',
        b'[1, "put_tokens"]\n',
        b'{"type":"assistant","message":{"id":"c","usage":{"input_tokens":1e400,"output_tokens":-5}}}\n',
        b'{"type":"assistant","message":{"id":"c","usage":{"input_tokens":NaN}}}\n',
    ):
        path.write_bytes(whole + end)
        assert fast.look(CLAUDE, str(path))[0] == 2000, end[:40]


@pytest.mark.parametrize("path", [None, "", "/nowhere/t.jsonl", "a\0b"])
def test_without_a_transcript_nothing_is_seen(path):
    """A new session has none at its first prompt."""
    assert fast.look(CLAUDE, path) is None
    assert fast.look(None, __file__) is None


@pytest.mark.parametrize("gap", [b"", b"\0" * 700, b" \t\r" * 300, b" " * 255, b"\0" * 256, b" " * 257])
def test_glued_objects_are_found_whatever_is_between_them(gap: bytes) -> None:
    line = gap + gap.join([b'{"n":%d}' % number for number in range(5)]) + gap + b"\n"
    assert fast.objects(line) == [{"n": number} for number in range(5)]
    assert fast.objects(line + b"torn") == fast.objects(line)
