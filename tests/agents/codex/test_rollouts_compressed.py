"""Rollouts that Codex has compressed."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from leftoff.agents.codex import Codex, rollouts
from leftoff.core.records import Record
from leftoff.errors import TranscriptError

SAMPLE = Path(__file__).parents[2] / "golden/clients/codex-0.166.0-exec-basic.jsonl"


@pytest.fixture
def squeezed(zstd: ModuleType, home: Path) -> Path:
    """The sample, compressed, where Codex would put it."""
    path = home / "sessions" / "rollout-2026-11-15T19-46-07-01a1e0be-dee8-7b23-ae31-94e0123734a3.jsonl.zst"
    path.parent.mkdir(parents=True)
    path.write_bytes(zstd.compress(SAMPLE.read_bytes()))
    return path


def without_file(record: Record) -> tuple[object, ...]:
    return (*record.place[1:], record.kind, record.type, record.raw, record.messages)


def test_a_compressed_rollout_reads_as_the_plain_one(codex: Codex, squeezed: Path) -> None:
    """The records and their byte positions are the same; only the named file is the compressed one."""
    records = [*codex.read(squeezed)]
    assert [*map(without_file, records)] == [*map(without_file, codex.read(SAMPLE))]
    assert {record.place.transcript for record in records} == {str(squeezed)}
    assert [*codex.read(squeezed, records[4].place)] == records[5:]


def test_a_compressed_rollout_is_found_measured_and_listed(codex: Codex, squeezed: Path) -> None:
    """A compressed rollout gives the same usage, prompt and messages as an uncompressed one."""
    assert [*codex.transcripts()] == [squeezed]
    assert codex.occupancy(squeezed) == codex.occupancy(SAMPLE)
    assert codex.entry(squeezed).first_prompt == codex.entry(SAMPLE).first_prompt
    assert codex.entry(squeezed).size_bytes == squeezed.stat().st_size
    session = codex.open(squeezed)
    assert len(codex.live_chain(session).messages(session.records)) == 12


def test_a_damaged_one_is_a_transcript_error(codex: Codex, squeezed: Path) -> None:
    """A truncated file and one that is not zstd are reported in one sentence."""
    whole = squeezed.read_bytes()
    for data in (whole[: len(whole) // 2], b"no zstd"):
        squeezed.write_bytes(data)
        with pytest.raises(TranscriptError, match="damaged"):
            [*codex.read(squeezed)]


def test_without_a_decompressor_the_error_says_what_to_install(
    codex: Codex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what to type, for reading and for listing."""
    monkeypatch.setattr(rollouts, "MODULES", ("leftoff.no_such_module",))
    path = tmp_path / "rollout-2026-11-15T19-46-07-a.jsonl.zst"
    path.write_bytes(b"")
    for ask in (codex.read, codex.entry, codex.open, codex.occupancy):
        with pytest.raises(TranscriptError, match=r"pip install backports\.zstd"):
            ask(path)
