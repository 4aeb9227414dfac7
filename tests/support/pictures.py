"""Small PNG pictures of bars, so that a tool result can contain a real image.

Pixels are stored uncompressed, so that every zlib produces the same bytes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = struct.Struct(">IIBBBBB")
_GREY_8_BIT = (8, 0, 0, 0, 0)  # depth, colour type, compression, filter, interlace
_INK, _PAPER = b"\x30", b"\xf4"


def bars(heights: Sequence[int], *, height: int = 24, bar_width: int = 2) -> bytes:
    """Return a PNG with one bar for each of ``heights``."""
    rows = bytearray()
    for y in range(height, 0, -1):
        rows += b"\x00"  # no filter
        for bar in heights:
            rows += (_INK if bar >= y else _PAPER) * bar_width
    size = (len(heights) * bar_width, height)
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", _HEADER.pack(*size, *_GREY_8_BIT)),
            _chunk(b"IDAT", zlib.compress(bytes(rows), level=0)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
