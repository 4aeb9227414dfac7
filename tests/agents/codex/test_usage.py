"""How full the window is, from the end of a rollout."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.codex import Codex, items
from leftoff.agents.codex.usage import SAMPLE_CHARS, TURN_BYTES, TURN_ENDS, Reading, reading
from leftoff.core.metrics import Occupancy
from leftoff.core.records import Record, RecordKind
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript


@dataclass
class Row:
    """One line: what it is, the characters sent of it, and what it says of the window."""

    kind: RecordKind
    chars: int
    size: int
    used: int | None  # None: nothing is said; 0: a compaction
    is_estimate: bool
    model: str | None
    window: int | None


def row(record: Record) -> Row:
    """Straight from the raw line, without the code under test but for characters and kinds."""
    line = json.loads(record.raw) if record.kind is not RecordKind.BROKEN and record.raw.strip() else {}
    payload = line.get("payload") or {}
    numbers: dict[str, Any] = {}
    if line.get("type") == "token_usage_record":
        numbers = payload["usage"]
    elif payload.get("type") == "token_count":
        numbers = (payload["info"] or {}).get("last_token_usage") or {}
    used = 0 if line.get("type") == "compacted" else numbers.get("total_tokens")
    settings = payload.get("thread_settings") or (payload if line.get("type") == "turn_context" else {})
    is_estimate = bool(used) and not numbers["input_tokens"]
    window = (payload.get("info") or payload).get("model_context_window")
    chars = sum(map(items.chars, record.messages))
    return Row(record.kind, chars, len(record.raw), used, is_estimate, settings.get("model"), window)


def slowly(rows: list[Row], version: str | None) -> Occupancy:
    """Compute the same occupancy from all lines at once, by position."""
    read = [index for index, each in enumerate(rows) if each.used is not None]
    newest = read[-1] if read else -1
    replied = bool(read) and bool(rows[newest].used) and not rows[newest].is_estimate
    chars, tokens = sample(rows, read) if replied else (0, 0)
    return Occupancy(
        used_tokens=rows[newest].used or None if read else None,
        tail_chars=tail(rows, read, newest, version)
        if replied
        else sum(each.chars for each in rows[max(0, newest) :]),
        sample_chars=chars,
        sample_tokens=tokens,
        model=next((each.model for each in reversed(rows) if each.model), None),
        window_tokens=next((each.window for each in reversed(rows) if each.window), None),
        client_version=version,
        turn_ends_tokens=turn_ends(rows),
    )


def tail(rows: list[Row], read: list[int], newest: int, version: str | None) -> int:
    other = max((index for index in read if rows[index].used != rows[newest].used), default=-1)
    is_old = version is not None and tuple(map(int, version.split(".")[:2])) <= (0, 63)
    if is_old:
        first = min(index for index in read if index > other)
        return sum(each.chars for each in rows[first:] if each.kind is not RecordKind.REPLY)
    reply = max((index for index in range(newest) if rows[index].kind is RecordKind.REPLY), default=-1)
    before = rows[max(reply, other) + 1 : newest]
    return sum(each.chars for each in before if each.kind is not RecordKind.REPLY) + sum(
        each.chars for each in rows[newest:]
    )


def sample(rows: list[Row], read: list[int]) -> tuple[int, int]:
    compaction = max((index for index in read if rows[index].used == 0), default=-1)
    newest = rows[read[-1]].used or 0
    best = (0, 0)
    for index in reversed(read[:-1]):
        if index <= compaction:
            break
        if not rows[index].is_estimate:
            chars = sum(each.chars for each in rows[index : read[-1]])
            best = chars, newest - (rows[index].used or 0)
            if chars >= SAMPLE_CHARS:
                break
    return best if min(best) > 0 else (0, 0)


def turn_ends(rows: list[Row]) -> tuple[int, ...]:
    found: list[int] = []
    is_due, passed = True, 0
    for each in reversed(rows):
        if each.used == 0 or len(found) == TURN_ENDS or passed >= TURN_BYTES:
            break
        passed += each.size
        if each.kind is RecordKind.PROMPT:
            is_due = True
        elif is_due and each.used and not each.is_estimate:
            found.append(each.used)
            is_due = False
    return tuple(reversed(found))


def compare_at_every_step(codex: Codex, path: Path, copy: Path, *, step: int) -> None:
    """Grow a copy record by record, and compare the tail's answer with the slow one."""
    records = [*codex.read(path)]
    version = codex.occupancy(path).client_version
    rows: list[Row] = []
    copy.touch()
    for number, record in enumerate(records):
        rows.append(row(record))
        with copy.open("ab") as file:
            file.write(record.raw)
        near_compaction = any(each.used == 0 for each in rows[-12:])
        if number % step == 0 or near_compaction or number == len(records) - 1:
            assert codex.occupancy(copy) == slowly(rows, version), f"after record {number}"


