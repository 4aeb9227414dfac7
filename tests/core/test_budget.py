"""How tokens are shared out, and how a section is cut to its share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.core.budget import (
    TRUNCATED,
    Section,
    count_quarters,
    estimate_tokens,
    fit_section,
    share_tokens,
    truncate,
)
from tests.support import strategies


def section(name="s", *, items=(), budget=100, keep="first"):
    return Section(name=name, heading=name, items=tuple(items), budget_tokens=budget, keep=keep)


def shares(sections, total, first=("next",), never="context"):
    return share_tokens(sections, total, borrow_first=first, never_borrow=never)


def words(tokens):
    """One item that takes exactly so many tokens with its line end."""
    return "x" * (tokens * 4 - 1)


def test_a_section_gets_no_more_than_it_needs():
    assert shares([section("a", items=[words(10)]), section("b")], 1000) == {"a": 10, "b": 0}


def test_full_sections_share_in_proportion_to_their_budgets():
    """When all are full, each gets its budget scaled to the total, and no more."""
    full = [section(name, items=[words(9000)], budget=budget) for name, budget in (("a", 300), ("b", 100))]
    assert shares(full, 200) == {"a": 150, "b": 50}


def test_what_is_left_is_lent_in_the_order_given_then_to_the_others():
    sections = [section(name, items=[words(500)]) for name in "abcd"] + [section("empty", budget=700)]
    assert shares(sections, 1300, first=("c", "b")) == {"a": 200, "b": 500, "c": 500, "d": 100, "empty": 0}


def test_one_section_never_borrows_even_if_nobody_else_wants_what_is_left():
    """What it holds beyond its budget is better read in the files themselves."""
    sections = [section("context", items=[words(500)]), section("a", items=[words(90)])]
    assert shares(sections, 1000) == {"context": 100, "a": 90}


def test_a_budget_below_zero_counts_as_none():
    """A careless section provider cannot take tokens away from the others, and still borrows what is left."""
    sections = [
        section("bad", items=[words(50)], budget=-500),
        section("good", items=[words(400)], budget=400),
    ]
    assert shares(sections, 420, first=("good",)) == {"bad": 20, "good": 400}


@given(
    st.lists(st.tuples(st.integers(0, 3000), st.integers(-10, 3000)), max_size=8),
    st.integers(0, 10_000),
)
def test_shares_never_exceed_the_total(shapes, total):
    """The sum stays within the total, and no share is negative."""
    sections = [
        section(f"{number}", items=[words(need)] if need else [], budget=budget)
        for number, (need, budget) in enumerate(shapes)
    ]
    given_tokens = shares(sections, total, first=("2", "0"), never="1")
    assert sum(given_tokens.values()) <= total
    assert min(given_tokens.values(), default=0) >= 0


ITEMS = [f"- item {number:03}" for number in range(100)]


def test_the_first_items_are_kept_and_the_rest_is_counted():
    """Whole items, in their order, then the line that says how many are missing."""
    *kept, note = fit_section(section(items=ITEMS), 100)
    assert kept == ITEMS[: len(kept)]
    assert note == f"- (… {100 - len(kept)} further left out to fit the budget)"


def test_the_newest_items_are_kept_where_the_newest_matter():
    """The note for the omitted items is in their place."""
    note, *kept = fit_section(section(items=ITEMS, keep="last"), 100)
    assert kept == ITEMS[-len(kept) :]
    assert note == f"- (… {100 - len(kept)} earlier left out to fit the budget)"


def test_where_not_even_one_item_fits_it_is_cut_and_the_others_are_counted():
    """A newest item that is too long does not hide that there were others."""
    note, cut = fit_section(section(items=[*ITEMS, "- " + "word " * 900], keep="last"), 60)
    assert cut.startswith("- word word")
    assert cut.endswith(TRUNCATED)
    assert "100 earlier" in note


def test_a_share_too_small_for_anything_gives_nothing():
    """The result has no stray character in place of an item."""
    assert fit_section(section(items=ITEMS), 1) == ()
    assert fit_section(section(items=["- " + "日" * 90]), 0) == ()


@given(strategies.many, st.integers(0, 2000), st.sampled_from(["first", "last"]))
def test_what_fits_stays_within_its_share_and_items_stay_whole(items, tokens, keep):
    """Every line that is kept is an item, the note, or the one item that was cut because none fits."""
    offered = section(items=items, keep=keep)
    kept = fit_section(offered, tokens)
    assert sum(count_quarters(text) + 1 for text in kept) <= tokens * 4
    whole = [text for text in kept if text in items]
    assert len(kept) - len(whole) <= (1 if whole else 2)


@given(strategies.long_texts, st.integers(-5, 300))
def test_truncating_never_exceeds_the_budget(text, tokens):
    """The marker and a closing fence are within the budget."""
    assert estimate_tokens(truncate(text, tokens)) <= max(0, tokens)


def test_text_within_the_budget_is_not_touched():
    assert truncate("Short. Text", 100) == "Short. Text"


def test_cut_text_ends_with_a_whole_sentence_and_the_marker():
    """A text is cut after a sentence if one ends near the limit."""
    cut = truncate("All is well here. " * 100, 100)
    assert cut.endswith(f"here.\n\n{TRUNCATED}")


def test_cut_text_without_a_sentence_near_is_cut_where_it_must_be():
    """Half of it is not given up for the sake of a full stop."""
    cut = truncate("One. " + "x" * 1000, 100)
    assert cut.startswith("One. xxx")
    assert len(cut) > 300


def test_a_budget_too_small_for_the_marker_leaves_it_out():
    """Ten tokens hold words, not a marker."""
    assert truncate("word " * 50, 10) == ("word " * 8).rstrip()


@pytest.mark.parametrize(
    ("opened", "closed"), [("```py", "```"), ("~~~~", "~~~~"), ("- ```py", "  ```"), ("  ```", "  ```")]
)
def test_a_fence_is_closed_where_it_was_opened(opened, closed):
    """The fence is closed with the same mark and margin, before the marker."""
    cut = truncate(f"{opened}\n" + "  x = 1\n" * 500, 100)
    assert cut.endswith(f"\n{closed}\n\n{TRUNCATED}")


def test_an_enormous_fence_is_given_up_rather_than_closed():
    """The fence is dropped if closing it would exceed the budget."""
    assert estimate_tokens(truncate("`" * 4000 + "\ncode\n" * 5000, 1000)) <= 1000
