"""Finding lines from the end of a file, wherever the borders of the blocks are."""

from pathlib import Path

import pytest

from leftoff.agents import collector, cut_values, jsonl

MARK = b'"mark"'
BLOCK = 1024 * 1024


@pytest.mark.parametrize("behind", [0, 10, BLOCK - 7, BLOCK - 6, BLOCK - 3, BLOCK, BLOCK + 1, 2 * BLOCK + 5])
def test_the_last_line_with_a_mark_is_found(tmp_path: Path, behind: int) -> None:
    """A mark that lies across the border of two blocks is found."""
    path = tmp_path / "f"
    head = b"first\n" + b"y" * 70_000 + b"\n"
    path.write_bytes(head + b"begins " + MARK + b"x" * behind)
    assert jsonl.last_line(path, MARK, lambda _: True) == len(head)
    assert collector.lines_before(path, len(head)) == 2


def test_lines_that_are_not_accepted_are_passed_over(tmp_path: Path) -> None:
    """The search continues to the beginning of the file and gives ``None`` if no line is accepted."""
    path = tmp_path / "f"
    path.write_bytes(b'"mark" one\n"mark" two\n"mark" "mark" three\n')
    assert jsonl.last_line(path, MARK, lambda line: b"two" in line) == 11
    assert jsonl.last_line(path, MARK, lambda line: b"one" in line) == 0
    assert jsonl.last_line(path, MARK, lambda _: False) is None
    assert jsonl.last_line(path, b"nowhere", lambda _: True) is None


@pytest.mark.parametrize("at", [0, BLOCK - 3, BLOCK, BLOCK + 20])
def test_a_mark_before_a_byte_is_seen(tmp_path: Path, at: int) -> None:
    """Only marks that end before the given byte are seen."""
    path = tmp_path / "f"
    path.write_bytes(b"x" * at + MARK + b"x" * 50)
    assert collector.occurs_before(path, at + len(MARK), MARK)
    assert not collector.occurs_before(path, at + len(MARK) - 1, MARK)


def test_the_newest_time_before_a_byte_is_found(tmp_path: Path) -> None:
    """The lines may be in any order; the time is empty when no line comes before the byte."""
    path = tmp_path / "f"
    first = b'{"timestamp":"2026-01-02T00:00:00.000Z"}\n{"timestamp": "2026-01-01T00:00:00Z"}\n'
    path.write_bytes(first + b'{"timestamp":"2027-01-01T00:00:00Z"}\n')
    assert collector.newest_time_before(path, len(first)) == "2026-01-02T00:00:00.000Z"
    assert collector.newest_time_before(path, 0) == ""


def test_the_longest_text_of_an_input_is_its_content() -> None:
    """The longest text is found at any depth."""
    assert cut_values.longest_text({"a": "x", "b": [{"c": "longer"}, 3], "d": None}) == "longer"
    assert cut_values.longest_text(7) == ""
