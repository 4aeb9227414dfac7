"""JSON of clients: half a character spoils no event, and what is no JSON is refused."""

import pytest

from leftoff.system.client_json import told


def test_what_is_json_is_read():
    """As it is."""
    assert told('{"a": ["é", 1, null]}'.encode()) == {"a": ["é", 1, None]}


@pytest.mark.parametrize("raw", [rb'{"a": "x \ud83d y"}', b'{"a": "x \xed\xa0\xbd y"}', b'{"a": "x \xff y"}'])
def test_half_a_character_is_shown_as_one_that_is_missing(raw):
    """Escaped, as bytes that are no UTF-8, or torn; the rest stands."""
    found = told(raw)
    assert isinstance(found, dict)
    text = str(found["a"])
    assert text.startswith("x \ufffd")
    assert text.endswith(" y")
    text.encode()


@pytest.mark.parametrize("raw", [b"", b"{", b"garbage"])
def test_what_is_no_json_is_refused(raw):
    """With the error that callers know."""
    with pytest.raises(ValueError, match=r"(?i)expecting|line"):
        told(raw)
