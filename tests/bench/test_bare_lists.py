"""What is a bare list, and what says something about its names."""

import pytest

from bench.bare_lists import bare_list_chars, bare_lists


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- src/a.py\n- src/b.py\n- src/c.py", "src/a.py\n- src/b.py\n- src/c.py"),
        ("Names: `login`, `store`, `allow`", "`login`, `store`, `allow`"),
        ("names there: `login, store, allow`", "`login, store, allow`"),
        (
            "Changed `a.go` (2 edits); names there: loginUser, getStore and max_age",
            "loginUser, getStore and max_age",
        ),
        ("- `make a`\n- `make b`\n\n- `make c`", "`make a`\n- `make b`\n\n- `make c`"),
        ("| `a.py` |\n| `b.py` |\n| `c.py` |", "| `a.py` |\n| `b.py` |\n| `c.py` |"),
        ("**Files Modified:**\n- a/b.py\n- a/c.py\n- a/d.py\n", "a/b.py\n- a/c.py\n- a/d.py"),
    ],
)
def test_three_names_in_a_row_without_a_word_about_them_are_a_bare_list(text, found):
    """In lines, between commas, or in one pair of back-ticks; a heading above says nothing about each."""
    (bare,) = bare_lists(text)
    assert bare.strip() == found
    assert bare_list_chars(text) == len(bare)


@pytest.mark.parametrize(
    "text",
    [
        "Names: `login`, `store`",
        "- src/a.py: created, 2 edits\n- src/b.py: deleted\n- src/c.py: read 1 time",
        "Changed `src/a.py`, `src/b.py` and `src/c.py`",
        "`src/a.py`, `src/b.py` and `src/c.py` were renamed",
        "- `make lint` → passed\n- `make test` → failed\n- `make docs` → passed",
        "Apples, pears and plums",
        "- `a.py` holds the model\n- `b.py`\n- `c.py`",
        "```\nsrc/a.py\nsrc/b.py\nsrc/c.py\n```",
        '"input_tokens": 18, "output_tokens": 507, "api_calls": 4',
        "- src/a.py\n- src/b.py\n\nThen the work ended.\n\n- src/c.py",
        "",
    ],
)
def test_two_names_prose_outcomes_code_and_data_are_none(text):
    assert [*bare_lists(text)] == []


def test_two_lists_are_two():
    text = "See a/b.py, a/c.py, a/d.py.\nPlain words between them.\nSee b/b.py, b/c.py, b/d.py."
    assert len([*bare_lists(text.replace("See ", "Also: "))]) == 2
