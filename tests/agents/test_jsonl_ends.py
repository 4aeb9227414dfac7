"""Reading from either end gives the pieces that a full read gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leftoff.agents import jsonl
from leftoff.agents.jsonl import JsonLines, Piece, newest_first, oldest_first, pieces
from leftoff.errors import TranscriptError

LINES = st.sampled_from(
    [
        b'{"a": 1}\n',
        b'{"text": "' + "日本語 ✓ ".encode() * 9 + b'"}\n',
        b'{"a": 1}{"b": 2}\n',
        b"\n",
        b"no JSON at all\n",
        b"[1, 2]\n",
        b"\0" * 30 + b"\n",
        b'{"bad utf": "\xff\xfe"}\n',
        b'{"long": "' + b"x" * 300 + b'"}\n',
    ]
)
ENDS = st.sampled_from([b"", b'{"torn": "no e', b'{"whole": 1}', b"\0\0\0"])


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of a few bytes, so that a small file shows what a large one would."""
    monkeypatch.setattr(jsonl, "_STEP_BYTES", 16)
    monkeypatch.setattr(jsonl, "_WIDEST_STEP_BYTES", 64)


def backwards(path: Path, end_bytes: int | None = None) -> list[Piece]:
    """The pieces from the end, turned round, their lines numbered from the beginning."""
    found = [*newest_first(path, end_bytes)][::-1]
    lines = -found[0].place.line_idx if found else 0
    return [
        piece._replace(place=piece.place._replace(line_idx=piece.place.line_idx + lines)) for piece in found
    ]


@pytest.mark.usefixtures("small_steps")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, max_size=30), end=ENDS)
def test_backwards_gives_the_pieces_of_a_full_read(tmp_path: Path, lines: list[bytes], end: bytes) -> None:
    """Places, bytes and values are the same, whatever is in the file and wherever a step ends."""
    path = tmp_path / "file.jsonl"
    path.write_bytes(b"".join(lines) + end)
    assert backwards(path) == [*pieces(path)]


@pytest.mark.usefixtures("small_steps")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, min_size=1, max_size=30), data=st.data())
def test_backwards_from_a_line_leaves_out_that_line_and_what_follows(
    tmp_path: Path, lines: list[bytes], data: st.DataObject
) -> None:
    """The end that a fork names in its parent is the start of a line."""
    path = tmp_path / "file.jsonl"
    path.write_bytes(b"".join(lines))
    kept = data.draw(st.integers(0, len(lines)))
    end = sum(map(len, lines[:kept]))
    assert backwards(path, end) == [piece for piece in pieces(path) if piece.place.start < end]


@pytest.mark.usefixtures("small_steps")
def test_a_line_too_long_to_hold_is_cut_in_the_same_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A binary file without a line end comes in the pieces that a full read makes of it."""
    monkeypatch.setattr(jsonl, "LONGEST_LINE_BYTES", 50)
    monkeypatch.setattr(jsonl, "LONGEST_LINE_BYTES", 50)
    path = tmp_path / "file.jsonl"
    path.write_bytes(b'{"a": 1}\n' + b"\x89" * 333 + b'\n{"b": 2}\n')
    assert backwards(path) == [*pieces(path)]


def test_lines_are_numbered_from_the_end(tmp_path: Path) -> None:
    """Line -1 is the last one, and two objects on one line have the same number."""
    path = tmp_path / "file.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b": 2}{"c": 3}\n\n{"d": 4}\n')
    assert [piece.place.line_idx for piece in newest_first(path)] == [-1, -2, -3, -3, -4]


def test_the_head_ends_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(b'{"a": 1}\n' * 10)
    with JsonLines(path) as lines:
        assert [*lines.oldest_first(20)] == [*pieces(path)][:3]


def test_a_large_file_is_not_read_whole_for_its_last_lines(tmp_path: Path) -> None:
    """The first step is 16 KB."""
    path = tmp_path / "file.jsonl"
    path.write_bytes(b'{"a": "' + b"x" * 990 + b'"}\n' + b'{"a": 1}\n' * 200_000)
    last = next(newest_first(path))
    assert last.place.end == path.stat().st_size
    seen = [piece for _, piece in zip(range(100), newest_first(path), strict=False)]
    assert all(piece.place.start > path.stat().st_size - 20_000 for piece in seen)


def test_a_file_that_shrinks_meanwhile_ends_the_reading(tmp_path: Path) -> None:
    """Lines that are gone are not returned, and nothing is raised."""
    path = tmp_path / "file.jsonl"
    path.write_bytes(b'{"a": 1}\n' * 30_000)
    reading = newest_first(path)
    next(reading)
    path.write_bytes(b'{"a": 1}\n' * 3)
    assert len([*reading]) < 30_000


def test_nothing_is_in_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.touch()
    assert [*newest_first(path)] == [*oldest_first(path)] == []


def test_a_missing_file_is_a_transcript_error(tmp_path: Path) -> None:
    """A missing file raises a TranscriptError whether it is read from its end or its beginning."""
    for read in (newest_first, oldest_first):
        with pytest.raises(TranscriptError):
            [*read(tmp_path / "missing.jsonl")]
