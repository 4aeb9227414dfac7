"""Whatever happens to a rollout, reading raises nothing and loses nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leftoff.agents.codex import Codex, usage
from leftoff.agents.jsonl import pieces
from leftoff.core.records import RecordKind

CLIENTS = Path(__file__).parents[2] / "golden" / "clients"
ROLLOUTS = [path.read_bytes() for path in sorted(CLIENTS.glob("codex-0.166.0-[efr]*.jsonl"))]
DAMAGE = st.sampled_from(
    [b"", b"\0" * 40, b"\xff\xfe", b"\n", b'"', b"{}", b"}{", b"[]\n", b"null", b"\\", b"9" * 30]
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A real rollout with some stretches replaced, and perhaps its end torn off."""
    data = draw(st.sampled_from(ROLLOUTS))
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(data)))
        end = start + draw(st.integers(0, 60))
        data = data[:start] + draw(DAMAGE) + data[end:]
    return data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=damaged())
def test_no_damage_raises_and_every_byte_is_in_a_record(codex: Codex, tmp_path: Path, data: bytes) -> None:
    """Records, chain, gauge and list entry can all be read from a damaged rollout."""
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(data)
    records = [*codex.read(path)]
    assert b"".join(record.raw for record in records) == data
    session = codex.open(path)
    chain = codex.live_chain(session)
    assert {*chain.places} <= {record.place for record in records}
    chain.messages(session.records)
    readings = [found for piece in pieces(path) if piece.value and (found := usage.reading(piece.value))]
    assert codex.occupancy(path).used_tokens == (readings[-1].used_tokens if readings else None)
    assert codex.entry(path).occupancy.used_tokens == codex.occupancy(path).used_tokens


@pytest.mark.parametrize("rollout", ROLLOUTS, ids=len)
def test_a_good_line_is_never_lost_to_a_bad_neighbour(codex: Codex, tmp_path: Path, rollout: bytes) -> None:
    """Garbage between the lines does not change how they are read."""
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(rollout)
    whole = [(record.kind, record.type, record.raw) for record in codex.read(path)]
    path.write_bytes(b"".join(b'{"torn": \n' + line for line in rollout.splitlines(keepends=True)))
    found = [record for record in codex.read(path) if record.kind is not RecordKind.BROKEN]
    assert [(record.kind, record.type, record.raw) for record in found] == whole


def test_a_rollout_that_grows_is_read_on(codex: Codex, tmp_path: Path) -> None:
    """Reading continues after the last record, and a torn end is read again when it is complete."""
    data = ROLLOUTS[0]
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(data[:9_000])
    first = [*codex.read(path)]
    assert first[-1].kind is RecordKind.BROKEN
    path.write_bytes(data)
    assert [*first[:-1], *codex.read(path, first[-2].place)] == [*codex.read(path)]


@pytest.mark.parametrize("rubbish", [b"\xff\xfe", b"\\ud800"])
def test_a_damaged_compaction_and_rollback_still_count(codex: Codex, tmp_path: Path, rubbish: bytes) -> None:
    """Bytes that are not text and half characters are ignored, and the rest of the line counts."""
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(
        b'{"type":"response_item","payload":{"type":"message","role":"user","content":"old"}}\n'
        b'{"type":"compacted","payload":{"message":"' + rubbish + b'","replacement_history":[]}}\n'
        b'{"type":"response_item","payload":{"type":"message","role":"user","content":"new"}}\n'
        b'{"type":"event_msg","payload":{"type":"thread_rolled_back","x":"' + rubbish + b'","num_turns":1}}\n'
    )
    session = codex.open(path)
    assert codex.live_chain(session).messages(session.records) == []


def test_nesting_without_end_does_no_harm(codex: Codex, tmp_path: Path) -> None:
    """A line of brackets is broken, not fatal."""
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b'{"a":' * 5_000 + b"\n" + ROLLOUTS[0])
    kinds = [record.kind for record in codex.read(path)]
    assert kinds[0] is RecordKind.BROKEN
    assert RecordKind.PROMPT in kinds


@pytest.mark.parametrize(
    "line",
    [
        {"type": {}, "payload": {}},
        {"type": [], "payload": {"type": {}}},
        {"type": "response_item", "payload": {"type": []}},
        {
            "type": "event_msg",
            "payload": {"type": "token_count", "info": {"last_token_usage": {"total_tokens": 10**15}}},
        },
    ],
)
def test_fields_of_another_type_do_not_raise(tmp_path: Path, line: dict[str, object]) -> None:
    """One such line must not break the list of all sessions."""
    path = tmp_path / "rollout-2026-01-06T12-00-00-01a1e0be-dee8-7b23-ae31-94e0123734a3.jsonl"
    path.write_bytes(json.dumps(line).encode() + b"\n")
    codex = Codex(tmp_path)
    assert len([*codex.read(path)]) == 1
    assert codex.entry(path).occupancy.used_tokens is None
    assert codex.live_chain(codex.open(path)).places == ()
