"""A log in one piece: whole, or an error that names it; and moments that only go forward."""

import pytest

from leftoff.errors import DocumentError
from leftoff.stores.packed import digest, next_moment, packed, unpacked
from leftoff.testing.store_promises import a_log


def test_there_and_back():
    """Equal to what was packed."""
    piece = packed(a_log("s"))
    assert unpacked(piece.body.encode(), piece.sha256, where="here").to_dict() == a_log("s").to_dict()
    assert piece.project == "0~0~0"


@pytest.mark.parametrize("cut", [0, 1, 40, -1])
def test_half_of_it_is_told(cut):
    """Wherever it was cut."""
    piece = packed(a_log("s"))
    with pytest.raises(DocumentError, match="here: half written or changed by somebody"):
        unpacked(piece.body.encode()[:cut], piece.sha256, where="here")


@pytest.mark.parametrize(
    ("body", "words"),
    [(b"no JSON", "here: not JSON"), (b"[" * 100_000, "here: not JSON"), (b"[]", "here: not a resume log")],
)
def test_what_was_never_a_log_is_told(body, words):
    """Though it is whole."""
    with pytest.raises(DocumentError, match=words):
        unpacked(body, digest(body), where="here")


def test_no_two_moments_are_the_same():
    """Even within one tick of the clock."""
    moments = [next_moment() for _ in range(2_000)]
    assert moments == sorted({*moments})


def test_a_log_that_nobody_would_fetch_is_not_packed():
    """Neither sent, nor read where somebody else has put it."""
    with pytest.raises(DocumentError, match="larger than 5 MB"):
        packed(a_log("s", "x" * 6_000_000))
    with pytest.raises(DocumentError, match="there: larger than 5 MB"):
        unpacked(b"x" * 6_000_000, "", where="there")
