"""Where a transcript is cut, and what belongs to which side."""

import json
from pathlib import Path

import pytest

from bench.session_cuts import cut_along_the_way, cut_at_compactions, cut_at_line
from leftoff.agents import claude, codex
from leftoff.errors import UsageError
from leftoff.testing.builders import Story, call
from tests.support.transcripts import write_transcript


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


def commands(cut) -> list[str]:
    return [
        use.input.get("command") or use.input.get("cmd")
        for use in cut.next_calls
        if "agent" not in use.tool.lower()
    ]


def test_the_prefix_is_what_the_file_held_before_the_compaction_and_bears_its_name(transcript, tmp_path):
    """A document made from it can know nothing of what followed."""
    (cut,) = cut_at_compactions(transcript, tmp_path / "scratch")
    whole, prefix = transcript.read_bytes(), cut.transcript.read_bytes()
    assert cut.transcript.name == transcript.name
    assert whole.startswith(prefix)
    assert b"pytest -q" in prefix
    assert b"We fixed" not in prefix
    assert b"pytest -x" not in prefix
    assert cut.line == prefix.count(b"\n") + 1


def test_the_summary_is_found_in_a_record_after_the_boundary(transcript, tmp_path):
    """The summary may be in another record than the numbers of the compaction."""
    (cut,) = cut_at_compactions(transcript, tmp_path / "scratch")
    assert "`login_user`" in cut.summary


def test_the_next_calls_are_those_of_the_main_conversation_after_the_cut(transcript, tmp_path):
    """What a subagent runs is not what the conversation needed next."""
    (cut,) = cut_at_compactions(transcript, tmp_path / "scratch")
    found = [command for command in commands(cut) if command]
    assert "pytest -x" in found
    assert "git diff" in found
    assert not [command for command in found if "inside_subagent" in command]
    assert "pytest -q" not in found


def test_at_most_thirty_next_calls_count(tmp_path):
    """The measure is of the next 30."""
    path = tmp_path / "long.jsonl"
    long = Story().asked("Go").replied("", ran("ls")).compacted("Gone.")
    for number in range(40):
        long.replied("", ran(f"echo {number}"))
    write_transcript(claude.here(), long.script(), path)
    (cut,) = cut_at_compactions(path, tmp_path / "scratch")
    assert commands(cut) == [f"echo {number}" for number in range(30)]


def test_two_compactions_are_two_cuts_in_folders_of_their_own(tmp_path):
    """The second prefix holds the first compaction."""
    path = tmp_path / "twice.jsonl"
    twice = Story().asked("Go").replied("", ran("one")).compacted("First.").replied("", ran("two"))
    write_transcript(claude.here(), twice.compacted("Second.").replied("", ran("three")).script(), path)
    first, second = cut_at_compactions(path, tmp_path / "scratch")
    assert first.summary.endswith("First.")
    assert second.summary.endswith("Second.")
    assert [commands(first), commands(second)] == [["two", "three"], ["three"]]
    assert first.transcript != second.transcript
    assert b"First." in second.transcript.read_bytes()


def test_a_compaction_glued_to_the_line_before_it_is_cut_inside_the_line(tmp_path):
    """Two objects on one line are two records; the prefix ends between them."""
    path = tmp_path / "glued.jsonl"
    write_transcript(claude.here(), story().script(), path)
    (clean,) = cut_at_compactions(path, tmp_path / "clean")
    lines = path.read_bytes().splitlines(keepends=True)
    lines[clean.line - 2] = lines[clean.line - 2].rstrip(b"\n")
    path.write_bytes(b"".join(lines))
    (glued,) = cut_at_compactions(path, tmp_path / "glued")
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
    assert [*cut_at_compactions(path, tmp_path / "scratch")] == []


def test_a_compaction_that_tells_nothing_cannot_be_measured(tmp_path):
    """Without a summary or a further call, nothing shows what the log should hold."""
    path = tmp_path / "end.jsonl"
    write_transcript(codex.here(), Story().asked("Go").replied("", ran("ls")).compacted("").script(), path)
    (cut,) = cut_at_compactions(path, tmp_path / "scratch")
    assert (cut.summary, cut.next_calls) == (None, ())
    assert not cut.is_measurable


def test_a_cut_before_any_line_takes_what_overrides_it(tmp_path):
    """Line numbers are 1-based, as in all of leftoff's output."""
    path = tmp_path / "line.jsonl"
    write_transcript(claude.here(), story().script(), path)
    (cut,) = cut_at_line(path, tmp_path / "scratch", 3)
    assert cut.transcript.read_bytes() == b"".join(path.read_bytes().splitlines(keepends=True)[:2])


@pytest.mark.parametrize("line", [1, 9_999])
def test_a_line_with_nothing_above_it_or_behind_the_end_is_refused(tmp_path, line):
    """The error names the invalid line."""
    path = tmp_path / "line.jsonl"
    write_transcript(claude.here(), story().script(), path)
    with pytest.raises(UsageError, match=f"line {line}"):
        [*cut_at_line(path, tmp_path / "scratch", line)]


def test_cuts_along_the_way_begin_at_half_of_the_session(tmp_path):
    """Sessions that were never compacted are cut at several points of their second half."""
    path = tmp_path / "plain.jsonl"
    plain = Story().asked("Go")
    for number in range(20):
        plain.replied("", ran(f"echo {number}"))
    write_transcript(claude.here(), plain.script(), path)
    found = [commands(cut)[0] for cut in cut_along_the_way(path, tmp_path / "scratch")]
    assert found == ["echo 10", "echo 13", "echo 16", "echo 19"]


def test_the_context_is_words_thoughts_inputs_and_answers_without_the_envelope(transcript, tmp_path):
    """The comparison documents are cut from this text."""
    (cut,) = cut_at_compactions(transcript, tmp_path / "scratch")
    for words in ("Fix the login", "Looking.", "pytest -q"):
        assert words in cut.context
    assert "inside_subagent" not in cut.context
    assert '"type"' not in cut.context


def test_a_folder_for_scratch_is_made_where_none_is(tmp_path):
    """The caller names one; nothing else is written."""
    path = tmp_path / "session.jsonl"
    write_transcript(claude.here(), story().script(), path)
    before = path.read_bytes()
    (cut,) = cut_at_compactions(path, tmp_path / "a" / "b")
    assert Path(tmp_path / "a" / "b") in cut.transcript.parents
    assert path.read_bytes() == before
