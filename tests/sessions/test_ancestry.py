"""The registry of derived sessions: added to, never lost by one bad line."""

from pathlib import Path

import orjson
import pytest

from leftoff.sessions.ancestry import REGISTRY_NAME, DerivedEntry, Registry

ENTRY = DerivedEntry(
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


def test_entries_are_found_by_id_and_files_by_id_prefix(registry):
    """The newest entry of a session counts."""
    later = ENTRY._replace(transcript="/y/d-1.jsonl", parent_fingerprint="aa-5")
    registry.add(ENTRY)
    registry.add(later)
    assert registry.entries() == [ENTRY, later]
    assert registry.of("d-1") == later
    assert registry.of("nobody") is None
    assert registry.transcripts("d-") == [Path("/y/d-1.jsonl"), Path("/x/d-1.jsonl")]
    assert registry.transcripts("p-1") == [Path("/x/p-1.jsonl")]


def test_an_empty_registry_has_no_entries(registry):
    assert registry.entries() == []
    assert not registry.folder.exists()


@pytest.mark.parametrize(
    "line",
    [
        b"{torn",
        b"[]",
        orjson.dumps({"schema": 99, **ENTRY._asdict()}),
        orjson.dumps({"schema": 1, **ENTRY._asdict(), "derivation": "stolen"}),
        orjson.dumps({"schema": 1, **ENTRY._asdict(), "parent_id": None}),
    ],
)
def test_one_bad_line_hides_no_other(registry, line):
    """A torn line, one of a newer leftoff, and one that is not an entry are skipped."""
    registry.add(ENTRY)
    with (registry.folder / REGISTRY_NAME).open("ab") as file:
        file.write(line + b"\n")
    registry.add(ENTRY)
    assert registry.entries() == [ENTRY, ENTRY]


def test_the_golden_entry_is_read_and_written_byte_for_byte(registry):
    """The format on users' disks stays readable."""
    registry.folder.mkdir()
    (registry.folder / REGISTRY_NAME).write_bytes(GOLDEN.read_bytes())
    (entry,) = registry.entries()
    (registry.folder / REGISTRY_NAME).unlink()
    registry.add(entry)
    assert (registry.folder / REGISTRY_NAME).read_bytes() == GOLDEN.read_bytes()
