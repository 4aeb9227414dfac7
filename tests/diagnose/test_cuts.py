"""Where a transcript is cut at its compactions, and what the copy holds."""

import json
from pathlib import Path

import pytest

from leftoff.agents import claude, codex
from leftoff.agents.registry import agent_of
from leftoff.diagnose.report import cut_before, first_records
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript


def cuts_at_compactions(transcript, folder):
    firsts = (first for _, first in first_records(agent_of(transcript).read(transcript)))
    return (cut_before(transcript, first, folder / str(number)) for number, first in enumerate(firsts))


def ran(command: str, answer: str = "ok"):
    return call("shell", {"command": command}, answer)


def story() -> Story:
    return (
        Story(project="/home/dev/project")
        .asked("Fix the login")
        .replied("Looking.", ran("pytest -q"))
        .delegated("Search", "Found it.", ran("grep -rn inside_subagent"))
        .compacted("We fixed `login_user` in src/login.py.")
        .replied("Going on.", ran("pytest -x"))
        .delegated("Check", "Checked.", ran("make inside_subagent"))
        .replied("And on.", ran("git diff"))
    )


@pytest.fixture(params=[claude, codex], ids=["claude", "codex"])
def transcript(request, tmp_path):
    path = tmp_path / "session.jsonl"
    write_transcript(request.param.here(), story().script(), path)
    return path


def test_the_prefix_is_what_the_file_held_before_the_compaction_and_bears_its_name(transcript, tmp_path):
    """A document made from it can know nothing of what followed."""
    (cut,) = cuts_at_compactions(transcript, tmp_path / "scratch")
    whole, prefix = transcript.read_bytes(), cut.transcript.read_bytes()
    assert cut.transcript.name == transcript.name
    assert whole.startswith(prefix)
    assert b"pytest -q" in prefix
    assert b"We fixed" not in prefix
    assert b"pytest -x" not in prefix
    assert cut.line == prefix.count(b"\n") + 1


def test_the_summary_is_found_in_a_record_after_the_boundary(transcript, tmp_path):
    """The summary may be in another record than the numbers of the compaction."""
    (cut,) = cuts_at_compactions(transcript, tmp_path / "scratch")
    assert "`login_user`" in cut.summary


def test_two_compactions_are_two_cuts_in_folders_of_their_own(tmp_path):
    """The second prefix holds the first compaction."""
    path = tmp_path / "twice.jsonl"
    twice = Story().asked("Go").replied("", ran("one")).compacted("First.").replied("", ran("two"))
    write_transcript(claude.here(), twice.compacted("Second.").replied("", ran("three")).script(), path)
    first, second = cuts_at_compactions(path, tmp_path / "scratch")
    assert first.summary.endswith("First.")
    assert second.summary.endswith("Second.")
    assert first.transcript != second.transcript
    assert b"First." in second.transcript.read_bytes()


def test_a_compaction_glued_to_the_line_before_it_is_cut_inside_the_line(tmp_path):
    """Two objects on one line are two records; the prefix ends between them."""
    path = tmp_path / "glued.jsonl"
    write_transcript(claude.here(), story().script(), path)
    (clean,) = cuts_at_compactions(path, tmp_path / "clean")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[clean.line - 2] = lines[clean.line - 2].rstrip(b"\n")
    path.write_bytes(b"".join(lines))
    (glued,) = cuts_at_compactions(path, tmp_path / "glued")
    assert glued.transcript.read_bytes() == clean.transcript.read_bytes().rstrip(b"\n")
    assert glued.summary == clean.summary


def test_clearing_old_results_is_not_a_cut(tmp_path):
    """The model keeps its conversation."""
    path = tmp_path / "micro.jsonl"
    write_transcript(
        claude.here(), Story().asked("Go").replied("", ran("ls")).replied("", ran("pwd")).script(), path
    )
    *head, last = path.read_text().splitlines(keepends=True)
    micro = {
        "type": "system",
        "subtype": "microcompact_boundary",
        "microcompactMetadata": {"trigger": "auto"},
    }
    path.write_text("".join([*head, json.dumps(micro) + "\n", last]))
    assert [*cuts_at_compactions(path, tmp_path / "scratch")] == []


def test_a_folder_for_scratch_is_made_where_none_is(tmp_path):
    """The caller names one; nothing else is written."""
    path = tmp_path / "session.jsonl"
    write_transcript(claude.here(), story().script(), path)
    before = path.read_bytes()
    (cut,) = cuts_at_compactions(path, tmp_path / "a" / "b")
    assert Path(tmp_path / "a" / "b") in cut.transcript.parents
    assert path.read_bytes() == before
