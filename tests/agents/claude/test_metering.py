"""Every reply's occupancy, fast, is the same as the slow way."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.claude import Claude
from leftoff.agents.claude.metering import Metered, usages
from leftoff.model.records import Record, Usage

Line = dict[str, Any]


def reply(reply_id: str, output: int, **fields: Any) -> Line:
    usage = {"input_tokens": 10, "output_tokens": output}
    return {
        "type": "assistant",
        "message": {"id": reply_id, "model": "m", "content": [], "usage": usage},
        **fields,
    }


def test_a_reply_on_several_lines_comes_once(written: Callable[..., Path]) -> None:
    """With its greatest number and the place of its last line."""
    path = written(reply("1", 1), reply("1", 7), reply("1", 7), reply("1", 3), reply("2", 4))
    first, second = usages(path)
    assert (first.reply_id, first.usage.output_tokens) == ("1", 7)
    assert path.read_bytes()[first.start :].count(b"\n") == 2
    assert (second.reply_id, second.usage, second.model) == (
        "2",
        Usage(input_tokens=10, output_tokens=4),
        "m",
    )


def test_numbers_inside_other_objects_do_not_count(written: Callable[..., Path]) -> None:
    """Of a subagent's messages in progress lines, of a tool's input, of sidechains."""
    inner = reply("9", 9)
    asked = reply("1", 5)
    asked["message"]["content"] = [
        {"type": "tool_use", "id": "t", "name": "X", "input": {"usage": {"input_tokens": 99}}}
    ]
    path = written(
        {"type": "progress", "data": {"message": inner}}, reply("2", 8, isSidechain=True), asked, [inner]
    )
    assert [found.reply_id for found in usages(path)] == ["1"]


def test_glued_torn_and_damaged_lines_cost_no_reply(written: Callable[..., Path]) -> None:
    """What a full read finds is found."""
    glued = b'{"type":"assistant","message":{"id":"1","usage":{"input_tokens":5}}}{"type":"assistant","message":{"id":"2","usage":{"input_tokens":6}}}\n'
    damaged = b'{"type":"assistant","x":"\xff","message":{"id":"3","usage":{"input_tokens":7}}}\n'
    torn = b'{"type":"assistant","message":{"id":"4","usage":{"input_tokens":8}'
    assert [found.reply_id for found in usages(written(glued, damaged, torn))] == ["1", "2", "3"]


def test_white_space_in_the_lines_costs_no_reply(written: Callable[..., Path]) -> None:
    """Other tools write transcripts anew with their own habits."""
    lines = [json.dumps(reply("1", output)).encode() + b"\n" for output in (1, 7, 3)]
    (found,) = usages(written(*lines))
    assert found.usage.output_tokens == 7


def test_blocks_do_not_cut_lines(written: Callable[..., Path]) -> None:
    """Lines across the borders of what is read at once, the longest longer than that."""
    long = {"type": "user", "message": {"content": "x" * 1_500_000}}
    lines = [
        line
        for number in range(40)
        for line in (reply(str(number), number), {"type": "mode", "x": "y" * 70_000})
    ]
    found = [found.reply_id for found in usages(written(long, *lines, long, reply("last", 1)))]
    assert found == [*map(str, range(40)), "last"]


def test_an_empty_file_has_none(written: Callable[..., Path]) -> None:
    assert [*usages(written())] == []


@pytest.mark.slow
def test_the_fast_way_is_the_slow_way_on_all_real_transcripts(claude: Claude, real_transcripts: Path) -> None:
    """Every reply, its numbers, its model and its place."""
    for transcript in sorted(real_transcripts.rglob("claude-*.jsonl")):
        assert [*usages(transcript)] == _slow(claude.read(transcript)), transcript.name


def _slow(records: Any) -> list[Metered]:
    found: list[Metered] = []
    record: Record
    for record in records:
        if record.usage is None or record.actor is not None:
            continue
        here = Metered(record.place.start, record.reply_id, record.usage, record.model)
        if found and found[-1].reply_id == here.reply_id:
            before = found.pop()
            if before.usage.occupancy_tokens >= here.usage.occupancy_tokens:
                here = here._replace(usage=before.usage)
        found.append(here)
    return found
