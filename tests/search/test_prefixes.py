"""``begin*`` finds every word with that prefix, whatever its stem, also as part of a name."""

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.catalogue import database
from leftoff.errors import UsageError
from leftoff.search.match import expand_prefixes, find_sessions
from leftoff.search.query import Term, parse_query
from leftoff.search.results import SearchOptions
from leftoff.search.tokens import fold, prefix_tokens, shorter_stems, stem, tokens
from tests.search.sample_library import NOW, ask, fill, names, piece

WORDS = [
    "running",
    "stopped",
    "libraries",
    "queries",
    "entries",
    "merging",
    "deprecated",
    "boxes",
    "parse",
    "retry",
]


@pytest.mark.parametrize("word", WORDS)
def test_every_prefix_of_a_word_finds_it(tmp_path, word):
    """The whole word is one of its prefixes."""
    fill(tmp_path, {"a": [piece(f"say {word} now")]})
    starts = [word[:end] for end in range(1, len(word) + 1)]
    assert [start for start in starts if names(ask(tmp_path, f"{start}*")) != ["a"]] == []
    assert names(ask(tmp_path, f"{word}x*")) == []


@pytest.mark.parametrize("start", ["4*", "40*", "404*"])
def test_a_prefix_of_few_digits_finds_small_numbers(tmp_path, start):
    """Small numbers have no tokens, so the texts are checked."""
    fill(tmp_path, {"a": [piece("ended with 404 twice")], "b": [piece("4096 bytes")], "c": [piece("none")]})
    assert {*names(ask(tmp_path, start))} == ({"a"} if start == "404*" else {"a", "b"})
    assert names(ask(tmp_path, f"ended {start}")) == ["a"]


def test_a_prefix_is_expanded_to_words_of_the_index(tmp_path):
    """The most common ones, and all; an unknown prefix stays, and too many words are not expanded."""
    many = " ".join(
        f"zeta{letter}{other}" for letter in "abcdefghijklmnopqrst" for other in "abcdefghijklmnop"
    )
    fill(tmp_path, {"a": [piece("koalas koala"), piece("koalbum koalition koaling", 2), piece(many, 3)]})
    with closing(database.open_for_search(str(tmp_path))) as connection:
        common, every, most = expand_prefixes(connection, '("koal"* OR "x") AND "qqq"*')
        assert every == '(("koal" OR "koala" OR "koalbum" OR "koalition") OR "x") AND "qqq"*'
        assert (common, most) == (every, 1)  # so few are all common
        assert expand_prefixes(connection, '"zeta"*') is None


@pytest.mark.parametrize(("many", "has_more"), [(2, False), (20, True), (900, False)])
def test_a_common_prefix_is_ranked_by_a_sample(tmp_path, many, has_more):
    """All places are counted if there are few words or so many that they are gathered; else those of the common ones."""
    texts = [f"quokka{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}x says" for n in range(many)]
    fill(
        tmp_path,
        {
            f"s{at}": [
                piece(texts[(at * 120 + n) % many] if n % 2 else "quokka sits", n + 1) for n in range(120)
            ]
            for at in range(7)
        },
    )
    order = SearchOptions(limit=3, hits=3, newest=False, now=int(NOW.timestamp()), compared=100)
    with closing(database.open_for_search(str(tmp_path))) as connection:
        result = find_sessions(connection, parse_query("quokka*", NOW), order)
    assert [len(session.hits) for session in result.sessions] == [3, 3, 3]
    assert {session.has_more for session in result.sessions} == {has_more}
    assert {60 < session.places <= 120 for session in result.sessions} == {True}
    assert has_more or {session.places for session in result.sessions} == {120}


