"""Entries of critical context: what of them is quoted."""

import pytest

from leftoff.core.markdown import command_text, is_superseded, user_quote


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("never push", "never push"),
        ("“never push”", "never push"),
        ("“a “b” c”", "a “b” c"),
        ("“use tabs” (superseded by: “use spaces”)", "use tabs"),
        ("Asked “Which?”, the user answered: “The first: “A””", "The first: “A”"),
        ("The user refused `rm -rf`: “no”", "no"),
        ("The user refused `git push`", ""),
        ("The user approved the plan “X”", ""),
        ("(3 earlier rules do not fit: lines 1, 2 of the transcript)", ""),
    ],
)
def test_the_users_words_are_those_between_the_marks(rule, words):
    """The words around the quotation marks are leftoff's own."""
    assert user_quote(rule) == words
    assert is_superseded(rule) is ("superseded" in rule)


@pytest.mark.parametrize(
    ("entry", "command"),
    [
        ("`pytest -x` → exit 1, 2 times", "pytest -x"),
        ("echo a → b → exit 0", "echo a → b"),
        ("make", "make"),
        ("`make`", "make"),
        ("`", "`"),
    ],
)
def test_a_command_is_what_was_typed(entry, command):
    """A command is read without its back-ticks, arrow and result."""
    assert command_text(entry) == command
