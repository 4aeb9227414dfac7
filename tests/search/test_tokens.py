"""The tokens of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.search.results import exact_pattern, find_spans, highlight_pattern, prefilter_pattern
from leftoff.search.tokens import (
    COMMON_WORDS,
    fold,
    is_exact,
    joined_token,
    linked_tokens,
    prefix_token,
    required_tokens,
    stem,
    tokens,
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
    assert required_tokens(word)
    assert {*required_tokens(word)} <= tokens(text) or joined_token(word) in tokens(text)
    assert (
        is_exact(word)
        or exact_pattern(word, text).search(text)
        or exact_pattern(word, fold(text)).search(fold(text))
    )


@pytest.mark.parametrize(
    ("text", "word"), [("data.py", "a.py"), ("the best", "test"), ("猜数字", "字数"), ("user", "users_name")]
)
def test_a_text_is_not_found_by_other_words(text, word):
    """Words that are only similar do not match."""
    assert not {*required_tokens(word)} <= tokens(text) or not exact_pattern(word, text).search(text)
    assert joined_token(word) not in tokens(text)


@given(st.text(max_size=200))
def test_any_text_is_found_by_each_of_its_words(text):
    """Nothing raises, tokens contain no space, and every word leads back to the text."""
    found = tokens(text)
    assert all(token and not any(letter.isspace() for letter in token) for token in found)
    for word in text.split():
        assert {*required_tokens(word)} <= found


@given(st.from_regex(r"[a-zA-Z0-9_]{1,30}", fullmatch=True), st.sampled_from([" ", "(", "/", "\n"]))
def test_a_name_is_found_between_any_punctuation(name, sign):
    """A name is found whatever punctuation surrounds it."""
    assert {*required_tokens(name)} <= tokens(f"x{sign}{name}{sign}y")


def test_small_numbers_and_very_long_strings_have_no_tokens():
    """Line numbers would be most of the index."""
    assert tokens("1 22 333 " + "f" * 65) == set()
    assert required_tokens("12") == ()


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
def test_a_phrase_is_checked_in_the_text(words, text, holds):
    """The words must be adjacent and in order, with any punctuation between them."""
    assert bool(exact_pattern(words, text).search(text)) is holds


def test_a_prefix_may_end_anywhere():
    """A prefix matches inside a word, and a whole word does not."""
    assert exact_pattern("time", "timeouts", is_prefix=True).search("timeouts")
    assert not exact_pattern("time", "timeouts").search("timeouts")


@pytest.mark.parametrize(
    ("word", "start"),
    [("time", "time"), ("Dép_recate", "deprecate"), ("", None), ("猜数字", "猜数"), ("字", "字")],
)
def test_a_prefix_is_folded_like_tokens(word, start):
    """In a script without spaces, the first two characters are the prefix."""
    assert prefix_token(word) == start


def test_tokens_are_exact_for_single_words_only():
    """Names of several parts, paths and scripts without spaces are checked in the text."""
    assert [is_exact(word) for word in ("word", "user_name", "a/b.py", "数字", "5.6")] == [
        True,
        False,
        False,
        False,
        False,
    ]


def test_any_form_of_a_word_is_highlighted():
    """``merged`` highlights ``merging``, also inside a name."""
    assert highlight_pattern("merged").search("when merging it")[0] == "merging"
    assert highlight_pattern("user").search("parseUserName")
    assert highlight_pattern("数字").search("猜数字游戏")[0] == "数字"


def test_short_words_and_other_alphabets_keep_their_endings():
    assert [stem(word) for word in ("uses", "été", "v2ing", "process")] == ["uses", "été", "v2ing", "process"]
    assert fold("Ünïcode") == "unicode"
    assert fold("ガ") == "ガ"
    assert "the" in COMMON_WORDS


def test_a_very_long_name_is_searched_by_its_parts():
    """Tokens have a limited length."""
    long = "_".join(["part"] * 20)
    assert required_tokens(long) == ("part",)


_PART = st.from_regex(r"[a-z]{2,8}", fullmatch=True)


@given(st.lists(_PART, min_size=2, max_size=5), _PART, st.sampled_from(["_", ".", "-"]))
def test_a_name_is_found_within_a_longer_one_by_adjacent_parts(parts, other, sign):
    """The name may be spelled in any way, and separate parts do not have its tokens."""
    name, camel = sign.join(parts), parts[0] + "".join(map(str.capitalize, parts[1:]))
    longer = f"{other}{sign}{name}{sign}{other}"
    for spelled in (name, camel):
        assert {*linked_tokens(spelled)} <= tokens(f"x {longer}(") or len({*parts, other}) < len(parts) + 1
        assert {*linked_tokens(spelled)} <= tokens(other + "".join(map(str.capitalize, [*parts, other])))


def test_separate_parts_do_not_match_a_name():
    """Texts that only contain two common words need not be read."""
    assert not {*linked_tokens("store_report")} & tokens("the store has a report, and a report_of a store")
    assert linked_tokens("parse_user_name") == ("parseuser", "usernam")


def test_parts_with_digits_are_not_linked():
    """Otherwise each id would add tokens; such parts are searched separately."""
    assert linked_tokens("sha256_sum") == ("sha256", "sum")
    assert tokens("0b54f7aa-6d0c-4c7b") == {"0b54f7aa6d0c4c7b", "0b54f7aa", "6d0c", "4c7b"}


@given(
    st.text(alphabet="aAbB_ .\u017f\u212aİßé数", max_size=12),
    st.text(alphabet="aAbBk_ .\u017f\u212aİßé数", max_size=30),
)
def test_the_prefilter_accepts_all_that_the_pattern_finds(words, text):
    """The prefilter only avoids the slower check."""
    if words.strip() and exact_pattern(words, text).search(text):
        assert prefilter_pattern(words).search(text.casefold())


@given(
    st.text(alphabet="tarifTARIF _-.é…日é1", max_size=40),
    st.sampled_from(["tariff", "tar", "rif", "Tariffs", "fat", "t1", "1"]),
)
def test_a_plain_word_is_highlighted_like_its_pattern(text, word):
    """The result is the same without compiling a pattern."""
    assert [*find_spans(word, text)] == [found.span() for found in highlight_pattern(word).finditer(text)]
