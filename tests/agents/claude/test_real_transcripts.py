"""Real transcripts of 2025 and 2026, versions 1.0.17 to 2.1.116: all of each is understood, and its numbers are right."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leftoff.agents.claude import Claude
from leftoff.core.records import Record, RecordKind, ToolResult, ToolUse

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def transcripts(real_transcripts: Path) -> list[Path]:
    found = sorted(real_transcripts.rglob("claude-*.jsonl"))
    assert len(found) >= 16
    return found


def test_nothing_is_dropped_and_nothing_is_unknown(claude: Claude, transcripts: list[Path]) -> None:
    """The records tile each file; every object of it is one record; no type is unknown, no line broken."""
    for path in transcripts:
        data, end = path.read_bytes(), 0
        kinds: Counter[RecordKind] = Counter()
        for record in claude.read(path):
            assert record.place.start == end
            end = record.place.end
            kinds[record.kind] += 1
        assert end == len(data), path.name
        assert kinds[RecordKind.UNKNOWN] == kinds[RecordKind.BROKEN] == 0, (path.name, kinds)
        assert kinds.total() == sum(1 for _ in _objects(path)), path.name


def test_tokens_are_those_of_an_independent_count(claude: Claude, transcripts: list[Path]) -> None:
    """The expected numbers are counted here without leftoff's own code."""
    for path in transcripts:
        assert claude.occupancy(path).used_tokens == _independent_count(path), path.name


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    for line in path.read_text(encoding="utf-8").split("\n"):
        rest = line.strip()
        while rest:
            value, end = decoder.raw_decode(rest)
            yield value
            rest = rest[end:].strip()


def _independent_count(path: Path) -> int | None:
    last: str | None = None
    used: int | None = None
    for line in _objects(path):
        if line.get("subtype") == "compact_boundary":
            used, last = line["compactMetadata"].get("postTokens"), None
        if line["type"] != "assistant" or line["isSidechain"] or line.get("isApiErrorMessage"):
            continue
        message = line["message"]
        if message["model"] == "<synthetic>" or "usage" not in message:
            continue
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
        total = sum(message["usage"].get(name) or 0 for name in names)
        used = max(used or 0, total) if message["id"] == last else total
        last = message["id"]
    return used


def test_every_tool_call_is_joined(claude: Claude, transcripts: list[Path]) -> None:
    """Each answer that has a request in the file, subagents' too."""
    for path in transcripts:
        call_ids: set[str] = set()
        answered: set[str] = set()
        for line in _objects(path):
            content = line.get("message", {}).get("content")
            for block in content if isinstance(content, list) else ():
                if block["type"] == "tool_use":
                    call_ids.add(block["id"])
                elif block["type"] == "tool_result":
                    answered.add(block["tool_use_id"])
        calls = [*claude.open(path).tool_calls()]
        assert {call.call_id for call in calls} == call_ids, path.name
        assert {call.call_id for call in calls if call.result} == call_ids & answered, path.name


def test_a_live_chain_could_be_sent(claude: Claude, transcripts: list[Path]) -> None:
    """Every answer has its request before it, nothing comes twice, no subagent speaks, all records are in the file."""
    for path in transcripts:
        records = [*claude.read(path)]
        chain = claude.live_chain(claude.open(path))
        places = {record.place: record for record in records}
        assert len(set(chain.places)) == len(chain.places) > 0, path.name
        assert all(places[place].actor is None for place in chain.places), path.name
        call_counts: Counter[str] = Counter()
        answered: Counter[str] = Counter()
        for message in chain.messages(records):
            for block in message.blocks:
                if isinstance(block, ToolUse):
                    call_counts[block.call_id] += 1
                elif isinstance(block, ToolResult):
                    assert call_counts[block.call_id] == 1, path.name
                    answered[block.call_id] += 1
        assert set(answered.values()) <= {1}, path.name


def test_first_prompts_and_queued_ones_are_found(claude: Claude, transcripts: list[Path]) -> None:
    """What was typed while the agent worked is among the prompts once; what was taken back is not."""
    prompts = {path.stem: _prompts(claude.read(path)) for path in transcripts}
    queued = prompts["claude-2.1.32-image-in-result"]
    assert "context: the screenshot is from our UI but it's reading from our metadata.json" in queued
    taken_back = prompts["claude-2.1.33-8ef64fdd"]
    assert (
        "I think we want to get rid of current-session mechanics as well, it's not helpful" not in taken_back
    )
    assert (
        "I think we want to get rid of current-session mechanics as well, it's not helpful in the multi-session world"
        in taken_back
    )
    beside_a_result = prompts["claude-2.1.36-b6b20c21"]
    assert any("and note the related PRs?" in words for words in beside_a_result)
    for name, words in prompts.items():
        assert not any(
            text.startswith(("<local", "<command-name", "[Request", "Caveat:", "This session is being"))
            for text in words
        ), name


def _prompts(records: Iterator[Record]) -> list[str]:
    return [record.text for record in records if record.kind is RecordKind.PROMPT]


def test_damage_costs_no_good_record(claude: Claude, transcripts: list[Path], tmp_path: Path) -> None:
    """Bytes flipped, lines torn, glued and cut out of real transcripts: no exception, and every whole line is read."""
    chance = random.Random(20_260_106)
    for path in transcripts:
        if path.stat().st_size > 1_000_000:
            continue
        lines = path.read_bytes().splitlines(keepends=True)
        good = {record.raw.strip(): record.kind for record in claude.read(path)}
        for _ in range(2):
            damaged, whole = _damaged(lines, chance)
            copy = tmp_path / "damaged.jsonl"
            copy.write_bytes(b"".join(damaged))
            read = Counter(
                record.raw.strip() for record in claude.read(copy) if record.kind is not RecordKind.BROKEN
            )
            assert all(read[raw] >= count for raw, count in whole.items() if raw in good), path.name
            session = claude.open(copy)
            claude.live_chain(session).messages(session.records)
            claude.occupancy(copy)
            claude.entry(copy)


def _damaged(lines: list[bytes], chance: random.Random) -> tuple[list[bytes], Counter[bytes]]:
    """Some lines with damage, and those that stayed whole."""
    damaged: list[bytes] = []
    whole: Counter[bytes] = Counter()
    for line in lines:
        how = chance.random()
        if how < 0.05:
            at = chance.randrange(len(line))
            damaged.append(line[:at] + bytes([chance.randrange(256)]) * 3 + line[at:])
            damaged.append(b"\n")
        elif how < 0.08:
            damaged.append(line[: chance.randrange(len(line))].strip(b"\n") + b"\n")
        elif how < 0.1:
            damaged.append(b"\0" * 50)
        elif how > 0.97:
            continue
        else:
            damaged.append(line if how < 0.9 else line.rstrip(b"\n"))
            whole[line.strip()] += 1
    return damaged, whole