def test_the_tail_agrees_with_the_whole_file_at_every_record_of_the_clients_files(
    codex: Codex, sample: Path, tmp_path: Path
) -> None:
    """Reading from the end gives the same answer as reading everything, wherever the client was stopped."""
    compare_at_every_step(codex, sample, tmp_path / "copy.jsonl", step=1)


@pytest.mark.slow
@pytest.mark.parametrize("step", [61, pytest.param(11, marks=pytest.mark.stress)])
def test_the_tail_agrees_with_the_whole_file_at_every_record_of_real_files(
    codex: Codex, real: Path, tmp_path: Path, step: int
) -> None:
    """The results are compared every few records, and at each record around a compaction."""
    compare_at_every_step(codex, real, tmp_path / "copy.jsonl", step=step)


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("0.142-compacted", 74_281),
        ("0.2alpha-fork-dec2025", 134_851),
        ("0.34-no-turn-context", 248_519),
        ("0.63-exec", 17_537),
        ("old-header-cjk", None),
    ],
)
def test_used_tokens_of_real_files_are_the_last_replys(
    codex: Codex, real_transcripts: Path, name: str, used: int | None
) -> None:
    """Used tokens are never the sum of all replies, which is 16.7 million in the first file."""
    assert codex.occupancy(real_transcripts / f"codex-{name}.jsonl").used_tokens == used


# Usage records and token counts in different orders


def usage(total: int) -> dict[str, Any]:
    numbers = {"input_tokens": total - 10, "output_tokens": 10, "total_tokens": total}
    return {"type": "token_usage_record", "payload": {"usage": numbers}}


def count(total: int, *, is_estimate: bool = False, window: int = 95_000) -> dict[str, Any]:
    numbers = {"input_tokens": 0 if is_estimate else total - 10, "output_tokens": 0, "total_tokens": total}
    info = {"last_token_usage": numbers, "model_context_window": window}
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def tool_call(call_id: str) -> dict[str, Any]:
    payload = {"type": "function_call", "name": "exec_command", "call_id": call_id, "arguments": "{}"}
    return {"type": "response_item", "payload": payload}


def tool_output(call_id: str, chars: int) -> dict[str, Any]:
    payload = {"type": "function_call_output", "call_id": call_id, "output": "x" * chars}
    return {"type": "response_item", "payload": payload}