def test_rare_words_of_a_prefix_are_found_if_common_ones_are_not_enough(tmp_path):
    """Sessions with the common word come first; then all words are searched."""
    rare = [f"quokka{letter * 3}" for letter in "bcdefg"]
    sessions = {"many": [piece("quokkaaaa here", n + 1) for n in range(200)]}
    fill(tmp_path, sessions | {word: [piece(f"{word} there")] for word in rare})
    order = SearchOptions(limit=10, hits=1, newest=False, now=int(NOW.timestamp()), compared=100)
    with closing(database.open_for_search(str(tmp_path))) as connection:
        result = find_sessions(connection, parse_query("quokka*", NOW), order)
    assert {*names(result)} == {"many", *rare}
    assert not any(session.has_more for session in result.sessions)


@given(st.text(alphabet="abeginrsdy", min_size=1, max_size=12), st.integers(1, 12))
def test_the_token_of_a_word_has_the_prefix_or_is_a_shorter_stem(word, end):
    """A stem is a prefix of its word."""
    start = word[:end]
    assert stem(word).startswith(start) or stem(word) in shorter_stems(start)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("parseI*", "fooParseInputBar"),
        ("parseI*", "foo_parse_ing_bar"),
        ("parse_user_na*", "fooParseUserNameBar"),
        ("parse_user_na*", "foo_parse_user_naming_bar"),
        ("parse_12*", "foo_parse_123_bar"),
        ("parse_v2*", "foo_parse_v2x_bar"),
        ("name_io_2*", "foo_name_io_2_bar"),
        ("i18n", "getI18nText"),
        ("__*", "__init__"),
        ("sha25*", "getSha256Sum"),
        ("getSha2*", "xGetSha256Sum"),
        ("sha256", "getSha256Sum"),
        ("io2", "nameIo2"),
        ("nameIo2*", "fooNameIo2Bar"),
        ("naïve", "userNaïve"),
        ("naive", "userNaïve"),
        ("naiv*", "user naiver"),
        ("état", "userÉtat"),
        ("src/lef*", "src/leftoff/library/words.py"),
        ("leftoff/library/wo*", "src/leftoff/library/words.py"),
        ("数字*", "猜数字游戏"),
        ("字*", "猜数字"),
    ],
)
def test_names_and_paths_are_found_by_prefixes_and_parts(tmp_path, query, name):
    """Names and paths are also found within longer ones."""
    fill(tmp_path, {"a": [piece(f"see {name} there")], "b": [piece("see nothing here")]})
    assert names(ask(tmp_path, query)) == ["a"]


def test_only_a_name_of_several_parts_has_prefix_tokens():
    """Numbers have no prefix tokens, because small numbers are not tokens."""
    assert prefix_tokens("parse") is None
    assert prefix_tokens("parse_12") == (("pars",), None)
    assert prefix_tokens("parse_v2") == (("pars",), "v2")
    assert prefix_tokens("parse_user_na") == (("parseuser",), "userna")


@pytest.mark.parametrize(
    "sign", ["\ufdfa", "\ufdfb", "⑴", "½", "字⑴", "ﷺ*", '"ﷺ koala"', "㍻", "İ", "ﬁ*", "\u0345"]
)
def test_characters_that_decompose_into_several_words_can_be_searched(tmp_path, sign):
    """A token has no space and no punctuation, which SQLite would interpret."""
    fill(tmp_path, {"a": [piece(f"A koala {sign.strip(chr(34)).rstrip('*')} here")]})
    assert names(ask(tmp_path, f"{sign} koala")) == ["a"]


@given(st.text(max_size=40))
def test_a_folded_word_has_letters_and_digits_only(text):
    """Folded words and tokens have only letters and digits, whatever the text."""
    assert all(token.isalnum() for token in tokens(text))
    assert all(letter.isalnum() for letter in fold(f"é{text}"))
    Term(text, is_prefix=True)


@pytest.mark.parametrize("name", ["project", "file", "agent", "tool", "kind", "since", "errors"])
def test_a_filter_that_is_not_utf_8_is_refused(name):
    """SQLite cannot search for text that is not UTF-8."""
    with pytest.raises(UsageError) as refused:
        parse_query(f"{name}:a\udcff koala", NOW)
    assert refused.value.message.isprintable()
