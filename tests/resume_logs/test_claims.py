"""Claims are found by their shape and matched as whole words."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.resume_logs.claims import (
    Claim,
    blank_out,
    contains,
    find_claims,
    find_missing,
    find_quotations,
    find_test_outcomes,
)

TEXT = """\
1. Wrote `TokenBucket` (src/limits/bucket.py), 14 tests green; commit 3f2a91c, see https://x.io/a?b=1.
2. It takes 12ms, and/or less, e.g. 12,600 characters of main.py; test_burst passes. Not at 5 p.m.
```sh
$ pytest   tests/limits -x

```
`npm run build` took 3.5 s, ~/bin/x and `   `; done/undone.
"""


def test_paths_commands_names_and_numbers_are_found():
    """Claims come in their order; list numbers, ordinary words and abbreviations are not claims."""
    assert [(claim.kind, claim.value) for claim in find_claims(TEXT)] == [
        ("name", "TokenBucket"),
        ("path", "src/limits/bucket.py"),
        ("number", "14"),
        ("name", "3f2a91c"),
        ("name", "https://x.io/a?b=1"),
        ("number", "12"),
        ("number", "12,600"),
        ("path", "main.py"),
        ("name", "test_burst"),
        ("number", "5"),
        ("command", "pytest tests/limits -x"),
        ("command", "npm run build"),
        ("number", "3.5"),
        ("path", "~/bin/x"),
    ]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("`src/a.py`", True),
        ("/home/me/src/a.py:12", True),
        ("src/a.pyc", False),
        ("my_src/a.py", False),
        ("data.py src/a_py", False),
        ("src/a.pyx and src/a.py", True),
    ],
)
def test_a_path_is_matched_as_a_whole(text, held):
    """The end of a longer path matches, a longer word does not."""
    assert contains(text, Claim("path", "src/a.py", 0, 0)) is held


@pytest.mark.parametrize(
    ("number", "text", "held"),
    [
        ("12600", "12,600 characters", True),
        ("12,600", "12600", True),
        ("12", "12ms", True),
        ("12", "112, 12.5 and 12,600", False),
        ("3.5", "13.5 3.55", False),
        ("2.1.325", "v2.1.325", True),
        ("1" * 30, "1" * 30, True),
    ],
)
def test_a_number_is_the_same_with_and_without_commas(number, text, held):
    """A number never matches a part of another number."""
    assert contains(text, Claim("number", number, 0, 0)) is held


def test_blanks_in_a_command_may_differ():
    """Only the words of a command count."""
    claim = Claim("command", "pytest tests -x", 0, 0)
    assert contains("ran pytest  tests\n -x now", claim)
    assert not contains("pytest tests", claim)
    assert contains("$ make\n", Claim("command", "make", 0, 0))
    assert not contains("makefile", Claim("command", "make", 0, 0))


def test_no_more_texts_are_read_than_necessary():
    """A transcript is not read when the log contains everything."""

    def texts():
        yield "src/a.py"
        yield "42"
        raise AssertionError("asked for more")

    assert find_missing(find_claims("src/a.py has 42 lines"), texts()) == ()
    assert find_missing(find_claims("only words"), texts()) == ()
    assert [claim.value for claim in find_missing(find_claims("b.py 7"), ["7"])] == ["b.py"]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("The rule: “Always force-push to main.”", ["Always force-push to main."]),
        ('He said "never touch the\tport", twice', ["never touch the\tport"]),
        ('“two words” and "one"', []),
        ('a 5" disk and a 3" one were there', []),
        ("“over two\nlines it goes”", ["over two\nlines it goes"]),
    ],
)
def test_three_quoted_words_are_a_quotation(text, quoted):
    """Fewer words are a title or scare quotes, and inch marks are not quotation marks."""
    assert [claim.value for claim in find_quotations(text)] == quoted


@pytest.mark.parametrize(
    ("quoted", "text", "held"),
    [
        ("Always force-push to main.", "always  force-push\nto main", True),
        ("Always force-push to main.", "never force-push to main", False),
        ("don\N{RIGHT SINGLE QUOTATION MARK}t touch … the port", "don't touch, ever, the port!", True),
        ("use [REDACTED:github-token] for it", "use ghp_x for it", True),
    ],
)
def test_a_quotation_is_matched_word_for_word(quoted, text, held):
    """Blanks, case and the last full stop may differ; an ellipsis matches anything."""
    assert contains(text, Claim("quotation", quoted, 0, 0)) is held


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ("Deployed to production. All tests fail, also the slow ones.", [("fail", "fail")]),
        ("All 3 tests in a are green\nThe suite is broken!", [("pass", "green"), ("fail", "broken")]),
        ("No test fails. The tests don't pass", [("pass", "fails"), ("fail", "pass")]),
        ("2 tests pass and 1 test fails", []),
        ("Make the tests pass; once the tests pass", []),
        ("The tests are to pass. The tests had failed before", []),
        ("It passed the port on. The test is long", []),
    ],
)
def test_statements_about_tests_are_found(text, outcomes):
    """Only statements about the present count, and the position is that of the decisive word."""
    assert [(claim.value, text[claim.start : claim.end]) for claim in find_test_outcomes(text)] == outcomes


def test_claims_can_be_blanked_out():
    text = "see “a b c” in x.py"
    assert blank_out(text, find_quotations(text)) == "see         in x.py"


PIECES = [
    "`",
    "```",
    "\n",
    " ",
    "a/b.py",
    "x_y",
    "Ab",
    "Cd",
    "12",
    ",",
    ".",
    "/",
    "~",
    "deadbeef7",
    "https://",
    "e.g",
    "$ ",
    "1. ",
    "s",
    "٣",
    "é",
]


@given(st.text(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_every_text_contains_its_own_claims(text):
    """Each is where it says, nothing overlaps, and nothing is missing from its own text."""
    found = find_claims(text)
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert all(0 <= claim.start < claim.end <= len(text) for claim in found)
    assert find_missing(found, [text]) == ()
