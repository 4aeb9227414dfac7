"""Files of JSON lines are read as they really are on disk: every byte in one piece, no good record lost."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leftoff.agents import jsonl
from leftoff.agents.jsonl import Piece, pieces
from leftoff.errors import TranscriptError

# Bytes that are likely to meet what the reader looks for.
FRAGMENTS = [
    b'{"a": 1}',
    b'{"b": "\xe6\x97\xa5"}',
    b'{"c": "\xff\xfe"}',
    b'{"d": "\\ud800"}',
    b'{"e": {"f": [1, 2.5, null]}}',
    b'{"torn": ',
    b"[1, 2]",
    b"123",
    b"NaN",
    b'"x"',
    b"\0\0\0",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b"}",
    b"\xef\xbb\xbf",
]
content = st.one_of(st.binary(max_size=200), st.lists(st.sampled_from(FRAGMENTS), max_size=12).map(b"".join))
objects = st.lists(
    st.dictionaries(st.text(max_size=5), st.one_of(st.integers(-(2**53), 2**53), st.text(max_size=20))),
    max_size=8,
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jsonl") / "t.jsonl"


def read(file: Path, data: bytes) -> list[Piece]:
    file.write_bytes(data)
    return [*pieces(file)]


@given(data=content)
@example(data=b'{"a": 1}\0\0\n')
@example(data=b'\0\0{"a": 1}\n')
@example(data=b'{"a": 1} 5\n')
def test_the_pieces_tile_the_file(file: Path, data: bytes) -> None:
    """Laid end to end, the pieces are the file, and each is the bytes at its place."""
    end = 0
    for piece in read(file, data):
        assert piece.place.start == end
        assert piece.raw == data[piece.place.start : piece.place.end] != b""
        end = piece.place.end
    assert end == len(data)


@given(data=content)
@example(data=b'{"a": 1}{"b": 2}\0\0\n{"c": 3}')
@example(data=b'{"a": "\xff"}{"b": 18446744073709551616}\n')
def test_reading_on_after_any_piece_gives_the_rest(file: Path, data: bytes) -> None:
    """Continuing after any piece gives the same values, places and notes as reading from the beginning."""
    found = read(file, data)
    for number, piece in enumerate(found):
        assert [*pieces(file, piece.place)] == found[number + 1 :]


@given(data=content)
def test_lines_are_counted_by_their_ends(file: Path, data: bytes) -> None:
    """A piece's line is the number of line ends before it."""
    for piece in read(file, data):
        assert piece.place.line_idx == data[: piece.place.start].count(b"\n")


@given(data=content)
def test_a_piece_is_a_value_or_blank_or_has_a_note(file: Path, data: bytes) -> None:
    """Only white space is passed over without a note."""
    for piece in read(file, data):
        if piece.value is None and piece.note is None:
            assert not piece.raw.strip()
        assert (piece.value is None) or (piece.note is None)


@given(
    lines=objects, at=st.integers(0, 8), garbage=st.binary(max_size=40).filter(lambda raw: b"{" not in raw)
)
def test_garbage_costs_no_good_record(
    file: Path, lines: list[dict[str, object]], at: int, garbage: bytes
) -> None:
    """A line of garbage does not affect the other lines."""
    good = [json.dumps(line).encode() + b"\n" for line in lines]
    dirty = b"".join([*good[:at], garbage.replace(b"\n", b"") + b"\n", *good[at:]])
    assert [piece.value for piece in read(file, dirty) if piece.value is not None] == lines


@given(lines=objects)
def test_objects_glued_together_are_all_read(file: Path, lines: list[dict[str, object]]) -> None:
    """Several objects on one line are all read."""
    data = b" ".join(json.dumps(line).encode() for line in lines) + b"\n"
    assert [piece.value for piece in read(file, data) if piece.value is not None] == lines


@given(lines=objects.filter(bool), cut=st.integers(1, 30))
def test_a_torn_tail_costs_the_last_record_alone(
    file: Path, lines: list[dict[str, object]], cut: int
) -> None:
    """All whole lines are read, and the torn one as soon as the rest is there."""
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    last = json.dumps(lines[-1]).encode() + b"\n"
    torn = data[: len(data) - min(cut + 1, len(last) - 1)]
    found = read(file, torn)
    assert [piece.value for piece in found[:-1]] == lines[:-1]
    assert found[-1].note == "torn: the line has no end"
    file.write_bytes(data)
    before = found[-2].place if len(found) > 1 else None
    assert [piece.value for piece in pieces(file, before)] == lines[-1:]


