"""How texts stand in the library: compressed, several to a block. Quick to load, because a search needs it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from leftoff.library.sqlite import sqlite3

BETWEEN = "\x1e"  # between the texts of a block; replaced in the texts themselves


def packed(texts: Sequence[str]) -> bytes:
    """Texts as they stand in a block."""
    return zlib.compress(BETWEEN.join(texts).encode(), 6)


def unpacked(data: bytes) -> list[str]:
    """The texts of a block; sqlite3.DatabaseError where it is damaged, as for any other part of the file."""
    return [*map(_decoded, _parts(data))]


class Block:
    """A block of which a few texts are wanted: the others are not decoded."""

    def __init__(self, data: bytes) -> None:
        self._parts = _parts(data)

    def text(self, slot: int) -> str:
        """One of its texts; empty where there is none."""
        return _decoded(self._parts[slot]) if slot < len(self._parts) else ""


def _parts(data: bytes) -> list[bytes]:
    try:
        return zlib.decompress(data).split(BETWEEN.encode())
    except (zlib.error, TypeError) as error:
        raise sqlite3.DatabaseError(f"a block is damaged: {error}") from error


def _decoded(part: bytes) -> str:
    try:
        return part.decode()
    except UnicodeDecodeError as error:
        raise sqlite3.DatabaseError(f"a block is damaged: {error}") from error
