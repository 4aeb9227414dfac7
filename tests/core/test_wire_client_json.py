"""JSON of clients: half a character does not spoil an event, and text that is not JSON is refused."""

import pytest

from leftoff.core.wire import parse_client_json


def test_what_is_json_is_read():
    assert parse_client_json('{"a": ["é", 1, null]}'.encode()) == {"a": ["é", 1, None]}


@pytest.mark.parametrize("raw", [rb'{"a": "x \ud83d y"}', b'{"a": "x \xed\xa0\xbd y"}', b'{"a": "x \xff y"}'])
def test_a_surrogate_becomes_a_replacement_character(raw):
    """Escapes, invalid UTF-8 and cut characters are replaced; the rest stays."""
    found = parse_client_json(raw)
    assert isinstance(found, dict)
    text = str(found["a"])
    assert text.startswith("x \ufffd")
    assert text.endswith(" y")
    text.encode()


@pytest.mark.parametrize("raw", [b"", b"{", b"garbage"])
def test_text_that_is_not_json_is_rejected(raw):
    """Invalid text raises a ValueError, like the standard parser."""
    with pytest.raises(ValueError, match=r"(?i)expecting|line"):
        parse_client_json(raw)
