"""The invariants of copies: which cuts each forbids, and what it finds in a damaged copy."""

import pytest

from leftoff.core.records import Place
from leftoff.core.trim_plan import Cut, Outline
from leftoff.shrink.invariants import COMMON_INVARIANTS

BY_NAME = {invariant.name: invariant for invariant in COMMON_INVARIANTS}
GOOD = (
    Outline(ids=[b"a", b"b"], parent_ids=[b"a"], calls=[(b"call-1", False)]),
    Outline(ids=[b"c"], parent_ids=[b"b"], calls=[(b"call-1", True), (b"call-2", False)]),
    Outline(ids=[b"d"], parent_ids=[b"c"], calls=[(b"call-2", True)]),
    Outline(),
)


def cut(part="result", call_id="call-1", replacement="[less]"):
    place = Place("t.jsonl", 0, 0, 9)
    return Cut(
        place=place,
        part=part,
        call_id=call_id,
        tool=None,
        original_chars=99,
        replacement=replacement,
        rationale="",
    )


def flaws(name, *lines):
    watcher = BY_NAME[name].watch()
    for each in lines:
        watcher.see(each)
    return watcher.broken()


def forbidden(wanted):
    return {invariant.name for invariant in COMMON_INVARIANTS if invariant.forbids(wanted)}


def test_there_are_five_common_invariants():
    assert [*BY_NAME] == [
        "calls answered",
        "answers first",
        "unique ids",
        "unbroken chain",
        "no empty message",
    ]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_valid_session_breaks_no_invariant(name):
    assert flaws(name, *GOOD) == ()


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (cut(), set()),
        (cut(part="text", call_id=None), set()),
        (cut(part="thinking", call_id=None, replacement=""), set()),
        (cut(call_id=None), {"calls answered"}),
        (cut(part="input", call_id=""), {"calls answered"}),
        (cut(replacement=""), {"calls answered", "unbroken chain", "no empty message"}),
        (cut(part="text", call_id=None, replacement=""), {"unbroken chain", "no empty message"}),
        (cut(part="text", call_id=None, replacement=" \n"), {"no empty message"}),
    ],
)
def test_a_cut_is_allowed_unless_an_invariant_forbids_it(wanted, names):
    assert forbidden(wanted) == names


def test_an_answer_without_its_request_is_reported():
    assert flaws("calls answered", Outline(calls=[(b"x", True)])) == (
        "the answer to x has no request before it",
    )
    early = flaws("calls answered", Outline(calls=[(b"x", True), (b"x", False), (b"x", True)]))
    assert early == ("the answer to x has no request before it",)
    assert flaws("calls answered", Outline(calls=[(b"x", False), (b"x", True), (b"x", True)])) == ()


def test_a_call_that_lost_one_half_is_reported():
    """A call without an answer was interrupted, which is allowed."""
    lost = flaws("calls answered", Outline(lost=[b"y"]), Outline(lost=[b"x", b"y"]))
    assert lost == ("y has lost its request or its answer", "x has lost its request or its answer")
    assert flaws("calls answered", Outline(calls=[(b"x", False)])) == ()


def test_text_before_an_answer_is_reported():
    """The API refuses such a message."""
    assert flaws("answers first", Outline(misplaced=[b"x"])) == (
        "something comes before the answer to x in its message",
    )


def test_a_duplicate_id_is_reported_once():
    reports = ("the id a is on two records",)
    assert flaws("unique ids", Outline(ids=[b"a", b"b", b"a"])) == reports
    assert flaws("unique ids", Outline(ids=[b"a"]), Outline(ids=[b"a"]), Outline(ids=[b"a"])) == reports


def test_a_missing_parent_is_reported():
    """A parent after its child is not missing."""
    assert flaws("unbroken chain", Outline(ids=[b"b"], parent_ids=[b"a"])) == (
        "something hangs from a, which is not there",
    )
    assert flaws("unbroken chain", Outline(parent_ids=[b"a"]), Outline(ids=[b"a"])) == ()


def test_an_empty_message_is_reported():
    lines = (Outline(empty_messages=1), Outline(empty_messages=1))
    assert flaws("no empty message", *lines) == ("2 changed messages have nothing in them",)


def test_ids_that_are_not_utf8_are_reported():
    assert "\ufffd" in flaws("unique ids", Outline(ids=[b"\xff", b"\xff"]))[0]
