"""What stands in the place of content is known again by its structure, and by nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.shrink.placeholders import (
    Origin,
    could_be,
    key_of,
    parsed,
    parsed_key,
    placeholder,
    shortened,
    stated_chars,
)

ORIGIN = Origin("0123abcd-0000-4000-8000-000000000000", 40, "deadbeefcafe0123")


def test_a_result_begins_as_in_002_and_ends_with_its_key() -> None:
    """The words are interface: tools that know the seed's placeholder know ours."""
    text = placeholder("Read", 1234, shortened("head", "tail"), ORIGIN)
    assert text.startswith("[Results from Read tool suppressed - original content was 1234 characters")
    assert "It began:\nhead\n… and ended:\ntail\n" in text
    assert text.endswith(
        "line 41 of 0123abcd-0000-4000-8000-000000000000; leftoff expand 0123abcd-41-deadbeef]"
    )


def test_a_reply_begins_as_in_002() -> None:
    """A reply has no tool."""
    text = placeholder(None, 77, "", ORIGIN)
    assert text.startswith("[Claude response trimmed - original was 77 characters")
    found = parsed(text)
    assert found is not None
    assert (found.kind, found.tool, found.original_chars, found.body) == ("reply", None, 77, "")


@given(
    tool=st.text(st.characters(codec="utf-8"), max_size=30),
    chars=st.integers(1, 10**7),
    body=st.text(max_size=300),
    line_idx=st.integers(0, 10**6),
)
def test_every_placeholder_is_known_again(tool: str, chars: int, body: str, line_idx: int) -> None:
    """Whatever the tool is called and whatever was cut."""
    origin = ORIGIN._replace(line_idx=line_idx)
    text = placeholder(tool, chars, body, origin)
    found = parsed(text)
    assert found is not None
    assert (found.original_chars, found.line, found.key) == (chars, line_idx + 1, origin.key)
    assert found.session_id == origin.session_id
    assert could_be(text[:200], text[-200:])
    assert stated_chars(text[:300]) == chars


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[Results from Read tool suppressed - original content was 5 characters]",  # another tool's
        "said: " + placeholder("Read", 5, "", ORIGIN),
        placeholder("Read", 5, "", ORIGIN) + " and more",
        placeholder("Read", 5, "", ORIGIN).replace("line 41", "line 42"),
        placeholder("Read", 5, "", ORIGIN).replace("of 0123abcd", "of 9999abcd"),
        "a log with [...truncated in it",
    ],
)
def test_a_text_that_only_quotes_one_is_none(text: str) -> None:
    """Words in a text are no placeholder (L35)."""
    assert parsed(text) is None


def test_a_text_with_one_end_alone_cannot_be_one() -> None:
    """Both ends must be there."""
    text = placeholder("Read", 5, "", ORIGIN)
    assert not could_be(text[:50], "tail")
    assert not could_be("head", text[-60:])
    assert stated_chars("anything") is None


def test_a_key_is_taken_apart() -> None:
    """The key alone tells session, line and digest."""
    key = key_of("0123abcd-rest", 6, "deadbeefcafe")
    assert key == "0123abcd-7-deadbeef"
    assert parsed_key(f" {key}\n") == ("0123abcd", 7, "deadbeef")
    assert parsed_key("0123abcd-0-deadbeef") is None
    assert parsed_key("../../etc") is None


def test_ends_that_are_empty_are_left_out() -> None:
    """No heading without words."""
    assert shortened("", "") == ""
    assert shortened("a", "") == "It began:\na"
    assert shortened("", "b") == "… and ended:\nb"


def test_a_size_that_no_window_holds_is_no_statement() -> None:
    """Or one line that a tool prints would be taken for all there is, and nothing else could be cut."""
    assert stated_chars(placeholder("Read", 10**7, "", ORIGIN)) == 10**7
    assert stated_chars(placeholder("Read", 999_999_999_999, "", ORIGIN)) is None
