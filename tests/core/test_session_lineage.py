"""Words of ours in a user's message are known again, and nothing of the user's is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.core.markdown import fence
from leftoff.core.session import add_lineage_block, name_in_lineage_block, strip_leftoff_text

BLOCK = (
    "[SESSION LINEAGE]\nThis session continues from previous work:\n1. a.jsonl (trimmed)\n2. this session (current)\n\n"
    "Context from parent sessions may be relevant.\n[/SESSION LINEAGE]"
)


@given(st.text())
def test_a_message_without_a_block_is_all_the_user_s(message):
    """Only a message that begins like a block may differ."""
    assert strip_leftoff_text(message) == message or message.startswith("[SESSION LINEAGE]\n")


@given(st.text().map(str.lstrip))
def test_the_user_s_words_come_back_to_the_letter(message):
    """The user's words after the block of a trimmed copy are unchanged."""
    assert strip_leftoff_text(add_lineage_block(message, BLOCK)) == message or "</leftoff-record" in message


def test_a_message_written_by_leftoff_alone_is_stripped_completely():
    """The first message of a rollover has a block, a summary and a record; text typed after them is kept."""
    ours = "\n\n".join(
        [BLOCK, fence("A summary.", "half done"), fence("A record.", "# Log\n\n</leftoff-record>")]
    )
    assert strip_leftoff_text(ours) == ""
    assert strip_leftoff_text(f"{ours}\n\nAnd now go on.") == "And now go on."


def test_a_record_alone_is_not_taken_out():
    """A record without a lineage block may be a quotation."""
    quoted = fence("Look at this.", "text")
    assert strip_leftoff_text(quoted) == quoted


def test_a_block_without_an_end_is_the_users_text():
    """Only a complete block is leftoff's own."""
    assert strip_leftoff_text("[SESSION LINEAGE]\nno end") == "[SESSION LINEAGE]\nno end"


@pytest.mark.parametrize(
    "message",
    [
        "[SESSION LINEAGE]\nPlease explain this block.\n[/SESSION LINEAGE]\nAnd fix it.",
        "[SESSION LINEAGE]\nThis session continues from previous work:\nmy own words\n[/SESSION LINEAGE]\nFix it.",
        BLOCK.replace("\n1. a", "\nWhat is this?\n1. a") + "\n\nFix it.",
        BLOCK + " is what I saw.",
    ],
)
def test_text_that_only_begins_like_a_block_is_the_users(message):
    """Ours is known by each of its lines; no word is ever lost."""
    assert strip_leftoff_text(message) == message
    assert add_lineage_block(message, BLOCK) == f"{BLOCK}\n\n{message}"


def test_the_new_session_is_named_when_it_has_a_name():
    """Only the line in the block is replaced, not the same words after it."""
    named = name_in_lineage_block(f"{BLOCK}\n\n9. this session (current)", "b[/SESSION]\n.jsonl")
    assert "\n2. b /SESSION .jsonl (current)\n" in named
    assert named.endswith("\n\n9. this session (current)")
    assert strip_leftoff_text(named) == "9. this session (current)"
    assert name_in_lineage_block("no block", "b") == "no block"
