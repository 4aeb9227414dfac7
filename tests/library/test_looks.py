"""How many texts are looked at for a query, and what is said where that was not enough."""

import sqlite3
from contextlib import closing

import pytest

from leftoff.library import shelf as shelves
from leftoff.library.answers import Order
from leftoff.library.finding import found
from leftoff.library.query import parsed
from tests.library.shelves import NOW, ask, fill, names, piece

FEW_LOOKS = 300


@pytest.fixture
def crowded(tmp_path):
    """Many texts with both words, and few in which they are neighbours, in a session that is ranked first or last."""

    def filled(kind):
        others = {
            f"s{n}": [piece(f"alpha x{n} beta {line}", line, kind="reply") for line in range(1, 121)]
            for n in range(10)
        }
        fill(tmp_path, others | {"zz": [piece("alpha beta here", line, kind=kind) for line in range(1, 31)]})
        return tmp_path

    return filled


def answers(folder, words, **changes):
    """What is found by so many looks, in a ranking by a sample where more pieces hold the words than are compared."""
    order = Order(limit=10, hits=3, newest=False, now=int(NOW.timestamp()), looks=FEW_LOOKS)
    with closing(shelves.opened_to_read(str(folder))) as shelf:
        return found(shelf, parsed(words, NOW), order._replace(**changes))


@pytest.mark.parametrize("compared", [50_000, 500, 300])
def test_what_a_sample_has_found_is_kept_when_the_looks_are_spent(crowded, compared):
    """And it is said that there may be more."""
    given = answers(crowded(kind="prompt"), '"alpha beta"', compared=compared)
    assert names(given) == ["zz"]
    assert given.cut_short


@pytest.mark.parametrize("compared", [50_000, 500, 300])
def test_nothing_found_within_the_looks_is_not_said_as_all_there_is(crowded, compared):
    """The phrase stands in thirty pieces that nobody came to."""
    given = answers(crowded(kind="result"), '"alpha beta"', compared=compared)
    assert (names(given), given.cut_short) == ([], True)


@pytest.mark.parametrize("compared", [50_000, 500, 300])
def test_enough_looks_find_it_in_a_sample_and_outside_of_it(crowded, compared):
    """Texts that the sample led to are not looked at twice, so as many looks as there are texts will do."""
    given = answers(crowded(kind="result"), '"alpha beta"', compared=compared, looks=1230)
    assert (names(given), given.cut_short, given.sessions[0].places) == (["zz"], False, 30)


def test_words_that_need_no_look_are_never_cut_short(crowded):
    """Of each session only what is shown is read."""
    given = answers(crowded(kind="reply"), "alpha beta", compared=100)
    assert (len(given.sessions), given.cut_short) == (10, False)


def test_a_name_whose_parts_stand_in_too_many_texts_is_cut_short_too(crowded):
    """Nobody knows whether they stand side by side in another."""
    folder = crowded(kind="result")
    assert answers(folder, "alpha_beta", looks_apart=5).cut_short
    assert names(answers(folder, "alpha_beta", looks_apart=2000)) == ["zz"]


def test_what_begins_so_is_found_by_a_sample_too(crowded):
    """It is gathered once, in a table of this connection; nothing else can be written with it."""
    folder = crowded(kind="prompt")
    order = Order(limit=3, hits=3, newest=False, now=int(NOW.timestamp()), compared=300)
    with closing(shelves.opened_to_read(str(folder))) as shelf:
        twice = [found(shelf, parsed(words, NOW), order) for words in ("alph*", "her*")]
        assert [len(twice[0].sessions), names(twice[1])] == [3, ["zz"]]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            shelf.execute("DELETE FROM pieces")


@pytest.mark.parametrize("other", ['"foo bar"', "parseUserName", "begi*"])
def test_a_word_beside_what_needs_a_look_is_found_by_its_stem_all_the_same(tmp_path, other):
    """``merged OR "foo bar"`` finds what ``merged`` finds."""
    fill(tmp_path, {"a": [piece("merging it now")], "b": [piece("nothing of it")]})
    assert names(ask(tmp_path, f"merged OR {other}")) == names(ask(tmp_path, "merged")) == ["a"]


@pytest.mark.parametrize("refused", ["-gamma", '-"quick brown"'])
def test_what_is_refused_stays_away_where_no_place_holds_all_words(tmp_path, refused):
    """Also from a session that answers with another place, and one that has no other does not answer."""
    bad = "beta with gamma and a quick brown fox"
    fill(
        tmp_path,
        {
            "a": [piece("alpha alone"), piece("beta alone", 2), piece(bad, 3)],
            "b": [piece(bad)],
        },
    )
    given = ask(tmp_path, f"alpha beta {refused}")
    assert (names(given), given.complete) == (["a"], False)
    assert {hit.line for hit in given.sessions[0].hits} == {1, 2}


@pytest.mark.parametrize("query", ['"alpha beta"', "alph*", "alphaBeta"])
def test_a_word_may_begin_and_end_beside_a_script_without_spaces(tmp_path, query):
    """Where it stands within another word it does not."""
    fill(tmp_path, {"a": [piece("次のalpha betaです")], "b": [piece("次のxalpha betaxです")]})
    assert names(ask(tmp_path, query)) == ["a"]


@pytest.mark.parametrize(
    ("query", "places"), [("hello -there*", 1), ('-"hello there" hello', 1), ("hello", 2)]
)
def test_places_are_those_that_hold_where_all_texts_were_looked_at(tmp_path, query, places):
    """A text that is refused is no place."""
    fill(tmp_path, {"a": [piece("hello there"), piece("hello you", 2)]})
    (only,) = ask(tmp_path, query).sessions
    assert only.places == places
