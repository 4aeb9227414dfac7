"""The estimate of tokens: cheap, safe, and well behaved under joining and cutting."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leftoff.core.budget import count_quarters, estimate_tokens, prefix_within

texts = st.text(st.characters(codec=None), max_size=200)


@given(texts)
def test_there_is_at_least_one_token_for_four_characters(text):
    """The usual rule is the least we say, rounded up."""
    assert estimate_tokens(text) >= len(text) / 4


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("word", 1), ("words", 2), ("ab cd ef", 2)])
def test_plain_words_take_a_quarter_of_a_token_each_letter(text, tokens):
    """Prose comes to four characters per token, rounded up."""
    assert estimate_tokens(text) == tokens


@given(texts, texts)
@example("a\ud83d", "\ude00")
def test_joining_adds_up_exactly_in_quarters(one, other):
    """A budget can therefore be counted piece by piece."""
    assert count_quarters(one + other) == count_quarters(one) + count_quarters(other)
    assert max(estimate_tokens(one), estimate_tokens(other)) <= estimate_tokens(one + other)
    assert estimate_tokens(one + other) <= estimate_tokens(one) + estimate_tokens(other)


def test_what_tokenisers_take_more_for_costs_more():
    """Digits, punctuation, JSON, other scripts and emoji cost more for each character than plain English words."""
    plain = "the quick brown fox jumps over the lazy dog and runs away again "

    def per_character(text):
        return count_quarters(text) / len(text)

    rising = [
        plain,
        "Привет мир как дела сегодня ",
        "1234567890",
        json.dumps({"a": [1, 2], "b": {"c": None}}),
    ]
    assert [per_character(text) for text in rising] == sorted(per_character(text) for text in rising)
    assert per_character(plain) < per_character("Привет мир")
    assert per_character("日本語のテキスト") > 4 * per_character(plain)
    assert per_character("🎉🚀") > per_character("日本語")


@given(texts, st.integers(-2, 60))
def test_a_prefix_is_the_longest_that_fits(text, tokens):
    """The prefix fits, and one more character would not fit."""
    prefix = prefix_within(text, tokens)
    assert text.startswith(prefix)
    assert estimate_tokens(prefix) <= max(0, tokens)
    assert prefix == text or estimate_tokens(text[: len(prefix) + 1]) > tokens
