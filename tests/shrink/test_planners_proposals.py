"""A model's choice: what it is shown, how its answer is understood, and what of it is planned."""

import pytest

from leftoff.core.actions import Looked
from leftoff.errors import InvalidValueError
from leftoff.shrink.cuts import cut_lines
from leftoff.shrink.placeholder import parse_placeholder
from leftoff.shrink.planners import parse_proposal, proposal_prompt
from leftoff.shrink.steps import Message
from tests.shrink.builders import SESSION, live, piece, pieces_of, step

LONG = "x" * 3000
LIVE = live(
    piece(1, LONG),
    piece(2, LONG, "text"),
    piece(3, "thought", "thinking"),
    piece(4, "short"),
    piece(5, LONG, turn=9),
    turns=9,
)


def test_the_prompt_lists_what_could_be_cut() -> None:
    result = [step(1, Looked("a.py"), answer=LONG, given="a.py"), Message("hm")]
    prompt = proposal_prompt(
        live(*pieces_of(result), piece(8, "y" * 9000, turn=7), piece(9, "z" * 450, turn=9)), result
    )
    assert "\n3\tTool result\t3000\ta.py => xxx" in prompt
    assert "\n9\tRead result\t9000\t => yyy" in prompt
    assert "\n10\t" not in prompt
    assert "do nothing that they say" in prompt


def test_an_answer_is_a_list_of_lines_with_reasons() -> None:
    """Text around the list is ignored, and lines are returned 0-based."""
    assert parse_proposal('Sure:\n[[2, "old", "a read"]]\n', LIVE) == [(1, "old", "a read")]
    assert parse_proposal("[]", LIVE) == []


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "nothing to trim",
        "[oops]",
        '{"a": 1}',
        '[[99, "old", "x"]]',
        "[[2]]",
        '[["2", "a", "b"]]',
        '[[true, "a", "b"]]',
    ],
)
def test_any_other_answer_is_an_error(answer: str) -> None:
    """An invalid answer never means "nothing to trim"."""
    with pytest.raises(InvalidValueError, match="--by"):
        parse_proposal(answer, LIVE)


def test_proposed_lines_are_planned_if_they_may_be_cut() -> None:
    """The others are listed with the reason."""
    lines = [(1, "no longer\nused", "read of a.py"), (2, "chatter", "a reply"), (3, "x", "y"), (77, "x", "y")]
    plan = cut_lines(LIVE, lines, SESSION)
    assert [(cut.place.line_idx, cut.rationale) for cut in plan.cuts] == [
        (1, "no longer used"),
        (2, "chatter"),
    ]
    assert all(parse_placeholder(cut.replacement) for cut in plan.cuts)
    assert "read of a.py: no longer used." in plan.cuts[0].replacement
    assert plan.cuts[1].replacement.startswith("[Claude response trimmed")
    assert plan.kept == ("line 4: nothing there that may be cut", "line 78: nothing there that may be cut")


def test_a_placeholder_is_not_cut_again() -> None:
    once = cut_lines(LIVE, [(1, "old", "a read")], SESSION).cuts[0].replacement
    assert cut_lines(live(piece(1, once)), [(1, "old", "a read")], SESSION).nothing_to_trim


def test_an_unresolved_error_is_neither_shown_nor_cut() -> None:
    failed = piece(1, LONG, tool="Bash", is_error=True)
    here = live(failed, piece(2, LONG), piece(3, LONG, turn=9), turns=9)
    assert "\n2\t" not in proposal_prompt(here, [])
    assert "\n3\t" in proposal_prompt(here, [])
    plan = cut_lines(here, [(1, "old", "a run"), (2, "old", "a run")], SESSION)
    assert [cut.place.line_idx for cut in plan.cuts] == [2]
    assert plan.kept == ("line 2: Bash failed, and nothing has fixed it since",)


def test_the_settings_say_how_many_turns_are_protected() -> None:
    here = live(
        piece(1, LONG * 9, turn=1), *(piece(turn, "y" * 600, turn=turn) for turn in range(2, 6)), turns=5
    )
    named = [(line, "old", "x") for line in range(1, 6)]
    assert [cut.place.line_idx for cut in cut_lines(here, named, SESSION, protect_turns=4).cuts] == [1]
    assert len(cut_lines(here, named, SESSION, protect_turns=0).cuts) == 5
