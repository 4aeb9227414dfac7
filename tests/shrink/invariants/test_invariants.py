"""What must hold everywhere: which cuts each forbids, and what it finds in a copy that somebody spoilt."""

import pytest

from leftoff.model.copying import Outline
from leftoff.model.records import Place
from leftoff.model.trim_plan import Cut
from leftoff.shrink.invariants import EVERYWHERE

BY_NAME = {invariant.name: invariant for invariant in EVERYWHERE}
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
    return {invariant.name for invariant in EVERYWHERE if invariant.forbids(wanted)}


def test_five_things_must_hold_everywhere():
    """Each has a name of its own."""
    assert [*BY_NAME] == [
        "calls answered",
        "answers first",
        "unique ids",
        "unbroken chain",
        "no empty message",
    ]


@pytest.mark.parametrize("name", BY_NAME)
def test_a_good_session_has_no_flaw(name):
    """Nobody complains where all is well, shown at once or piece by piece."""
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
def test_a_cut_is_allowed_where_nothing_forbids_it(wanted, names):
    """Shortening is allowed everywhere; taking out whole for thoughts alone."""
    assert forbidden(wanted) == names


def test_an_answer_without_its_request_is_found():
    """And so is one that stands before it; the same answer twice is none."""
    assert flaws("calls answered", Outline(calls=[(b"x", True)])) == (
        "the answer to x has no request before it",
    )
    early = flaws("calls answered", Outline(calls=[(b"x", True), (b"x", False), (b"x", True)]))
    assert early == ("the answer to x has no request before it",)
    assert flaws("calls answered", Outline(calls=[(b"x", False), (b"x", True), (b"x", True)])) == ()


def test_a_call_that_lost_one_of_its_halves_is_found():
    """Where a line was changed; a call that nobody answered was interrupted, and that is no flaw."""
    lost = flaws("calls answered", Outline(lost=[b"y"]), Outline(lost=[b"x", b"y"]))
    assert lost == ("y has lost its request or its answer", "x has lost its request or its answer")
    assert flaws("calls answered", Outline(calls=[(b"x", False)])) == ()


def test_words_before_an_answer_are_found():
    """The API refuses such a message."""
    assert flaws("answers first", Outline(misplaced=[b"x"])) == (
        "something stands before the answer to x in its message",
    )


def test_an_id_that_stands_twice_is_found():
    """In one look or in two, and once however often it stands."""
    said = ("the id a stands on two records",)
    assert flaws("unique ids", Outline(ids=[b"a", b"b", b"a"])) == said
    assert flaws("unique ids", Outline(ids=[b"a"]), Outline(ids=[b"a"]), Outline(ids=[b"a"])) == said


def test_a_missing_parent_is_found():
    """One that stands behind its child is there."""
    assert flaws("unbroken chain", Outline(ids=[b"b"], parent_ids=[b"a"])) == (
        "something hangs from a, which is not there",
    )
    assert flaws("unbroken chain", Outline(parent_ids=[b"a"]), Outline(ids=[b"a"])) == ()


def test_an_empty_message_is_found():
    """They are counted."""
    lines = (Outline(empty_messages=1), Outline(empty_messages=1))
    assert flaws("no empty message", *lines) == ("2 changed messages have nothing in them",)


def test_ids_that_are_no_text_are_told_all_the_same():
    """Whatever stands in a file, a sentence comes of it."""
    assert "\ufffd" in flaws("unique ids", Outline(ids=[b"\xff", b"\xff"]))[0]
