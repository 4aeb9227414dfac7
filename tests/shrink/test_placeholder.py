"""A placeholder for removed content is recognised by its structure, and by nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.shrink.placeholder import (
    Origin,
    both_ends,
    looks_like_placeholder,
    parse_key,
    parse_placeholder,
    placeholder,
    stated_chars,
)

ORIGIN = Origin("0123abcd-0000-4000-8000-000000000000", 40, "deadbeefcafe0123")


def test_a_result_s_placeholder_has_its_documented_form() -> None:
    """The text is an interface."""
    text = placeholder("Read", 1234, both_ends("head", "tail"), ORIGIN)
    assert text.startswith("[Results from Read tool suppressed - original content was 1234 characters")
    assert "It began:\nhead\n… and ended:\ntail\n" in text
    assert text.endswith(
        "line 41 of 0123abcd-0000-4000-8000-000000000000; leftoff expand 0123abcd-41-deadbeef]"
    )


def test_a_reply_s_placeholder_has_its_documented_form() -> None:
    text = placeholder(None, 77, "", ORIGIN)
    assert text.startswith("[Claude response trimmed - original was 77 characters")
    found = parse_placeholder(text)
    assert found is not None
    assert (found.kind, found.tool, found.original_chars, found.body) == ("reply", None, 77, "")


@given(
    tool=st.text(st.characters(codec="utf-8"), max_size=30),
    chars=st.integers(1, 10**7),
    body=st.text(max_size=300),
    line_idx=st.integers(0, 10**6),
)
def test_every_placeholder_is_parsed_again(tool: str, chars: int, body: str, line_idx: int) -> None:
    origin = ORIGIN._replace(line_idx=line_idx)
    text = placeholder(tool, chars, body, origin)
    found = parse_placeholder(text)
    assert found is not None
    assert (found.original_chars, found.line, found.key) == (chars, line_idx + 1, origin.key)
    assert found.session_id == origin.session_id
    assert looks_like_placeholder(text[:200], text[-200:])
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
def test_a_text_that_quotes_a_placeholder_is_not_one(text: str) -> None:
    assert parse_placeholder(text) is None


def test_a_text_with_only_one_end_is_not_a_placeholder() -> None:
    text = placeholder("Read", 5, "", ORIGIN)
    assert not looks_like_placeholder(text[:50], "tail")
    assert not looks_like_placeholder("head", text[-60:])
    assert stated_chars("anything") is None


def test_a_key_holds_session_line_and_digest() -> None:
    key = Origin("0123abcd-rest", 6, "deadbeefcafe").key
    assert key == "0123abcd-7-deadbeef"
    assert parse_key(f" {key}\n") == ("0123abcd", 7, "deadbeef")
    assert parse_key("0123abcd-0-deadbeef") is None
    assert parse_key("../../etc") is None


def test_empty_ends_are_left_out() -> None:
    assert both_ends("", "") == ""
    assert both_ends("a", "") == "It began:\na"
    assert both_ends("", "b") == "… and ended:\nb"


def test_an_impossible_size_is_ignored() -> None:
    assert stated_chars(placeholder("Read", 10**7, "", ORIGIN)) == 10**7
    assert stated_chars(placeholder("Read", 999_999_999_999, "", ORIGIN)) is None
