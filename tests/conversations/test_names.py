"""Ids and short numbers."""

import itertools
import re

import pytest

from leftoff.conversations import names
from leftoff.system import ids
from tests.conversations.making import AT


@pytest.mark.parametrize(
    ("agent", "slug"),
    [
        ("Simple Sally", "simple_sally"),
        ("../../etc", "etc"),
        ("日本", "agent"),
        ("a" * 99, "a" * 60),
        ("X-1.2", "x_1_2"),
    ],
)
def test_an_id_is_the_agents_name_and_the_time(agent, slug):
    """Whatever the name, the id can become a file; when it is taken, it is counted on."""
    first, second, third = itertools.islice(names.candidates(agent, AT), 3)
    assert re.fullmatch(rf"{slug}_\d{{8}}_\d{{6}}", first)
    assert (second, third) == (f"{first}_2", f"{first}_3")
    assert all(names.looks_like_id(each) and ids.checked(each) for each in (first, second))


@pytest.mark.parametrize(
    ("tokens", "short"),
    [(0, "0"), (999, "999"), (1000, "1.0K"), (2345, "2.3K"), (999_999, "999.9K"), (1_450_000, "1.4M")],
)
def test_tokens_are_shortened_downwards(tokens, short):
    """No number looks larger than it is."""
    assert names.short(tokens) == short


def test_one_query_is_no_queries():
    """As people say it."""
    assert (names.cost(1, 5), names.cost(5, 2345)) == ("1 query, 5 tokens", "5 queries, 2.3K tokens")
