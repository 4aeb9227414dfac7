"""What is found by the beginning or by a part of a word, a name, a path, and in scripts without spaces."""

import unicodedata

import pytest

from leftoff.errors import UsageError
from leftoff.search.query import all_words, parse_query
from leftoff.search.words import more_words
from tests.search.sample_library import NOW, ask, fill, names, piece


@pytest.mark.parametrize(
    "word",
    [
        "running",
        "stopped",
        "libraries",
        "queries",
        "entries",
        "merging",
        "deprecated",
        "configuration",
        "parse",
        "retry",
    ],
)
def test_every_prefix_of_a_word_finds_it(tmp_path, word):
    """The whole word is one of its prefixes, and its stem does not matter."""
    fill(tmp_path, {"a": [piece(f"say {word} now")]})
    starts = [word[:end] for end in range(1, len(word) + 1)]
    assert [start for start in starts if names(ask(tmp_path, f"{start}*")) != ["a"]] == []
    assert names(ask(tmp_path, f"{word}x*")) == []


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("merging", "it was merged"),
        ("parse_user_name", "call parseUserName()"),
        ("parseUserName", "call parse_user_name()"),
        ("user name", "call parseUserName()"),
        ("parse_user_na*", "foo_parse_user_naming_bar"),
        ("parseUser*", "fooParseUserNameBar"),
        ("sha256", "getSha256Sum"),
        ("parser", "HTMLParser"),
        ("naive", "userna\u00efve na\u00efve"),
        ("1.2.3", "released v1.2.3"),
        ("src/lef*", "src/leftoff/library/words.py"),
        ("leftoff/library/wo*", "src/leftoff/library/words.py"),
        ("--force", "git push --force"),
        ("数字", "猜数字游戏"),
        ("字*", "猜数字"),
        ("字", "猜数字"),
        ("ログイン画面", "新しいログイン画面です"),
        ("로그인", "로그인이 실패했습니다"),
        ("ภาษา", "เรียนภาษาไทย"),
        ("修正test数字", "修正 a test of 数字"),
    ],
)
def test_words_names_paths_and_unspaced_scripts_are_found(tmp_path, query, text):
    """By stems, by parts of names in any spelling, and by any part of a run without spaces."""
    fill(tmp_path, {"a": [piece(f"see {text} there")], "b": [piece("nothing of this here")]})
    answers = ask(tmp_path, query)
    assert (names(answers), answers.complete) == (["a"], True)


def test_a_question_without_spaces_finds_the_session_with_most_of_it(tmp_path):
    """Its words are not known, so pairs of letters count."""
    fill(tmp_path, {"a": [piece("商品検索でひらがなを区別しない")], "b": [piece("請求書の端数が合いません")]})
    answers = ask(tmp_path, "請求書の端数はどう直しましたか")
    assert (names(answers)[0], answers.complete) == ("b", False)


@pytest.mark.parametrize(
    "sign", ["\ufdfa", "⑴", "½", "字⑴", "ﷺ*", '"ﷺ koala"', "㍻", "İ", "ﬁ*", "\u0345", "++", "__"]
)
def test_any_character_can_be_searched(tmp_path, sign):
    """SQLite never takes a part of it for its own syntax."""
    fill(tmp_path, {"a": [piece(f"A koala {sign} here")]})
    assert names(ask(tmp_path, f"{sign} koala")) == ["a"]


def test_a_long_key_is_not_taken_for_a_name():
    """Its parts would be most of the index."""
    assert more_words("aB3cD4eF5gH6iJ7kL8mN9oP0qR1") == ""
    assert more_words("x" * 200 + "Y") == ""
    assert more_words("userName and userName") == "user Name"


@pytest.mark.parametrize("name", ["project", "file", "agent", "tool", "kind", "since", "errors"])
def test_a_filter_that_is_not_utf_8_is_refused(name):
    """SQLite cannot search for text that is not UTF-8."""
    with pytest.raises(UsageError) as refused:
        parse_query(f"{name}:a\udcff koala", NOW)
    assert refused.value.message.isprintable()


def test_words_that_are_not_utf_8_are_refused():
    """A terminal may give any bytes."""
    for words in ("koala a\udcff", '"koala a\udcff"', "a\udcff*", "koala -a\udcff"):
        with pytest.raises(UsageError) as refused:
            all_words(parse_query(f"koala {words}", NOW))
        assert refused.value.message.isprintable()


def test_a_word_is_found_however_its_letters_are_encoded():
    """Half-width letters, and letters apart from their marks, as in file names of macOS."""
    for word, other in (("ログイン", "ﾛｸﾞｲﾝ"), ("로그인", unicodedata.normalize("NFD", "로그인"))):
        assert word != other
        assert all_words(parse_query(other, NOW)) == all_words(parse_query(word, NOW))
