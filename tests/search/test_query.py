"""Parsing queries."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.errors import UsageError
from leftoff.search.query import (
    FILTERS,
    Query,
    Term,
    all_words,
    any_word,
    parse_query,
    parse_time,
    plain_terms,
)

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


def test_words_phrases_prefixes_alternatives_and_exclusions_are_parsed():
    """One query uses every part of the language."""
    query = parse_query('retry "connection reset" time* red OR blue -test -"not this"', NOW)
    assert query.groups == (
        (Term("retry"),),
        (Term("connection reset", is_phrase=True),),
        (Term("time", is_prefix=True),),
        (Term("red"), Term("blue")),
    )
    assert query.without == (Term("test"), Term("not this", is_phrase=True))


def test_filters_are_separated_from_words():
    """Quotes keep the spaces in the value of a filter."""
    query = parse_query(
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
        ("kind:nonsense", "kind:nonsense is not a kind"),
        ("errors:perhaps", "errors:yes or errors:no"),
        ("since:soon", "is not a time"),
        ("since:99999999999d", "is not a time"),
        ('agent:""', "wants something"),
        ("retry agent:", "agent: wants something"),
        ("retry -agent:claude", "-agent: a filter cannot be turned round"),
        ("x" * 3000, "3,000 characters"),
    ],
)
def test_invalid_filters_are_refused(words, message):
    """The error says what the filter accepts."""
    with pytest.raises(UsageError, match=message):
        parse_query(words, NOW)


def test_a_word_with_a_colon_is_a_word():
    """Error messages are full of colons."""
    assert parse_query("error: std::string http://x", NOW).terms == (
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
def test_times_are_parsed(text, expected):
    """A time is a day, a day with a time, or how long ago."""
    assert parse_time(text, NOW) == expected


def test_a_phrase_after_a_colon_keeps_what_precedes_it():
    """``error:"no such file"`` is searched as it was typed."""
    assert parse_query('error:"no such file"', NOW).terms == (Term("error:no such file", is_phrase=True),)


def test_pasted_output_is_not_parsed_as_a_query():
    """Colons, quotes and stars mean nothing, and the number of words is limited."""
    assert plain_terms('read since:foo "bar -- got* ?') == [
        *map(Term, ("read", "since:foo", "bar", "got")),
    ]
    assert len(plain_terms(" ".join(f"w{n}" for n in range(500)))) == 200


def test_a_flag_is_searched_and_one_minus_excludes():
    """``git push --force`` finds the sessions with that flag."""
    query = parse_query("push --force --no-verify -q -word", NOW)
    assert query.terms == (Term("push"), Term("--force"), Term("--no-verify"), Term("-q"))
    assert query.without == (Term("word"),)


def test_common_words_are_left_out_unless_there_are_no_others():
    """``to be`` is searched although both words are common."""
    assert parse_query("how to retry", NOW).without_common_words.terms == (Term("retry"),)
    assert len(parse_query("to be", NOW).without_common_words.terms) == 2


def test_a_query_without_words_is_empty():
    """A query of punctuation alone has no words."""
    assert parse_query("-- ?? \"\" '' OR -!", NOW).is_empty


@given(st.text(max_size=120))
def test_no_text_breaks_the_parser_or_fts5(text):
    """Whatever is typed is parsed or refused with a UsageError."""
    try:
        query = parse_query(text, NOW)
    except UsageError:
        return
    if query.groups:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE VIRTUAL TABLE words USING fts5(text, parts)")
            for words in (all_words(query), any_word(query, ())):
                connection.execute("SELECT * FROM words WHERE words MATCH ?", (words,)).fetchall()


def test_every_filter_is_parsed():
    """Every filter that the help lists is accepted."""
    values = {"kind": "prompt", "since": "1d", "before": "1d", "errors": "no"}
    for name in FILTERS:
        assert not parse_query(f"{name}:{values.get(name, 'x')}", NOW).is_empty
