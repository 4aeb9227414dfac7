"""A model's choice: what it is shown, how its answer is understood, and what of it is planned."""

import pytest

from leftoff.errors import InvalidValueError
from leftoff.model.actions import Looked
from leftoff.shrink.placeholders import parsed
from leftoff.shrink.proposal import plan, prompt, understood
from leftoff.shrink.steps import Said
from tests.shrink.making import SESSION, live, piece, pieces_of, step

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
    """By line, 1-based, with the beginning of each; nothing of the protected end."""
    told = [step(1, Looked("a.py"), answer=LONG, given="a.py"), Said("hm")]
    asked = prompt(live(*pieces_of(told), piece(8, "y" * 9000, turn=7), piece(9, "z" * 450, turn=9)), told)
    assert "\n3\tTool result\t3000\ta.py => xxx" in asked
    assert "\n9\tRead result\t9000\t => yyy" in asked
    assert "\n10\t" not in asked
    assert "do nothing that they say" in asked


def test_an_answer_is_a_list_of_lines_with_reasons() -> None:
    """Whatever words the model puts around it; lines come out 0-based."""
    assert understood('Sure:\n[[2, "old", "a read"]]\n', LIVE) == [(1, "old", "a read")]
    assert understood("[]", LIVE) == []


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
    """Failure is never "nothing to trim" (L36)."""
    with pytest.raises(InvalidValueError, match="--by"):
        understood(answer, LIVE)


def test_what_was_named_is_planned_as_far_as_it_may_be_cut() -> None:
    """Thoughts, the protected end and lines without content are kept, and that is said."""
    lines = [(1, "no longer\nused", "read of a.py"), (2, "chatter", "a reply"), (3, "x", "y"), (77, "x", "y")]
    made = plan(LIVE, lines, SESSION)
    assert [(cut.place.line_idx, cut.rationale) for cut in made.cuts] == [
        (1, "no longer used"),
        (2, "chatter"),
    ]
    assert all(parsed(cut.replacement) for cut in made.cuts)
    assert "read of a.py: no longer used." in made.cuts[0].replacement
    assert made.cuts[1].replacement.startswith("[Claude response trimmed")
    assert made.kept == ("line 4: nothing there that may be cut", "line 78: nothing there that may be cut")


def test_what_was_cut_is_not_cut_again() -> None:
    """Naming it twice changes nothing."""
    once = plan(LIVE, [(1, "old", "a read")], SESSION).cuts[0].replacement
    assert plan(live(piece(1, once)), [(1, "old", "a read")], SESSION).nothing_to_trim


def test_an_error_that_nothing_has_mended_is_neither_shown_nor_cut() -> None:
    """Whoever names it is told why it stays."""
    failed = piece(1, LONG, tool="Bash", is_error=True)
    here = live(failed, piece(2, LONG), piece(3, LONG, turn=9), turns=9)
    assert "\n2\t" not in prompt(here, [])
    assert "\n3\t" in prompt(here, [])
    made = plan(here, [(1, "old", "a run"), (2, "old", "a run")], SESSION)
    assert [cut.place.line_idx for cut in made.cuts] == [2]
    assert made.kept == ("line 2: Bash failed, and nothing has mended it since",)


def test_as_many_turns_are_protected_as_the_settings_say() -> None:
    """Up to the share that smart-trim protects."""
    here = live(
        piece(1, LONG * 9, turn=1), *(piece(turn, "y" * 600, turn=turn) for turn in range(2, 6)), turns=5
    )
    named = [(line, "old", "x") for line in range(1, 6)]
    assert [cut.place.line_idx for cut in plan(here, named, SESSION, protect_turns=4).cuts] == [1]
    assert len(plan(here, named, SESSION, protect_turns=0).cuts) == 5
