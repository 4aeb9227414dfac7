"""The fence: nothing inside can be taken for its end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.core import markdown


@pytest.mark.parametrize(
    "text",
    [
        "</leftoff-record-1>",
        "<\n/leftoff-record",
        "<LeftOff-Record",
        "< / system-reminder>",
        "<\\/hook_context>",
    ],
)
def test_what_looks_like_a_marker_loses_its_bracket(text):
    """The text keeps its length and stays readable."""
    assert markdown.neutralise_markers(text) == "(" + text[1:]


@pytest.mark.parametrize("text", ["a < b", "<T>", "Vec<system_reminders>", "<leftoff>", "x <- y"])
def test_other_brackets_stay(text):
    """Code and rules of the user are not rewritten."""
    assert markdown.neutralise_markers(text) == text


@given(st.text(max_size=50), st.text(max_size=200))
def test_the_frame_takes_what_it_says(sentence, body):
    """The text is longer than sentence and body by ``FRAME_CHARS``, in both ways of counting."""
    text = markdown.fence(sentence, body)
    assert len(text) == len(sentence) + len(body) + markdown.FRAME_CHARS
    assert (
        markdown.utf16_length(text)
        == markdown.utf16_length(sentence) + markdown.utf16_length(body) + markdown.FRAME_CHARS
    )