@pytest.mark.parametrize(
    ("data", "notes"),
    [
        (b"", []),
        (b"\n \n", [None, None]),
        (b"hello\n", ["not JSON"]),
        (b"[1]\n", ["JSON, but not an object: list"]),
        (b"null\n", ["JSON, but not an object: NoneType"]),
        (b'{"a": NaN}\n', ["not JSON"]),
        (b'{"a": ', ["torn: the line has no end"]),
        (b"\0\0\0\0", ["4 NUL bytes, as a crash leaves them"]),
        (b'\0\0{"a": 1}\n', ["2 NUL bytes, as a crash leaves them", None]),
        (b'{"a": 1}{"b": 2}{"c\n', [None, None, "not JSON"]),
    ],
)
def test_a_broken_piece_has_a_note(file: Path, data: bytes, notes: list[str | None]) -> None:
    """The note is a phrase that doctor can show."""
    assert [piece.note for piece in read(file, data)] == notes


def test_bytes_that_are_not_utf8_are_shown_as_such(file: Path) -> None:
    """The record is read; only the damaged characters are lost from sight, not from its raw form."""
    (piece,) = read(file, b'{"a": "x\xffy", "b": 1}\n')
    assert piece.value == {"a": "x\ufffdy", "b": 1}
    assert b"\xff" in piece.raw


def test_half_a_surrogate_pair_is_shown_as_such(file: Path) -> None:
    """JavaScript writes one when it cuts an emoji in two."""
    (piece,) = read(file, b'{"a": "x\\ud83d", "b": "\\ud83d\\ude00"}\n')
    assert piece.value == {"a": "x\ufffd", "b": "😀"}


def test_nesting_deeper_than_any_reader_is_broken_not_fatal(file: Path) -> None:
    """The line after it is read."""
    deep = b'{"a":' * 5000 + b"1" + b"}" * 5000
    found = read(file, deep + b'\n{"b": 1}\n' + deep + b'{"c": 1}\n')
    assert [piece.value for piece in found] == [None, {"b": 1}, None]


def test_a_line_too_long_to_hold_is_read_in_pieces(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A very long line keeps one line number, and the line after it is read."""
    monkeypatch.setattr(jsonl, "LONGEST_LINE_BYTES", 1024)
    data = b'{"a": "' + b"x" * 3000 + b'"}\n{"b": 1}\n'
    found = read(file, data)
    assert b"".join(piece.raw for piece in found) == data
    assert [piece.place.line_idx for piece in found] == [0, 0, 0, 1]
    assert [piece.value for piece in found] == [None, None, None, {"b": 1}]
    for number, piece in enumerate(found):
        assert [*pieces(file, piece.place)] == found[number + 1 :]


def test_what_a_line_has_beside_its_message_may_be_larger_than_any_request(file: Path) -> None:
    """The file before an edit, which the agent notes with the result and never sends."""
    before = b"x" * (40 * 1024 * 1024)
    found = read(file, b'{"originalFile": "' + before + b'"}\n{"b": 1}\n')
    assert [piece.note for piece in found] == [None, None]
    assert found[0].value is not None


def test_many_glued_objects_take_linear_time(file: Path) -> None:
    """A hostile line of forty thousand of them is read in a second, not in ten minutes."""
    assert sum(piece.value == {} for piece in read(file, b"{}" * 40_000 + b"\n")) == 40_000


def test_a_place_beyond_the_end_gives_nothing(file: Path) -> None:
    """The file has become shorter since."""
    (piece,) = read(file, b'{"a": 1}\n')
    file.write_bytes(b"")
    assert [*pieces(file, piece.place)] == []


def test_a_file_that_cannot_be_opened_is_a_transcript_error(tmp_path: Path) -> None:
    """A missing file, a folder and a loop of links are each reported."""
    loop = tmp_path / "loop.jsonl"
    loop.symlink_to(loop)
    for path, words in (
        (tmp_path / "no.jsonl", "no such file"),
        (tmp_path, "this is a folder"),
        (loop, "cannot be read"),
    ):
        with pytest.raises(TranscriptError, match=words):
            [*pieces(path)]
