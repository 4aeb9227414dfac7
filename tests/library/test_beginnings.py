"""``begin*``: every word that begins so is found, whatever its stem, also as part of a name."""

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.errors import UsageError
from leftoff.library import shelf as shelves
from leftoff.library.answers import Order
from leftoff.library.beginnings import spelled_out
from leftoff.library.finding import found
from leftoff.library.query import Term, parsed
from leftoff.library.words import begun, fold, stem, stems_within, tokens
from tests.library.shelves import NOW, ask, fill, names, piece

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
def test_every_beginning_of_a_word_finds_it(tmp_path, word):
    """Of the whole word too."""
    fill(tmp_path, {"a": [piece(f"say {word} now")]})
    starts = [word[:end] for end in range(1, len(word) + 1)]
    assert [start for start in starts if names(ask(tmp_path, f"{start}*")) != ["a"]] == []
    assert names(ask(tmp_path, f"{word}x*")) == []


@pytest.mark.parametrize("start", ["4*", "40*", "404*"])
def test_a_beginning_of_few_digits_finds_small_numbers_too(tmp_path, start):
    """They are no tokens, so the texts are looked at."""
    fill(tmp_path, {"a": [piece("ended with 404 twice")], "b": [piece("4096 bytes")], "c": [piece("none")]})
    assert {*names(ask(tmp_path, start))} == ({"a"} if start == "404*" else {"a", "b"})
    assert names(ask(tmp_path, f"ended {start}")) == ["a"]


def test_what_begins_so_is_spelled_out_in_the_words_of_the_library(tmp_path):
    """The most common ones, and all; what nothing begins with stays as it is, and of too many none is."""
    many = " ".join(
        f"zeta{letter}{other}" for letter in "abcdefghijklmnopqrst" for other in "abcdefghijklmnop"
    )
    fill(tmp_path, {"a": [piece("koalas koala"), piece("koalbum koalition koaling", 2), piece(many, 3)]})
    with closing(shelves.opened_to_read(str(tmp_path))) as shelf:
        common, every, most = spelled_out(shelf, '("koal"* OR "x") AND "qqq"*')
        assert every == '(("koal" OR "koala" OR "koalbum" OR "koalition") OR "x") AND "qqq"*'
        assert (common, most) == (every, 1)  # so few are all common
        assert spelled_out(shelf, '"zeta"*') is None


@pytest.mark.parametrize(("many", "has_more"), [(2, False), (20, True), (900, False)])
def test_a_common_beginning_is_ranked_by_a_sample_and_its_places_are_counted(tmp_path, many, has_more):
    """All of them where there are few words, and where there are so many that they are gathered; else those of the common ones."""
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
    order = Order(limit=3, hits=3, newest=False, now=int(NOW.timestamp()), compared=100)
    with closing(shelves.opened_to_read(str(tmp_path))) as shelf:
        given = found(shelf, parsed("quokka*", NOW), order)
    assert [len(session.hits) for session in given.sessions] == [3, 3, 3]
    assert {session.has_more for session in given.sessions} == {has_more}
    assert {60 < session.places <= 120 for session in given.sessions} == {True}
    assert has_more or {session.places for session in given.sessions} == {120}


def test_what_begins_so_in_rare_words_is_found_where_the_common_ones_are_not_enough(tmp_path):
    """The sessions with the common word come first; then all words are asked for, also of those that were looked at."""
    rare = [f"quokka{letter * 3}" for letter in "bcdefg"]
    sessions = {"many": [piece("quokkaaaa here", n + 1) for n in range(200)]}
    fill(tmp_path, sessions | {word: [piece(f"{word} there")] for word in rare})
    order = Order(limit=10, hits=1, newest=False, now=int(NOW.timestamp()), compared=100)
    with closing(shelves.opened_to_read(str(tmp_path))) as shelf:
        given = found(shelf, parsed("quokka*", NOW), order)
    assert {*names(given)} == {"many", *rare}
    assert not any(session.has_more for session in given.sessions)


@given(st.text(alphabet="abeginrsdy", min_size=1, max_size=12), st.integers(1, 12))
def test_the_token_of_a_word_begins_so_or_is_one_of_the_stems(word, end):
    """A stem is a beginning of its word, so it is one of the two."""
    start = word[:end]
    assert stem(word).startswith(start) or stem(word) in stems_within(start)


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
def test_names_and_paths_are_found_by_their_beginnings_and_parts(tmp_path, query, name):
    """Also within a longer one."""
    fill(tmp_path, {"a": [piece(f"see {name} there")], "b": [piece("see nothing here")]})
    assert names(ask(tmp_path, query)) == ["a"]


def test_only_a_name_of_several_parts_begins_within_a_longer_one():
    """Of digits nothing is asked: small numbers are no tokens."""
    assert begun("parse") is None
    assert begun("parse_12") == (("pars",), None)
    assert begun("parse_v2") == (("pars",), "v2")
    assert begun("parse_user_na") == (("parseuser",), "userna")


@pytest.mark.parametrize(
    "sign", ["\ufdfa", "\ufdfb", "⑴", "½", "字⑴", "ﷺ*", '"ﷺ koala"', "㍻", "İ", "ﬁ*", "\u0345"]
)
def test_letters_that_stand_for_several_words_can_be_searched(tmp_path, sign):
    """A token has no space, no bracket and no mark of its own: SQLite would take them for something else."""
    fill(tmp_path, {"a": [piece(f"A koala {sign.strip(chr(34)).rstrip('*')} here")]})
    assert names(ask(tmp_path, f"{sign} koala")) == ["a"]


@given(st.text(max_size=40))
def test_a_folded_word_has_letters_and_digits_only(text):
    """Whatever it was made of; and so have tokens."""
    assert all(token.isalnum() for token in tokens(text))
    assert all(letter.isalnum() for letter in fold(f"é{text}"))
    Term(text, is_prefix=True)


@pytest.mark.parametrize("name", ["project", "file", "agent", "tool", "kind", "since", "errors"])
def test_a_filter_that_is_not_utf_8_is_refused_in_words(name):
    """SQLite could not be asked for it."""
    with pytest.raises(UsageError) as refused:
        parsed(f"{name}:a\udcff koala", NOW)
    assert refused.value.message.isprintable()
