"""Which words a text is found by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.library.patterns import light, pattern, sieve, spans
from leftoff.library.words import (
    COMMON,
    beginning,
    fold,
    is_exact,
    joined,
    linked,
    stem,
    tokens,
    wanted,
)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("def parse_user_name():", "user"),
        ("def parse_user_name():", "parse_user_name"),
        ("def parse_user_name():", "parseUserName"),
        ("parseUserName(x)", "parse_user_name"),
        ("parseUserName(x)", "name"),
        ("HTTPServerError", "http"),
        ("HTTPServerError", "server"),
        ("see src/limits/bucket.py:12", "bucket.py"),
        ("see src/limits/bucket.py:12", "limits"),
        ("see tests/test_limits.py", "test_limits"),
        ("buildinfo.Version.String()", "buildinfo.Version"),
        ("buildinfo.Version.String()", "version.string"),
        ("the branches were merged", "merge"),
        ("merging the branch", "merged"),
        ("it stopped", "stops"),
        ("two queries", "query"),
        ("Café", "cafe"),
        ("STRASSE", "straße"),
        ("commit 4f8c1176", "4f8c1176"),
        ("port 8080", "8080"),
        ("開発コマンドの更新", "コマンド"),
        ("猜数字游戏", "数字"),
        ("第3次abc", "abc"),
        ("안녕하세요", "안녕"),
    ],
)
def test_a_text_is_found_by_its_words_and_their_parts(text, word):
    """Names in code by their parts, words by their stems, scripts without spaces by any two letters."""
    assert wanted(word)
    assert {*wanted(word)} <= tokens(text) or joined(word) in tokens(text)
    assert is_exact(word) or pattern(word, text).search(text) or pattern(word, fold(text)).search(fold(text))


@pytest.mark.parametrize(
    ("text", "word"), [("data.py", "a.py"), ("the best", "test"), ("猜数字", "字数"), ("user", "users_name")]
)
def test_a_text_is_not_found_by_what_it_does_not_hold(text, word):
    """Near misses."""
    assert not {*wanted(word)} <= tokens(text) or not pattern(word, text).search(text)
    assert joined(word) not in tokens(text)


@given(st.text(max_size=200))
def test_any_text_can_be_cut_and_is_found_by_each_of_its_words(text):
    """Nothing raises, tokens have no space in them, and every word of the text leads back to it."""
    found = tokens(text)
    assert all(token and not any(letter.isspace() for letter in token) for token in found)
    for word in text.split():
        assert {*wanted(word)} <= found


@given(st.from_regex(r"[a-zA-Z0-9_]{1,30}", fullmatch=True), st.sampled_from([" ", "(", "/", "\n"]))
def test_a_name_is_found_between_any_signs(name, sign):
    """Whatever stands around it."""
    assert {*wanted(name)} <= tokens(f"x{sign}{name}{sign}y")


def test_small_numbers_and_endless_strings_are_not_words():
    """Line numbers would be most of the index."""
    assert tokens("1 22 333 " + "f" * 65) == set()
    assert wanted("12") == ()


@pytest.mark.parametrize(
    ("words", "text", "holds"),
    [
        ("connection reset", "a Connection  reset by peer", True),
        ("connection reset", "reset the connection", False),
        ("user_name", "parseUserName", True),
        ("a.py", "data.py", False),
        ("a.py", "src/a.py:3", True),
        ("数字", "猜数字游戏", True),
        ("??", "what??", True),
    ],
)
def test_a_phrase_is_looked_for_in_the_text_itself(words, text, holds):
    """As neighbours, in order, whatever signs stand between."""
    assert bool(pattern(words, text).search(text)) is holds


def test_a_beginning_may_end_anywhere():
    """And a word may not."""
    assert pattern("time", "timeouts", is_prefix=True).search("timeouts")
    assert not pattern("time", "timeouts").search("timeouts")


@pytest.mark.parametrize(
    ("word", "start"),
    [("time", "time"), ("Dép_recate", "deprecate"), ("", None), ("猜数字", "猜数"), ("字", "字")],
)
def test_a_beginning_is_asked_for_as_tokens_are_written(word, start):
    """Of a script that is cut into pairs, the first pair."""
    assert beginning(word) == start


def test_tokens_alone_tell_of_single_words_only():
    """Names of several parts, paths and scripts without spaces need a look at the text."""
    assert [is_exact(word) for word in ("word", "user_name", "a/b.py", "数字", "5.6")] == [
        True,
        False,
        False,
        False,
        False,
    ]


def test_what_was_found_is_lit_in_any_form_of_the_word():
    """``merging`` for ``merged``, and inside a name."""
    assert light("merged").search("when merging it")[0] == "merging"
    assert light("user").search("parseUserName")
    assert light("数字").search("猜数字游戏")[0] == "数字"


def test_short_words_and_other_alphabets_keep_their_endings():
    """There is nothing to take off."""
    assert [stem(word) for word in ("uses", "été", "v2ing", "process")] == ["uses", "été", "v2ing", "process"]
    assert fold("Ünïcode") == "unicode"
    assert fold("ガ") == "ガ"
    assert "the" in COMMON


def test_a_very_long_name_is_asked_for_by_its_parts():
    """No token is that long."""
    long = "_".join(["part"] * 20)
    assert wanted(long) == ("part",)


_PART = st.from_regex(r"[a-z]{2,8}", fullmatch=True)


@given(st.lists(_PART, min_size=2, max_size=5), _PART, st.sampled_from(["_", ".", "-"]))
def test_a_name_is_found_within_a_longer_one_by_its_neighbouring_parts(parts, other, sign):
    """Whichever way the two are written; and a text that holds all parts apart has not the tokens of the name."""
    name, camel = sign.join(parts), parts[0] + "".join(map(str.capitalize, parts[1:]))
    longer = f"{other}{sign}{name}{sign}{other}"
    for spelled in (name, camel):
        assert {*linked(spelled)} <= tokens(f"x {longer}(") or len({*parts, other}) < len(parts) + 1
        assert {*linked(spelled)} <= tokens(other + "".join(map(str.capitalize, [*parts, other])))


def test_parts_that_stand_apart_do_not_make_a_name():
    """That is what spares looking at every text with two common words in it."""
    assert not {*linked("store_report")} & tokens("the store has a report, and a report_of a store")
    assert linked("parse_user_name") == ("parseuser", "usernam")


def test_digits_link_nothing():
    """Else each id would bring a row of new words; such parts are asked for by themselves."""
    assert linked("sha256_sum") == ("sha256", "sum")
    assert tokens("0b54f7aa-6d0c-4c7b") == {"0b54f7aa6d0c4c7b", "0b54f7aa", "6d0c", "4c7b"}


@given(
    st.text(alphabet="aAbB_ .\u017f\u212aİßé数", max_size=12),
    st.text(alphabet="aAbBk_ .\u017f\u212aİßé数", max_size=30),
)
def test_the_sieve_lets_through_all_that_the_pattern_finds(words, text):
    """It only spares the slower look."""
    if words.strip() and pattern(words, text).search(text):
        assert sieve(words).search(text.casefold())


@given(
    st.text(alphabet="tarifTARIF _-.é…日é1", max_size=40),
    st.sampled_from(["tariff", "tar", "rif", "Tariffs", "fat", "t1", "1"]),
)
def test_a_plain_word_is_shown_where_its_pattern_would_find_it(text, word):
    """Without compiling one."""
    assert [*spans(word, text)] == [found.span() for found in light(word).finditer(text)]
