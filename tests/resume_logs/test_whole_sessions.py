"""A fork is shown with its parent's part, a session of any size in little memory, and a damaged file is called damaged."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.generate import generate
from leftoff.agents import claude
from leftoff.cli.main import run
from leftoff.testing.builders import Story
from tests.support.transcripts import write_transcript

PARENT = "01a1e0be-dee8-7b23-ae31-94e0123734a3"
CHILD = "01a1e0c3-2973-72d0-9289-32a36be70e5a"


def output_of(capsys, *arguments, code=0):
    assert run([*arguments]) == code
    return capsys.readouterr()


@pytest.fixture
def fork(home):
    """A parent and its fork, which inherits the parent's first turn and not its second."""
    parent = home.codex(
        Story(session_id=PARENT).asked("FIRST").replied("ANSWER1").asked("SECOND").replied("ANSWER2")
    )
    child = home.codex(Story(session_id=CHILD).asked("THIRD").replied("three"))
    end = parent.read_bytes().index(b"SECOND")
    end = parent.read_bytes().rindex(b"\n", 0, end) + 1
    lines = child.read_bytes().splitlines(keepends=True)
    meta = json.loads(lines[0])
    base = {"thread_id": PARENT, "end_ordinal_exclusive": None, "end_byte_offset": end}
    meta["payload"] |= {"forked_from_id": PARENT, "history_base": base}
    child.write_bytes(json.dumps(meta).encode() + b"\n" + b"".join(lines[1:]))
    return parent, child


def test_a_fork_is_shown_from_its_parents_beginning(fork, capsys):
    """The parent's part first, under the parent's file, then its own; what it did not inherit is not there."""
    parent, child = fork
    out = output_of(capsys, "show", CHILD).out
    order = [out.index(words) for words in (parent.name, "FIRST", "ANSWER1", child.name, "THIRD", "three")]
    assert order == sorted(order)
    assert "SECOND" not in out
    assert "ANSWER2" not in out
    data = json.loads(output_of(capsys, "show", CHILD, "--json").out)
    files = {each["transcript"] for each in data if each["text"] in ("FIRST", "THIRD")}
    assert files == {str(parent), str(child)}


def test_a_line_of_a_fork_is_one_of_its_own_file(fork, capsys):
    """``--at`` counts the lines of the file that was named."""
    data = json.loads(output_of(capsys, "show", CHILD, "--at", "1", "--json").out)
    assert {each["transcript"] for each in data} == {str(fork[1])}
    assert data[0]["line"] == 1


def test_show_says_that_a_forks_beginning_is_missing(fork, capsys):
    """The line is in the place of the missing beginning."""
    fork[0].unlink()
    out = output_of(capsys, "show", CHILD).out
    missing = out.index(f"continues {PARENT}, which is not here: what it inherits is missing")
    assert missing < out.index("THIRD")


def test_doctor_counts_the_forks_own_records_and_names_its_parent(fork, capsys):
    """The output says how much of the parent the fork has."""
    parent, child = fork
    found = json.loads(output_of(capsys, "doctor", CHILD, "--json").out)
    assert found["records"] == child.read_bytes().count(b"\n")
    assert found["troubles"] == []
    inherited = found["goes_on_from"]
    assert (inherited["session_id"], inherited["transcript"]) == (PARENT, str(parent))
    assert (inherited["derivation"], inherited["readable"]) == ("forked", True)
    assert 0 < inherited["records"] < parent.read_bytes().count(b"\n")
    out = output_of(capsys, "doctor", CHILD).out
    assert (
        f"It was forked from {PARENT}: {parent}, and continues from {inherited['records']} records of it."
        in out
    )


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: (path.unlink(), path.mkdir())])
def test_doctor_says_that_a_forks_parent_cannot_be_had(fork, capsys, spoil):
    """Gone, or something else in its place; the records of the fork are counted all the same."""
    spoil(fork[0])
    found = json.loads(output_of(capsys, "doctor", CHILD, "--json").out)
    assert "what it inherits is missing" in found["troubles"][0][1]
    assert found["goes_on_from"]["readable"] is False
    assert found["records"] == fork[1].read_bytes().count(b"\n")
    assert f"line 1: continues {PARENT}" in output_of(capsys, "doctor", CHILD).out


