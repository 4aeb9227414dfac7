"""What a person may type."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.errors import UsageError
from leftoff.library.query import FILTERS, Query, Term, bare_terms, expression, moment, parsed

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


def test_words_phrases_beginnings_alternatives_and_refusals_are_told_apart():
    """The whole language in one query."""
    query = parsed('retry "connection reset" time* red OR blue -test -"not this"', NOW)
    assert query.groups == (
        (Term("retry"),),
        (Term("connection reset", is_phrase=True),),
        (Term("time", is_prefix=True),),
        (Term("red"), Term("blue")),
    )
    assert query.without == (Term("test"), Term("not this", is_phrase=True))


def test_filters_are_taken_out_of_the_words():
    """Each with its value; quotes keep spaces together."""
    query = parsed(
        'x agent:codex project:"my shop" tool:Bash file:src/a.py kind:prompt,reply since:7d before:2026-02-28 errors:yes',
        NOW,
    )
    assert query == Query(
        groups=((Term("x"),),),
        agent="codex",
        project="my shop",
        tool="Bash",
        file="src/a.py",
        kinds=("prompt", "reply"),
        since=int(datetime(2026, 2, 22, 12, 30, tzinfo=UTC).timestamp()),
        before=int(datetime(2026, 2, 28, tzinfo=UTC).timestamp()),
        errors=True,
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("kind:nonsense", "kind:nonsense is no kind"),
        ("errors:perhaps", "errors:yes or errors:no"),
        ("since:soon", "is no time"),
        ("since:99999999999d", "is no time"),
        ('agent:""', "wants something"),
        ("retry agent:", "agent: wants something"),
        ("retry -agent:claude", "-agent: a filter cannot be turned round"),
        ("x" * 3000, "3,000 characters"),
    ],
)
def test_what_cannot_be_understood_is_said(words, message):
    """With what would be."""
    with pytest.raises(UsageError, match=message):
        parsed(words, NOW)


def test_a_colon_in_a_word_that_is_no_filter_is_a_word():
    """Error messages are full of them."""
    assert parsed("error: std::string http://x", NOW).terms == (
        Term("error"),
        Term("std::string"),
        Term("http://x"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("today", datetime(2026, 3, 1, tzinfo=UTC)),
        ("yesterday", datetime(2026, 2, 28, tzinfo=UTC)),
        ("90min", datetime(2026, 3, 1, 11, tzinfo=UTC)),
        ("2026-01-31T10:00:00+02:00", datetime(2026, 1, 31, 8, tzinfo=UTC)),
    ],
)
def test_times_are_said_as_people_say_them(text, expected):
    """A day, a moment, or how long ago."""
    assert moment(text, NOW) == expected


def test_a_phrase_behind_a_colon_keeps_what_stands_before_it():
    """``error:"no such file"`` is looked for as it was typed."""
    assert parsed('error:"no such file"', NOW).terms == (Term("error:no such file", is_phrase=True),)


def test_the_words_of_somebodys_output_are_no_query():
    """Colons, quotes and stars in it mean nothing, and no more words are taken than a query may have."""
    assert bare_terms('read since:foo "bar -- got* ?') == [
        *map(Term, ("read", "since:foo", "bar", "got")),
    ]
    assert len(bare_terms(" ".join(f"w{n}" for n in range(500)))) == 200


def test_a_flag_is_looked_for_and_one_minus_refuses():
    """Who types ``git push --force`` wants the sessions that have it."""
    query = parsed("push --force --no-verify -x", NOW)
    assert query.terms == (Term("push"), Term("--force"), Term("--no-verify"))
    assert query.without == (Term("x"),)


def test_words_that_any_text_holds_are_left_out_unless_there_are_no_others():
    """``how to be`` is looked for as it is."""
    assert parsed("how to retry", NOW).telling.terms == (Term("retry"),)
    assert len(parsed("to be", NOW).telling.terms) == 2


def test_a_query_without_any_word_asks_for_nothing():
    """Signs alone."""
    assert parsed("-- ?? \"\" '' OR -!", NOW).is_empty
    assert expression((), ()) is None


@given(st.text(max_size=120))
def test_no_text_breaks_the_parser_or_the_language_of_the_index(text):
    """Whatever is typed is understood or refused with a sentence."""
    try:
        query = parsed(text, NOW)
    except UsageError:
        return
    made = expression(query.groups, query.without)
    assert made is None or made.count('"') % 2 == 0


def test_every_filter_is_understood():
    """The list in the help is the truth."""
    values = {"kind": "prompt", "since": "1d", "before": "1d", "errors": "no"}
    for name in FILTERS:
        assert not parsed(f"{name}:{values.get(name, 'x')}", NOW).is_empty
