"""How texts stand in the library: compressed, several to a block. Quick to load, because a search needs it."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence

BETWEEN = "\x1e"  # between the texts of a block; replaced in the texts themselves


def packed(texts: Sequence[str]) -> bytes:
    """Texts as they stand in a block."""
    return zlib.compress(BETWEEN.join(texts).encode(), 6)


def unpacked(data: bytes) -> list[str]:
    """The texts of a block; sqlite3.DatabaseError where it is damaged, as for any other part of the file."""
    try:
        return zlib.decompress(data).decode().split(BETWEEN)
    except (zlib.error, UnicodeDecodeError, TypeError) as error:
        raise sqlite3.DatabaseError(f"a block is damaged: {error}") from error