def test_doctor_says_that_the_file_a_copy_was_made_from_is_gone(home, capsys):
    """A trimmed copy needs no original, but doctor still names it."""
    path = home.claude(Story(session_id="0b54f7aa-6d0c-4c7b-9d57-3f6c9d9a3b11").asked("x").replied("y"))
    lines = path.read_bytes().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if json.loads(line).get("type") == "user")
    first = json.loads(lines[at]) | {"trim_metadata": {"parent_file": "/gone/a.jsonl"}}
    lines[at] = json.dumps(first).encode() + b"\n"
    path.write_bytes(b"".join(lines))
    assert (
        "It was trimmed from a: /gone/a.jsonl, which cannot be read."
        in output_of(capsys, "doctor", str(path)).out
    )


@pytest.mark.parametrize(
    "begins",
    [
        b'{"type":"user","uuid":"a","sessionId":"b","message":{"role":"user","content":"never fin',
        b'{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","cw',
    ],
)
def test_a_file_of_one_torn_line_has_no_gauge(tmp_path, capsys, begins):
    """Exit code 1 and one sentence that says what is wrong and what to type, not a question mark."""
    path = tmp_path / "torn.jsonl"
    path.write_bytes(begins)
    ended = output_of(capsys, "status", str(path), code=1)
    assert ended.out == ""
    assert ended.err == (
        f"leftoff: {path}: no record in it can be read; line 1: torn: the line has no end. "
        f"leftoff doctor {path} shows what is there.\n"
    )
    assert "no record" in json.loads(output_of(capsys, "status", str(path), "--json", code=1).out)["error"]


def test_a_torn_line_among_records_does_not_refuse_the_session(home, capsys):
    """Another process may be writing the line at this moment."""
    path = home.claude(Story(project=str(Path.cwd())).asked("hello"))
    with path.open("ab") as file:
        file.write(b'{"type":"assist')
    assert "No reply to measure yet" in output_of(capsys, "status").out


def test_a_line_beyond_the_end_is_wrong_usage_and_nothing_else(fork, capsys):
    """No half of a list is printed before the error."""
    lines = fork[1].read_bytes().count(b"\n")
    ended = output_of(capsys, "show", CHILD, "--at", str(lines + 3), "--json", code=2)
    assert "is not among them" in json.loads(ended.out)["error"]


@pytest.mark.slow
def test_showing_a_session_as_json_takes_the_same_memory_for_any_size(tmp_path, without_coverage):
    """A list is written as it is read: six times the transcript, the same memory."""
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    write_transcript(claude.here(), generate(seed=5, size_bytes=5_000_000), small)
    large.write_bytes(small.read_bytes() * 6)
    (few, of_small), (many, of_large) = _shown_by_a_child(small), _shown_by_a_child(large)
    assert many == 6 * few > 1_000
    assert of_large < of_small + 8_000_000


def _shown_by_a_child(transcript):
    """How many records ``show --json`` gives, and the most memory that it takes, in bytes."""
    target = transcript.with_suffix(".json")
    with target.open("wb") as file:
        child = subprocess.Popen(
            [sys.executable, "-m", "leftoff", "show", str(transcript), "--full", "--json"], stdout=file
        )
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return len(json.loads(target.read_bytes())), usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def test_a_line_is_shown_with_those_around_it_and_no_more(tmp_path, capsys):
    """Forty lines before and forty after it are shown."""
    path = tmp_path / "long.jsonl"
    line = b'{"type":"user","uuid":"a","sessionId":"b","message":{"role":"user","content":"x"}}\n'
    path.write_bytes(line * 300)
    data = json.loads(output_of(capsys, "show", str(path), "--at", "150", "--json").out)
    assert [each["line"] for each in data] == [*range(110, 191)]


def test_every_kind_of_block_is_shown_as_what_it_is(tmp_path, capsys):
    """Thoughts with and without text, pictures, failed answers and unknown blocks are shown."""
    path = tmp_path / "blocks.jsonl"
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
    blocks = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "thinking", "thinking": "", "signature": "s"},
        {"type": "from_the_future", "x": 1},
    ]
    answer = {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": "no such file"}
    lines = [
        {"type": "user", "uuid": "1", "message": {"role": "user", "content": [picture]}},
        {"type": "assistant", "uuid": "2", "message": {"role": "assistant", "content": blocks}},
        {"type": "user", "uuid": "3", "message": {"role": "user", "content": [answer]}},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    out = output_of(capsys, "show", str(path)).out
    for words in ("[image/png, ", "(thinks) Hm.", "(thinks)\n", "[from_the_future, ", "✗ no such file"):
        assert words in out
