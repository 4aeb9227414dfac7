"""What stood in the window after every reply of a rollout, found by its bytes, is the same as the slow way."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leftoff.agents.codex.metering import Reading, reading, usages
from leftoff.agents.jsonl import pieces
from leftoff.errors import TranscriptError


def slowly(path: Path) -> list[int]:
    """The same, with every line decoded."""
    said = (reading(piece.value) for piece in pieces(path) if piece.value)
    real = (each.used_tokens for each in said if each and each.used_tokens and not each.is_estimate)
    return [tokens for tokens, _ in groupby(real)]


def test_all_replies_of_the_clients_files_are_found(sample: Path) -> None:
    """The same as by decoding every line."""
    assert [*usages(sample)] == slowly(sample)


def test_all_replies_of_real_files_are_found(real: Path) -> None:
    """None where the file has none; else what its lines say, but for Codex's own estimates."""
    found = [*usages(real)]
    assert found == slowly(real)
    told = [
        json.loads(raw)["payload"]["info"]
        for raw in real.read_bytes().split(b"\n")
        if b'"type":"token_count"' in raw
    ]
    last = [info["last_token_usage"] for info in told if info]
    assert found == [
        tokens for tokens, _ in groupby(each["total_tokens"] for each in last if each["input_tokens"])
    ]


def test_two_lines_of_one_reply_are_one_reply(tmp_path: Path) -> None:
    """And a compaction between two says nothing of its own."""
    path = tmp_path / "rollout.jsonl"
    count = {"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": NUMBERS}}}
    more = {"type": "token_usage_record", "payload": {"usage": {"input_tokens": 5, "total_tokens": 9}}}
    lines = [USAGE, count, {"type": "compacted", "payload": {}}, more]
    path.write_bytes(b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines))
    assert [*usages(path)] == [7, 9]


def test_a_compaction_is_a_reading_of_nothing_and_an_estimate_is_called_one() -> None:
    """What Codex reckons afterwards has no input tokens."""
    assert reading({"type": "compacted", "payload": {}}) == Reading(None)
    numbers: dict[str, Any] = {"input_tokens": 0, "total_tokens": 6_690}
    line: dict[str, Any] = {
        "type": "event_msg",
        "payload": {"type": "token_count", "info": {"last_token_usage": numbers}},
    }
    assert reading(line) == Reading(6_690, is_estimate=True)
    assert reading({"type": "world_state", "payload": {}}) is None


NUMBERS = {"input_tokens": 5, "total_tokens": 7}
USAGE = {"type": "token_usage_record", "payload": {"usage": NUMBERS}}
COMPACT = json.dumps(USAGE, separators=(",", ":")).encode()
LINES = st.sampled_from(
    [
        COMPACT + b"\n",
        COMPACT.replace(b"7", b"9") + b"\n",
        COMPACT + COMPACT + b"\n",
        COMPACT + b"torn\n",
        b'{"type":"compacted","payload":{}}\n',
        b'{"text":"quoted \\"type\\":\\"token_count\\""}\n',
        b'{"nested":{"type":"token_count"}}\n',
        b'[{"type":"token_count"}]\n',
        b'{"type":"token_usage_record","payload":{"usage":{"input_tokens":1,"total_tokens":8,"x":"\xff"}}}\n',
        b"\0\0\n",
        b"\n",
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, max_size=20), end=st.sampled_from([b"", COMPACT, COMPACT[:-5]]))
def test_odd_lines_hide_no_reply(tmp_path: Path, lines: list[bytes], end: bytes) -> None:
    """Glued, torn, quoted, nested, no UTF-8: the same as by decoding every line."""
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"".join(lines) + end)
    assert [*usages(path)] == slowly(path)


def test_a_file_with_spaces_is_read_too(rollout: Callable[..., Path]) -> None:
    """As other tools write JSON."""
    assert [*usages(rollout([USAGE, USAGE]))] == [7]


def test_replies_are_found_across_blocks(tmp_path: Path) -> None:
    """A megabyte is read at a time; a line that goes beyond it is read to its end."""
    path = tmp_path / "rollout.jsonl"
    filler = b'{"type":"world_state","payload":{"text":"' + b"x" * 300_000 + b'"}}\n'
    path.write_bytes(
        b"".join(filler + COMPACT.replace(b"7", b"%d" % number) + b"\n" for number in range(1, 10))
    )
    assert [*usages(path)] == slowly(path) == [*range(1, 10)]


def test_a_missing_file_is_a_transcript_error(tmp_path: Path) -> None:
    """As for every reader."""
    with pytest.raises(TranscriptError):
        [*usages(tmp_path / "missing.jsonl")]
