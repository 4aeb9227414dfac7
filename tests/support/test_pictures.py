"""PNG pictures that any reader accepts."""

from __future__ import annotations

import struct
import zlib

from tests.support.pictures import bars


def chunks(picture: bytes) -> dict[bytes, bytes]:
    found, at = {}, 8
    while at < len(picture):
        (size,) = struct.unpack_from(">I", picture, at)
        kind, data = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + size]
        (crc,) = struct.unpack_from(">I", picture, at + 8 + size)
        assert crc == zlib.crc32(kind + data)
        found[kind] = data
        at += 12 + size
    return found


def test_a_picture_is_a_valid_png():
    """A picture has the signature, three chunks with checksums, and as many pixels as the header says."""
    picture = bars([1, 5, 9], height=10, bar_width=4)
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    found = chunks(picture)
    assert list(found) == [b"IHDR", b"IDAT", b"IEND"]
    assert struct.unpack_from(">II", found[b"IHDR"]) == (12, 10)
    assert len(zlib.decompress(found[b"IDAT"])) == (12 + 1) * 10


def test_a_bar_is_as_high_as_its_number():
    """The dark pixels of all bars add up to the sum of the numbers."""
    rows = zlib.decompress(chunks(bars([2, 10], height=10, bar_width=1))[b"IDAT"])
    assert rows.count(b"\x30") == 12
