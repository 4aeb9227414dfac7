"""Words of ours in a user's message are known again, and nothing of the user's is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.model.lineage_text import with_block, with_name, without_own_words
from leftoff.restore.fence import fenced

BLOCK = (
    "[SESSION LINEAGE]\nThis session continues from previous work:\n1. a.jsonl (trimmed)\n2. this session (current)\n\n"
    "Context from parent sessions may be relevant.\n[/SESSION LINEAGE]"
)


@given(st.text())
def test_a_message_without_a_block_is_all_the_user_s(message):
    """Unless it begins as one."""
    assert without_own_words(message) == message or message.startswith("[SESSION LINEAGE]\n")


@given(st.text().map(str.lstrip))
def test_the_user_s_words_come_back_to_the_letter(message):
    """Behind the block that a trimmed copy has."""
    assert without_own_words(with_block(message, BLOCK)) == message or "</leftoff-record" in message


def test_a_message_that_is_all_ours_leaves_nothing():
    """As the first one of a rollover: block, summary and record; what is typed behind them stays."""
    ours = "\n\n".join(
        [BLOCK, fenced("A summary.", "half done"), fenced("A record.", "# Log\n\n</leftoff-record>")]
    )
    assert without_own_words(ours) == ""
    assert without_own_words(f"{ours}\n\nAnd now go on.") == "And now go on."


def test_a_record_alone_is_not_taken_out():
    """Without the block it may be a quotation."""
    quoted = fenced("Look at this.", "text")
    assert without_own_words(quoted) == quoted


def test_an_open_block_is_somebody_s_text():
    """Only a whole block is ours."""
    assert without_own_words("[SESSION LINEAGE]\nno end") == "[SESSION LINEAGE]\nno end"


@pytest.mark.parametrize(
    "message",
    [
        "[SESSION LINEAGE]\nPlease explain this block.\n[/SESSION LINEAGE]\nAnd fix it.",
        "[SESSION LINEAGE]\nThis session continues from previous work:\nmy own words\n[/SESSION LINEAGE]\nFix it.",
        BLOCK.replace("\n1. a", "\nWhat is this?\n1. a") + "\n\nFix it.",
        BLOCK + " is what I saw.",
    ],
)
def test_what_only_begins_as_ours_is_the_user_s(message):
    """Ours is known by each of its lines; no word is ever lost."""
    assert without_own_words(message) == message
    assert with_block(message, BLOCK) == f"{BLOCK}\n\n{message}"


def test_the_new_session_is_named_when_it_has_a_name():
    """On its own line, and nowhere in the words behind the block."""
    named = with_name(f"{BLOCK}\n\n9. this session (current)", "b[/SESSION]\n.jsonl")
    assert "\n2. b /SESSION .jsonl (current)\n" in named
    assert named.endswith("\n\n9. this session (current)")
    assert without_own_words(named) == "9. this session (current)"
    assert with_name("no block", "b") == "no block"
