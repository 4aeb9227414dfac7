"""A table of many rows, drawn plainly: rich measures every cell several times, which takes longer than finding what it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leftoff.cli.visible import columns_of, one_line

MANY = 300  # rows
_GAP = "  "
_NARROWEST = 8


def lines(columns: Sequence[Sequence[str]], room: int) -> Iterator[str]:
    """The rows of columns, heading first, each on one line of at most ``room`` columns as far as that is possible."""
    widths = _widths([max(map(_length, column)) for column in columns], room)
    for row in zip(*columns, strict=True):
        yield _GAP.join(_filled(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _widths(wanted: list[int], room: int) -> list[int]:
    """The widest column gives way until all fit, or until none can any more."""
    over = sum(wanted) + len(_GAP) * (len(wanted) - 1) - room
    while over > 0 and max(wanted) > _NARROWEST:
        place = wanted.index(max(wanted))
        others = [width for at, width in enumerate(wanted) if at != place]
        less = max(1, min(over, wanted[place] - max([_NARROWEST, *others])))
        wanted[place] -= less
        over -= less
    return wanted


def _filled(cell: str, width: int) -> str:
    length = _length(cell)
    if length > width:
        cell = one_line(cell, width)
        length = _length(cell)
    return cell + " " * (width - length)


def _length(cell: str) -> int:
    return len(cell) if cell.isascii() else columns_of(cell)