def message(role: str, text: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    return {"type": "response_item", "payload": {"type": "message", "role": role, "content": content}}


def meta(version: str = "0.166.0") -> dict[str, Any]:
    return {"type": "session_meta", "payload": {"id": "t", "cwd": "/w", "cli_version": version}}


COMPACTED = {
    "type": "compacted",
    "payload": {"message": "", "replacement_history": [message("user", "k" * 50)["payload"]]},
}


@pytest.fixture
def look(codex: Codex, rollout: Callable[..., Path]) -> Callable[..., Occupancy]:
    """The occupancy of a rollout of these lines."""
    return lambda *lines: codex.occupancy(rollout(lines))


def test_the_later_of_the_two_readings_counts(look: Callable[..., Occupancy]) -> None:
    """While a tool runs, token_count is one reply old; token_usage_record is there already."""
    found = look(
        meta(),
        tool_call("1"),
        usage(60_080),
        tool_output("1", 30),
        count(60_080),
        tool_call("2"),
        usage(92_080),
    )
    assert (found.used_tokens, found.window_tokens, found.tail_chars) == (92_080, 95_000, 0)


def test_answers_before_a_repeated_reading_are_tail(look: Callable[..., Occupancy]) -> None:
    """The token_count behind the answers says what the reply took, and not what they add."""
    found = look(meta(), tool_call("1"), usage(60_080), tool_output("1", 3_000), count(60_080))
    assert (found.used_tokens, found.tail_chars) == (60_080, 3_000)
    later = look(
        meta(),
        tool_call("1"),
        usage(60_080),
        tool_output("1", 3_000),
        count(60_080),
        message("user", "and now"),
    )
    assert later.tail_chars == 3_007


def test_a_reply_that_is_still_coming_is_tail(look: Callable[..., Occupancy]) -> None:
    """A reply that is still being written has no usage reading yet."""
    found = look(
        meta(), tool_call("1"), usage(500), tool_output("1", 100), count(500), message("assistant", "y" * 40)
    )
    assert (found.used_tokens, found.tail_chars) == (500, 140)


def test_old_versions_wrote_the_reading_before_the_reply(look: Callable[..., Occupancy]) -> None:
    """The reading includes the reply that follows it and the answers before it."""
    lines = [
        tool_call("1"),
        tool_output("1", 100),
        count(500),
        message("assistant", "y" * 40),
        tool_call("2"),
        tool_output("2", 7),
    ]
    assert look(meta("0.34.0"), *lines).tail_chars == 7
    assert look(meta("0.34.0"), *lines, count(500)).tail_chars == 7


def test_right_after_a_compaction_nothing_is_known(look: Callable[..., Occupancy]) -> None:
    """The old number is not true any more; all that is sent now is tail."""
    found = look(meta(), message("user", "old"), usage(92_000), COMPACTED, message("user", "new"))
    assert (found.used_tokens, found.tail_chars, found.sample_chars) == (None, 53, 0)


def test_after_a_compaction_codex_own_estimate_counts(look: Callable[..., Occupancy]) -> None:
    """Codex's estimate counts until the next reply, and what follows it is tail."""
    found = look(meta(), usage(92_000), COMPACTED, count(6_690, is_estimate=True), message("user", "new"))
    assert (found.used_tokens, found.tail_chars) == (6_690, 3)
    assert found.turn_ends_tokens == ()


def test_a_reading_without_numbers_does_not_count(look: Callable[..., Occupancy]) -> None:
    """``info`` is null before the first reply, so the reading before it counts."""
    empty = {"type": "event_msg", "payload": {"type": "token_count", "info": None}}
    assert look(meta(), usage(500), empty).used_tokens == 500
    assert look(meta(), empty).used_tokens is None


def test_the_sample_is_text_between_two_readings(look: Callable[..., Occupancy]) -> None:
    """Far enough back that it says something; never across a compaction, never where the window shrank."""
    lines = [
        usage(1_000),
        tool_output("1", 15_000),
        usage(5_000),
        tool_output("2", 15_000),
        usage(9_000),
        tool_output("3", 9_999),
    ]
    found = look(meta(), *lines, usage(12_000))
    assert (found.sample_chars, found.sample_tokens) == (24_999, 7_000)
    assert look(meta(), usage(90_000), COMPACTED, tool_output("1", 50), usage(400)).sample_tokens == 0
    assert look(meta(), usage(90_000), tool_output("1", 50), usage(400)).sample_chars == 0


def test_the_end_of_each_turn_is_the_reading_before_the_next_prompt(look: Callable[..., Occupancy]) -> None:
    """Oldest first, the present turn last, not beyond the last compaction, and nine at the most."""
    turn = [message("user", "go"), usage(100), usage(200), message("user", "on"), usage(300)]
    assert look(meta(), *turn).turn_ends_tokens == (200, 300)
    assert look(meta(), *turn, COMPACTED, count(50, is_estimate=True), *turn).turn_ends_tokens == (200, 300)
    many = [each for number in range(1, 30) for each in (message("user", "go"), usage(number * 100))]
    assert look(meta(), *many).turn_ends_tokens == tuple(range(2_100, 3_000, 100))


def test_pictures_count_as_what_they_cost(look: Callable[..., Occupancy]) -> None:
    """A picture counts with its token cost, not with the length of its base64 data."""
    part = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 400_000}
    picture = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [part]}}
    assert look(meta(), usage(500), picture).tail_chars == 7_373


def test_the_work_does_not_grow_with_the_file(codex: Codex, home: Path) -> None:
    """A file six times as long needs about as many bytes read."""
    sizes = []
    for turns in (100, 600):
        story = Story(session_id=f"0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a{turns:04}")
        for number in range(turns):
            story.asked("Go on").replied(
                "Done", call("shell", {"command": "make"}, "line\n" * 800), used=number + 2_000
            )
        path = home / f"{turns}.jsonl"
        home.mkdir(exist_ok=True)
        write_transcript(codex, story.script(), path)
        before = read_bytes()
        codex.occupancy(path)
        sizes.append(read_bytes() - before)
    assert sizes[1] < 1.5 * sizes[0]


def test_a_compaction_is_a_reading_of_nothing_and_an_estimate_is_called_one() -> None:
    """The estimate of Codex has no input tokens."""
    assert reading({"type": "compacted", "payload": {}}) == Reading(None)
    numbers: dict[str, Any] = {"input_tokens": 0, "total_tokens": 6_690}
    line: dict[str, Any] = {
        "type": "event_msg",
        "payload": {"type": "token_count", "info": {"last_token_usage": numbers}},
    }
    assert reading(line) == Reading(6_690, is_estimate=True)
    assert reading({"type": "world_state", "payload": {}}) is None


def test_both_lines_with_a_reply_s_usage_are_readings() -> None:
    """The record directly after the reply, and the event after the answers to its calls."""
    numbers: dict[str, Any] = {"input_tokens": 5, "total_tokens": 7}
    event: dict[str, Any] = {"type": "token_count", "info": {"last_token_usage": numbers}}
    assert reading({"type": "token_usage_record", "payload": {"usage": numbers}}) == Reading(7)
    assert reading({"type": "event_msg", "payload": event}) == Reading(7)


def read_bytes() -> int:
    counted = Path("/proc/self/io")
    if not counted.exists():
        pytest.skip("this system does not count the bytes a process reads")
    return int(counted.read_text(encoding="ascii").split()[1])
