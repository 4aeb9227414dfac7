"""How many texts a query reads, and what it reports at the limit."""

import sqlite3
from contextlib import closing

import pytest

from leftoff.catalogue import database
from leftoff.search.match import find_sessions
from leftoff.search.query import parse_query
from leftoff.search.results import SearchOptions
from tests.search.sample_library import NOW, ask, fill, names, piece

FEW_LOOKS = 300


@pytest.fixture
def crowded(tmp_path):
    """Many texts with both words, and few with them adjacent, in a session that is ranked first or last."""

    def filled(kind):
        others = {
            f"s{n}": [piece(f"alpha x{n} beta {line}", line, kind="reply") for line in range(1, 121)]
            for n in range(10)
        }
        fill(tmp_path, others | {"zz": [piece("alpha beta here", line, kind=kind) for line in range(1, 31)]})
        return tmp_path

    return filled


def answers(folder, words, **changes):
    """Return the answers with a limit of texts, ranked by a sample if more pieces match than are compared."""
    order = SearchOptions(limit=10, hits=3, newest=False, now=int(NOW.timestamp()), max_texts=FEW_LOOKS)
    with closing(database.open_for_search(str(folder))) as connection:
        return find_sessions(connection, parse_query(words, NOW), order._replace(**changes))


@pytest.mark.parametrize("compared", [50_000, 500, 300])
def test_results_of_a_sample_are_kept_at_the_limit(crowded, compared):
    """The result says that there may be more."""
    result = answers(crowded(kind="prompt"), '"alpha beta"', compared=compared)
    assert names(result) == ["zz"]
    assert result.cut_short


@pytest.mark.parametrize("compared", [50_000, 500, 300])
def test_nothing_found_at_the_limit_is_reported_as_cut_short(crowded, compared):
    """The phrase is in thirty pieces that were not reached."""
    result = answers(crowded(kind="result"), '"alpha beta"', compared=compared)
    assert (names(result), result.cut_short) == ([], True)


@pytest.mark.parametrize("compared", [50_000, 500, 300])
def test_a_sufficient_limit_finds_it_in_and_outside_of_a_sample(crowded, compared):
    """No text is checked twice, so a limit of the number of texts is enough."""
    result = answers(crowded(kind="result"), '"alpha beta"', compared=compared, max_texts=1230)
    assert (names(result), result.cut_short, result.sessions[0].places) == (["zz"], False, 30)


def test_plain_words_are_never_cut_short(crowded):
    """Only the texts that are shown have to be read."""
    result = answers(crowded(kind="reply"), "alpha beta", compared=100)
    assert (len(result.sessions), result.cut_short) == (10, False)


def test_a_name_whose_parts_are_in_too_many_texts_is_cut_short(crowded):
    """The parts may be adjacent in a text that was not checked."""
    folder = crowded(kind="result")
    assert answers(folder, "alpha_beta", max_texts_apart=5).cut_short
    assert names(answers(folder, "alpha_beta", max_texts_apart=2000)) == ["zz"]


def test_a_prefix_is_found_by_a_sample(crowded):
    """The sample uses a temporary table, and nothing else can be written."""
    folder = crowded(kind="prompt")
    order = SearchOptions(limit=3, hits=3, newest=False, now=int(NOW.timestamp()), compared=300)
    with closing(database.open_for_search(str(folder))) as connection:
        twice = [find_sessions(connection, parse_query(words, NOW), order) for words in ("alph*", "her*")]
        assert [len(twice[0].sessions), names(twice[1])] == [3, ["zz"]]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM pieces")


@pytest.mark.parametrize("other", ['"foo bar"', "parseUserName", "begi*"])
def test_a_word_beside_a_phrase_is_found_by_its_stem(tmp_path, other):
    """``merged OR "foo bar"`` finds what ``merged`` finds."""
    fill(tmp_path, {"a": [piece("merging it now")], "b": [piece("nothing of it")]})
    assert names(ask(tmp_path, f"merged OR {other}")) == names(ask(tmp_path, "merged")) == ["a"]


@pytest.mark.parametrize("refused", ["-gamma", '-"quick brown"'])
def test_excluded_words_are_excluded_if_no_place_has_all_words(tmp_path, refused):
    """A session with another matching place is found by that one."""
    bad = "beta with gamma and a quick brown fox"
    fill(
        tmp_path,
        {
            "a": [piece("alpha alone"), piece("beta alone", 2), piece(bad, 3)],
            "b": [piece(bad)],
        },
    )
    result = ask(tmp_path, f"alpha beta {refused}")
    assert (names(result), result.complete) == (["a"], False)
    assert {hit.line for hit in result.sessions[0].hits} == {1, 2}


@pytest.mark.parametrize("query", ['"alpha beta"', "alph*", "alphaBeta"])
def test_a_word_may_begin_and_end_beside_a_script_without_spaces(tmp_path, query):
    """A word is not found inside another word."""
    fill(tmp_path, {"a": [piece("次のalpha betaです")], "b": [piece("次のxalpha betaxです")]})
    assert names(ask(tmp_path, query)) == ["a"]


@pytest.mark.parametrize(
    ("query", "places"), [("hello -there*", 1), ('-"hello there" hello', 1), ("hello", 2)]
)
def test_only_checked_places_are_counted(tmp_path, query, places):
    """If all texts were checked, excluded ones do not count."""
    fill(tmp_path, {"a": [piece("hello there"), piece("hello you", 2)]})
    (only,) = ask(tmp_path, query).sessions
    assert only.places == places
