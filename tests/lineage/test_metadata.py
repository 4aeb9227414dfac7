"""What a derived session says of its parent, as leftoff writes it and as others have."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.lineage import metadata
from leftoff.lineage.fingerprint import fingerprint, is_still
from leftoff.lineage.metadata import Origin
from leftoff.model.session import Session
from leftoff.model.trim_plan import TrimPlan

AT = datetime(2026, 1, 6, 12, 0, tzinfo=UTC)


@pytest.fixture
def session(tmp_path):
    file = tmp_path / "parent.jsonl"
    file.write_text('{"type":"user"}\n', encoding="utf-8")
    return Session(agent="plain", session_id="p-1", transcript=str(file), records=())


def written(tmp_path, *lines):
    file = tmp_path / "copy.jsonl"
    file.write_bytes(
        b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    )
    return file


def test_a_trimmed_copy_says_what_002_wants(session):
    """With the names of 002, and enough to find the parent again when it has moved."""
    plan = TrimPlan(
        strategy="trim",
        session_id="p-1",
        transcript=session.transcript,
        cuts=(),
        live_chars=1000,
        live_tokens=300,
        saved_tokens=100,
        parameters={"target_tools": ["Read"], "threshold": 500, "trim_assistant_messages": None},
    )
    said = metadata.trim_metadata(session, plan, AT)["trim_metadata"]
    assert said == {
        "parent_file": session.transcript,
        "parent_session_id": "p-1",
        "parent_fingerprint": fingerprint(Path(session.transcript)),
        "trimmed_at": "2026-01-06T12:00:00Z",
        "trim_params": {
            "target_tools": ["Read"],
            "threshold": 500,
            "trim_assistant_messages": None,
            "strategy": "trim",
        },
        "stats": {"original_tokens": 300, "trimmed_tokens": 200, "tools_trimmed": 0, "chars_saved": 0},
    }


def test_a_fresh_session_says_what_002_wants(session):
    """A rollover, with or without a summary."""
    said = metadata.continue_metadata(session, AT, summary_included=True)["continue_metadata"]
    assert said["continuation_type"] == "rollover"
    assert said["summary_included"] is True
    assert said["continued_at"] == "2026-01-06T12:00:00Z"


@pytest.mark.parametrize("make", ["untrim", "moved"])
def test_every_note_that_is_written_is_read_again(session, tmp_path, make):
    """Also those of copies that nothing was cut from."""
    note = (
        metadata.untrim_metadata(session, AT, given_back=3)
        if make == "untrim"
        else metadata.moved_metadata(session, AT)
    )
    found = metadata.origin_of(written(tmp_path, {"type": "user", **note}))
    assert found == Origin(
        derivation="trimmed",
        parent_file=session.transcript,
        parent_session_id="p-1",
        parent_fingerprint=fingerprint(Path(session.transcript)),
        at="2026-01-06T12:00:00Z",
    )


def test_the_files_of_the_trimmer_that_002_was_drawn_from_are_understood(tmp_path):
    """They name the parent of a continued session otherwise, and the text exported of it."""
    note = {
        "parent_session_id": "original456",
        "parent_session_file": "/path/to/original.jsonl",
        "exported_chat_log": "exported.txt",
        "continued_at": "2025-11-28T12:00:00Z",
    }
    found = metadata.origin_of(written(tmp_path, {"type": "user", "continue_metadata": note}))
    assert (found.derivation, found.parent_file, found.exported_file) == (
        "continued",
        "/path/to/original.jsonl",
        "exported.txt",
    )
    old = {"trim_metadata": {"parent_file": "/path/a.jsonl"}}
    assert metadata.origin_of(written(tmp_path, b"{broken", [], {"payload": old})).parent_session_id == "a"


def test_of_two_notes_the_newer_speaks(tmp_path):
    """A continued session that was trimmed carries both; of the same time, the continuation counts."""
    both = {
        "trim_metadata": {"parent_session_id": "t", "trimmed_at": "2026-01-02T00:00:00Z"},
        "continue_metadata": {"parent_session_id": "c", "continued_at": "2026-01-01T00:00:00Z"},
    }
    assert metadata.origin_of(written(tmp_path, both)).parent_session_id == "t"
    for note in both.values():
        note.pop("trimmed_at", None), note.pop("continued_at", None)
    assert metadata.origin_of(written(tmp_path, both)).parent_session_id == "c"


@pytest.mark.parametrize(
    "line", [{}, {"trim_metadata": "x"}, {"trim_metadata": {}}, {"trim_metadata": {"parent_file": 5}}, 7]
)
def test_what_names_no_parent_is_no_note(tmp_path, line):
    """Whatever stands there."""
    assert metadata.origin_of(written(tmp_path, line)) is None


def test_a_file_that_cannot_be_read_says_nothing(tmp_path):
    """Nor has it a fingerprint."""
    gone = tmp_path / "gone.jsonl"
    assert metadata.origin_of(gone) is None
    assert fingerprint(gone) is None
    assert not is_still(gone, "aa-1")


def test_a_fingerprint_holds_as_long_as_the_file_only_grows(tmp_path):
    """Another beginning, or a shorter file, is another file."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"abc\n")
    mark = fingerprint(file)
    file.write_bytes(b"abc\ndef\n" + b"x" * 9000)
    assert is_still(file, mark)
    assert is_still(file, fingerprint(file))
    file.write_bytes(b"abX\ndef\n")
    assert not is_still(file, mark)
    file.write_bytes(b"ab")
    assert not is_still(file, mark)
    assert not is_still(file, "nonsense")
