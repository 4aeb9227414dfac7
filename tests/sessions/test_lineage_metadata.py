"""The metadata that a derived session holds about its parent, as leftoff and others write them."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leftoff.core.session import Session
from leftoff.core.trim_plan import TrimPlan
from leftoff.sessions import lineage
from leftoff.sessions.lineage import Origin, fingerprint, still_matches

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


def test_the_metadata_of_a_trimmed_copy(session):
    """The metadata is enough to find the parent after it has moved."""
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
    metadata = lineage.trim_metadata(session, plan, AT)["trim_metadata"]
    assert metadata == {
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
        "stats": {
            "original_tokens": 300,
            "trimmed_tokens": 200,
            "tools_trimmed": 0,
            "chars_saved": 0,
            "tokens_per_char": 0.374,
        },
    }


def test_the_metadata_of_a_continued_session(session):
    metadata = lineage.continue_metadata(session, AT, summary_included=True)["continue_metadata"]
    assert metadata["continuation_type"] == "rollover"
    assert metadata["summary_included"] is True
    assert metadata["continued_at"] == "2026-01-06T12:00:00Z"


@pytest.mark.parametrize("make", ["untrim", "moved"])
def test_all_metadata_can_be_read_back(session, tmp_path, make):
    """Copies from which nothing was cut have metadata too."""
    note = (
        lineage.untrim_metadata(session, AT, given_back=3, tokens_per_char=0.3)
        if make == "untrim"
        else lineage.moved_metadata(session, AT)
    )
    found = lineage.read_origin(written(tmp_path, {"type": "user", **note}))
    assert found == Origin(
        derivation="trimmed",
        parent_file=session.transcript,
        parent_session_id="p-1",
        parent_fingerprint=fingerprint(Path(session.transcript)),
        at="2026-01-06T12:00:00Z",
        tokens_per_char=0.3 if make == "untrim" else None,
        strategy="untrim" if make == "untrim" else "as-is",
    )


def test_metadata_of_claude_code_tools_are_understood(tmp_path):
    """claude-code-tools use another key for the parent of a continued session and for its exported text."""
    note = {
        "parent_session_id": "original456",
        "parent_session_file": "/path/to/original.jsonl",
        "exported_chat_log": "exported.txt",
        "continued_at": "2025-11-28T12:00:00Z",
    }
    found = lineage.read_origin(written(tmp_path, {"type": "user", "continue_metadata": note}))
    assert (found.derivation, found.parent_file, found.exported_file) == (
        "continued",
        "/path/to/original.jsonl",
        "exported.txt",
    )
    old = {"trim_metadata": {"parent_file": "/path/a.jsonl"}}
    assert lineage.read_origin(written(tmp_path, b"{broken", [], {"payload": old})).parent_session_id == "a"


def test_the_newer_of_two_metadata_counts(tmp_path):
    """A continued session that was trimmed has both; at the same time the continuation counts."""
    both = {
        "trim_metadata": {"parent_session_id": "t", "trimmed_at": "2026-01-02T00:00:00Z"},
        "continue_metadata": {"parent_session_id": "c", "continued_at": "2026-01-01T00:00:00Z"},
    }
    assert lineage.read_origin(written(tmp_path, both)).parent_session_id == "t"
    for note in both.values():
        note.pop("trimmed_at", None), note.pop("continued_at", None)
    assert lineage.read_origin(written(tmp_path, both)).parent_session_id == "c"


@pytest.mark.parametrize(
    "line", [{}, {"trim_metadata": "x"}, {"trim_metadata": {}}, {"trim_metadata": {"parent_file": 5}}, 7]
)
def test_a_line_without_a_parent_has_no_origin(tmp_path, line):
    assert lineage.read_origin(written(tmp_path, line)) is None


def test_an_unreadable_file_has_no_origin_and_no_fingerprint(tmp_path):
    gone = tmp_path / "gone.jsonl"
    assert lineage.read_origin(gone) is None
    assert fingerprint(gone) is None
    assert not still_matches(gone, "aa-1")


def test_a_fingerprint_matches_as_long_as_the_file_only_grows(tmp_path):
    """A file with another beginning, or a shorter one, does not match."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"abc\n")
    mark = fingerprint(file)
    file.write_bytes(b"abc\ndef\n" + b"x" * 9000)
    assert still_matches(file, mark)
    assert still_matches(file, fingerprint(file))
    file.write_bytes(b"abX\ndef\n")
    assert not still_matches(file, mark)
    file.write_bytes(b"ab")
    assert not still_matches(file, mark)
    assert not still_matches(file, "nonsense")
