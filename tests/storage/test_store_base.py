"""A log in one piece: whole, or an error that names it; and moments that only go forward."""

import pytest

from leftoff.errors import DocumentError
from leftoff.storage.store_base import next_timestamp_ns, pack_log, sha256_hex, unpack_log
from leftoff.testing.store_promises import a_log


def test_a_packed_log_is_unpacked_as_it_was():
    piece = pack_log(a_log("s"))
    assert unpack_log(piece.body.encode(), piece.sha256, where="here").to_dict() == a_log("s").to_dict()
    assert piece.project == "0~0~0"


@pytest.mark.parametrize("cut", [0, 1, 40, -1])
def test_an_incomplete_piece_is_an_error(cut):
    """A piece may be cut anywhere."""
    piece = pack_log(a_log("s"))
    with pytest.raises(DocumentError, match="here: incomplete, or changed since"):
        unpack_log(piece.body.encode()[:cut], piece.sha256, where="here")


@pytest.mark.parametrize(
    ("body", "words"),
    [(b"no JSON", "here: not JSON"), (b"[" * 100_000, "here: not JSON"), (b"[]", "here: not a resume log")],
)
def test_a_piece_that_is_not_a_log_is_an_error(body, words):
    with pytest.raises(DocumentError, match=words):
        unpack_log(body, sha256_hex(body), where="here")


def test_timestamps_always_increase():
    """Two timestamps differ even within one tick of the clock."""
    moments = [next_timestamp_ns() for _ in range(2_000)]
    assert moments == sorted({*moments})


def test_a_log_that_is_too_large_is_refused():
    """An oversized log is neither sent nor read from a store."""
    with pytest.raises(DocumentError, match="larger than 5 MB"):
        pack_log(a_log("s", "x" * 6_000_000))
    with pytest.raises(DocumentError, match="there: larger than 5 MB"):
        unpack_log(b"x" * 6_000_000, "", where="there")
