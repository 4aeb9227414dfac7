"""The registry of derived sessions: added to, never lost by one bad line."""

from dataclasses import asdict, replace
from pathlib import Path

import orjson
import pytest

from leftoff.lineage.registry import NAME, Derived, Registry

ENTRY = Derived(
    session_id="d-1",
    transcript="/x/d-1.jsonl",
    agent="plain",
    parent_id="p-1",
    parent_transcript="/x/p-1.jsonl",
    parent_fingerprint=None,
    derivation="trimmed",
    at="2026-01-06T12:00:00Z",
)
GOLDEN = Path(__file__).parents[1] / "golden" / "wire" / "lineage.v1.jsonl"


@pytest.fixture
def registry(tmp_path):
    return Registry(folder=tmp_path / "data")


def test_what_is_added_is_found(registry):
    """By id, the newest entry first; files also by the beginning of an id."""
    later = replace(ENTRY, transcript="/y/d-1.jsonl", parent_fingerprint="aa-5")
    registry.add(ENTRY)
    registry.add(later)
    assert registry.entries() == [ENTRY, later]
    assert registry.of("d-1") == later
    assert registry.of("nobody") is None
    assert registry.transcripts("d-") == [Path("/y/d-1.jsonl"), Path("/x/d-1.jsonl")]
    assert registry.transcripts("p-1") == [Path("/x/p-1.jsonl")]


def test_an_empty_registry_knows_nobody(registry):
    """And nothing is created by asking."""
    assert registry.entries() == []
    assert not registry.folder.exists()


@pytest.mark.parametrize(
    "line",
    [
        b"{torn",
        b"[]",
        orjson.dumps({"schema": 99, **asdict(ENTRY)}),
        orjson.dumps({"schema": 1, **asdict(ENTRY), "derivation": "stolen"}),
        orjson.dumps({"schema": 1, **asdict(ENTRY), "parent_id": None}),
    ],
)
def test_one_bad_line_hides_no_other(registry, line):
    """Torn, of a newer leftoff, or no entry at all."""
    registry.add(ENTRY)
    with (registry.folder / NAME).open("ab") as file:
        file.write(line + b"\n")
    registry.add(ENTRY)
    assert registry.entries() == [ENTRY, ENTRY]


def test_the_golden_entry_is_read_and_written_byte_for_byte(registry):
    """What stands on users' disks stays readable."""
    registry.folder.mkdir()
    (registry.folder / NAME).write_bytes(GOLDEN.read_bytes())
    (entry,) = registry.entries()
    (registry.folder / NAME).unlink()
    registry.add(entry)
    assert (registry.folder / NAME).read_bytes() == GOLDEN.read_bytes()
