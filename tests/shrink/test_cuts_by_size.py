"""trim: what is cut, what is protected, and that twice is once."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.core.trim_plan import Cut, LivePieces, Piece, TrimPlan
from leftoff.shrink.cuts import TrimParameters, cut_by_size
from leftoff.shrink.placeholder import parse_placeholder
from tests.shrink.builders import SESSION, live, piece

LONG = "x" * 5000
ALL = TrimParameters(protect_turns=0, min_token_savings=0)


class Forbids:
    """An invariant that allows no cut of one line."""

    name = "none of line 1"

    def forbids(self, cut: Cut) -> str | None:
        return "it must stay" if cut.place.line_idx == 0 else None

    def watch(self) -> None: ...


def lines_of(plan: TrimPlan) -> list[int]:
    return [cut.place.line_idx for cut in plan.cuts]


def test_content_above_the_threshold_is_reduced_to_its_ends() -> None:
    text = "begin " + "xyz " * 500 + "ends"
    plan = cut_by_size(live(piece(3, text), piece(4, "x" * 1000)), ALL, SESSION)
    assert lines_of(plan) == [3]
    cut = plan.cuts[0]
    found = parse_placeholder(cut.replacement)
    assert found is not None
    assert (found.original_chars, found.line, found.key) == (2010, 4, cut.key)
    assert "It began:\nbegin xyz" in cut.replacement
    assert "xyz ends\nline 4 of" in cut.replacement
    assert cut.rationale == "2,010 characters, more than 1,000"


def test_inputs_and_results_of_the_chosen_tools_are_cut() -> None:
    """Upper and lower case in tool names do not matter."""
    pieces = (
        piece(1, LONG, "input", tool="Edit"),
        piece(2, LONG, tool="Edit"),
        piece(3, LONG, tool="Read"),
        piece(4, LONG, tool=None),
    )
    assert lines_of(cut_by_size(live(*pieces), ALL, SESSION)) == [1, 2, 3, 4]
    chosen = TrimParameters(tools=(" read",), protect_turns=0)
    assert lines_of(cut_by_size(live(*pieces), chosen, SESSION)) == [3]


def test_the_last_turns_are_protected_up_to_a_fifth() -> None:
    pieces = [piece(line, LONG, turn=line) for line in range(1, 11)]
    plan = cut_by_size(live(*pieces, turns=10), TrimParameters(), SESSION)
    assert lines_of(plan) == [*range(1, 9)]
    assert "2 pieces of the last turns" in plan.kept
    assert lines_of(cut_by_size(live(*pieces, turns=10), ALL, SESSION)) == [*range(1, 11)]


def test_a_short_last_turn_is_protected_completely() -> None:
    pieces = [
        *(piece(line, LONG, turn=1) for line in range(1, 40)),
        piece(40, LONG, turn=8),
        piece(41, LONG, turn=9),
    ]
    assert lines_of(cut_by_size(live(*pieces), TrimParameters(), SESSION)) == [*range(1, 40)]


def test_a_small_session_may_be_protected_completely() -> None:
    assert cut_by_size(live(piece(1, "x", turn=9)), TrimParameters(threshold=0), SESSION).nothing_to_trim


def test_an_error_is_kept_until_the_same_call_passes() -> None:
    """Calls are compared by tool and the beginning of their input."""
    calls = [
        piece(1, '{"command": "pytest"}', "input", tool="Bash", call="a"),
        piece(2, LONG, tool="Bash", call="a", is_error=True),
        piece(3, '{"command": "make"}', "input", tool="Bash", call="b"),
        piece(4, LONG, tool="Bash", call="b", is_error=True),
        piece(5, '{"command": "pytest"}', "input", tool="Bash", call="c"),
        piece(6, "ok", tool="Bash", call="c", is_error=False),
        piece(7, LONG, tool="Web", call="d", is_error=True),
    ]
    plan = cut_by_size(live(*calls), ALL, SESSION)
    assert lines_of(plan) == [2]
    assert "line 5: Bash failed, and nothing has fixed it since" in plan.kept
    assert "line 8: Web failed, and nothing has fixed it since" in plan.kept


def test_thoughts_before_the_last_turn_are_removed() -> None:
    """A choice of tools leaves them alone."""
    pieces = (
        piece(1, "thought", "thinking", turn=1),
        piece(2, "thought", "thinking", turn=9),
        piece(3, LONG),
    )
    plan = cut_by_size(live(*pieces), ALL, SESSION)
    assert [(cut.part, cut.replacement == "") for cut in plan.cuts] == [
        ("thinking", True),
        ("result", False),
    ]
    assert lines_of(
        cut_by_size(live(*pieces), TrimParameters(tools=("Read",), protect_turns=0), SESSION)
    ) == [3]


@pytest.mark.parametrize(
    ("count", "lines"), [(None, []), (2, [1, 2]), (-1, [1, 2]), (-9, []), (0, []), (9, [1, 2, 4])]
)
def test_long_replies_are_cut_by_number(count: int | None, lines: list[int]) -> None:
    """``+N`` cuts the first N replies, ``-N`` all but the last N."""
    pieces = [
        piece(1, LONG, "text"),
        piece(2, LONG, "text"),
        piece(3, "short", "text"),
        piece(4, LONG, "text"),
    ]
    plan = cut_by_size(live(*pieces), TrimParameters(trim_assistant=count, protect_turns=0), SESSION)
    assert lines_of(plan) == lines
    assert all(
        cut.replacement.startswith("[Claude response trimmed - original was 5000") for cut in plan.cuts
    )


def test_a_plan_that_saves_too_little_has_no_cuts() -> None:
    plan = cut_by_size(live(piece(1, "xyz " * 255)), TrimParameters(protect_turns=0), SESSION)
    assert plan.nothing_to_trim
    assert plan.saved_tokens == 0
    assert any(note.startswith("1 cuts would free ") for note in plan.kept)


def test_what_an_invariant_forbids_is_kept_with_the_reason() -> None:
    plan = cut_by_size(live(piece(0, LONG), piece(1, LONG)), ALL, SESSION, (Forbids(),))  # type: ignore[arg-type]
    assert lines_of(plan) == [1]
    assert "line 1: it must stay" in plan.kept


def test_a_cut_that_frees_nothing_is_left_out() -> None:
    """A placeholder may be longer than the original."""
    plan = cut_by_size(
        live(piece(1, "x" * 150)),
        TrimParameters(threshold=100, protect_turns=0, min_token_savings=0),
        SESSION,
    )
    assert plan.nothing_to_trim


def test_head_and_tail_of_zero_show_nothing() -> None:
    none = TrimParameters(head=0, tail=0, protect_turns=0)
    assert cut_by_size(live(piece(1, LONG)), none, SESSION).cuts[0].replacement.count("\n") == 0


def test_an_empty_session_has_nothing_to_trim() -> None:
    plan = cut_by_size(live(), TrimParameters(), SESSION)
    assert plan.nothing_to_trim
    assert plan.saved_tokens == 0


def apply_cuts(source: LivePieces, cuts: Sequence[Cut]) -> LivePieces:
    """The live pieces of the copy: what the plan says, and nothing else."""
    by_place = {(cut.place, cut.part): cut for cut in cuts}
    pieces: list[Piece] = []
    for each in source.pieces:
        cut = by_place.get((each.place, each.part))
        if cut is None:
            pieces.append(each)
        elif cut.replacement:
            new = cut.replacement
            pieces.append(each._replace(chars=len(new), head=new[:200], tail=new[-200:], is_error=None))
    return live(*pieces, turns=source.turns)


PIECES = st.builds(
    lambda line, size, part, tool, turn, failed: piece(
        line, "abc " * size, part, tool=tool, turn=turn, is_error=failed
    ),
    st.integers(0, 200),
    st.integers(1, 900),
    st.sampled_from(["result", "input", "text", "thinking"]),
    st.sampled_from(["Read", "Bash"]),
    st.integers(0, 4),
    st.sampled_from([None, True, False]),
)


@given(
    pieces=st.lists(PIECES, max_size=25, unique_by=lambda each: each.place.line_idx),
    threshold=st.integers(1, 1500),
    protect=st.integers(0, 3),
    assistant=st.one_of(st.none(), st.integers(-5, 5)),
)
def test_trimming_a_copy_again_changes_nothing(
    pieces: list[Piece], threshold: int, protect: int, assistant: int | None
) -> None:
    source = live(*sorted(pieces, key=lambda each: (each.turn, each.place.line_idx)), turns=4)
    parameters = TrimParameters(
        threshold=threshold, protect_turns=protect, trim_assistant=assistant, min_token_savings=0
    )
    once = cut_by_size(source, parameters, SESSION)
    copy = apply_cuts(source, once.cuts)
    assert cut_by_size(copy, parameters, SESSION).nothing_to_trim
    assert [each.call_id for each in copy.pieces if each.call_id] == [
        each.call_id for each in source.pieces if each.call_id
    ]
    assert all(cut.saved_chars > 0 for cut in once.cuts)
    assert copy.live_chars <= source.live_chars
