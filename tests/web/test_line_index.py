"""Lines of a file found by an index of a few numbers."""

import random

import pytest

from leftoff.platform.zstd import open_zstd
from leftoff.web.line_index import Line, LineIndex

BLOCK = 256 * 1024


def lines_of(data: bytes) -> list[Line]:
    found, at = [], 0
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        found.append(Line(number, at, at + len(line)))
        at += len(line)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_any_lines_are_where_a_full_read_finds_them(tmp_path, seed):
    """Lines that end at the edge of a block, span several, are empty, or have no end."""
    rng = random.Random(seed)
    parts = [
        b"x" * rng.choice([0, 1, 50, 3000, BLOCK - 1, BLOCK, 600_000]) for _ in range(rng.randrange(1, 60))
    ]
    data = b"\n".join(parts) + b"\n" * (seed % 2)
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    wanted, index = lines_of(data), LineIndex(path)
    for _ in range(20):
        first, count = rng.randrange(1, len(parts) + 3), rng.randrange(1, 20)
        assert index.lines(first, count) == wanted[first - 1 : first - 1 + count]
    assert index.count() == (len(wanted), True)


def test_a_file_that_grows_is_read_only_where_it_is_new(tmp_path):
    """An open last line gets its end; a shorter file is read again from its beginning."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\ntw")
    index = LineIndex(path)
    assert index.lines(2, 5) == [Line(2, 4, 6)]
    with path.open("ab") as file:
        file.write(b"o\nthree\n")
    assert index.lines(2, 5) == [Line(2, 4, 8), Line(3, 8, 14)]
    assert index.count() == (3, True)
    path.write_bytes(b"a\n")
    assert index.lines(1, 5) == [Line(1, 0, 2)]
    path.write_bytes(b"")
    assert (index.lines(1, 5), index.count()) == ([], (0, True))


def test_a_compressed_file_is_indexed_by_its_text(tmp_path):
    path = tmp_path / "a.jsonl.zst"
    with open_zstd(path, "wb") as file:
        file.write(b"x\n" * 300_000 + b"last")
    index = LineIndex(path)
    assert index.lines(300_000, 2) == [Line(300_000, 599_998, 600_000), Line(300_001, 600_000, 600_004)]
    assert index.beginning(index.lines(300_001, 1)[0], 2) == b"la"


def test_the_index_of_short_lines_takes_no_more_than_one_number_per_block(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n" * (4 * BLOCK))
    index = LineIndex(path)
    assert index.lines(4 * BLOCK, 2) == [Line(4 * BLOCK, 4 * BLOCK - 1, 4 * BLOCK)]
    assert len(index._before) == 5
