"""trim: what is cut, what is protected, and that twice is once."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leftoff.model.copying import LivePieces, Piece
from leftoff.model.trim_plan import Cut, TrimPlan
from leftoff.shrink.placeholders import parsed
from leftoff.shrink.trim import TrimParameters, plan
from tests.shrink.making import SESSION, live, piece

LONG = "x" * 5000
ALL = TrimParameters(protect_turns=0, min_token_savings=0)


class Forbids:
    """An invariant that allows no cut of one line."""

    name = "none of line 1"

    def forbids(self, cut: Cut) -> str | None:
        return "it must stay" if cut.place.line_idx == 0 else None

    def watch(self) -> None: ...


def cut_lines(made: TrimPlan) -> list[int]:
    return [cut.place.line_idx for cut in made.cuts]


def test_what_is_above_the_threshold_gives_way_to_its_ends() -> None:
    """Head and tail stay, and the placeholder tells where the rest is."""
    text = "begin" + "x" * 2000 + "end"
    made = plan(live(piece(3, text), piece(4, "x" * 1000)), ALL, SESSION)
    assert cut_lines(made) == [3]
    cut = made.cuts[0]
    found = parsed(cut.replacement)
    assert found is not None
    assert (found.original_chars, found.line, found.key) == (2008, 4, cut.key)
    assert "It began:\nbegin" in cut.replacement
    assert "end\nline 4 of" in cut.replacement
    assert cut.rationale == "2,008 characters, more than 1,000"


def test_inputs_are_cut_as_results_are_and_only_of_the_chosen_tools() -> None:
    """The choice of tools holds for inputs too, whatever the case (L34)."""
    pieces = (
        piece(1, LONG, "input", tool="Edit"),
        piece(2, LONG, tool="Edit"),
        piece(3, LONG, tool="Read"),
        piece(4, LONG, tool=None),
    )
    assert cut_lines(plan(live(*pieces), ALL, SESSION)) == [1, 2, 3, 4]
    chosen = TrimParameters(tools=(" read",), protect_turns=0)
    assert cut_lines(plan(live(*pieces), chosen, SESSION)) == [3]


def test_the_last_turns_are_protected() -> None:
    """But never more than a fifth of what is live, where one prompt keeps an agent busy."""
    pieces = [piece(line, LONG, turn=line) for line in range(1, 11)]
    made = plan(live(*pieces, turns=10), TrimParameters(), SESSION)
    assert cut_lines(made) == [*range(1, 9)]
    assert "2 pieces of the last turns" in made.kept
    assert cut_lines(plan(live(*pieces, turns=10), ALL, SESSION)) == [*range(1, 11)]


def test_a_short_last_turn_is_protected_whole() -> None:
    """The turn before it is not."""
    pieces = [
        *(piece(line, LONG, turn=1) for line in range(1, 40)),
        piece(40, LONG, turn=8),
        piece(41, LONG, turn=9),
    ]
    assert cut_lines(plan(live(*pieces), TrimParameters(), SESSION)) == [*range(1, 40)]


def test_a_small_session_of_protected_turns_is_left_as_it_is() -> None:
    """All of it may be the protected end."""
    assert plan(live(piece(1, "x", turn=9)), TrimParameters(threshold=0), SESSION).nothing_to_trim


def test_errors_stay_until_the_same_call_passes() -> None:
    """By tool and the beginning of the input; another call that passes mends nothing (L33)."""
    calls = [
        piece(1, '{"command": "pytest"}', "input", tool="Bash", call="a"),
        piece(2, LONG, tool="Bash", call="a", is_error=True),
        piece(3, '{"command": "make"}', "input", tool="Bash", call="b"),
        piece(4, LONG, tool="Bash", call="b", is_error=True),
        piece(5, '{"command": "pytest"}', "input", tool="Bash", call="c"),
        piece(6, "ok", tool="Bash", call="c", is_error=False),
        piece(7, LONG, tool="Web", call="d", is_error=True),
    ]
    made = plan(live(*calls), ALL, SESSION)
    assert cut_lines(made) == [2]
    assert "line 5: Bash failed, and nothing has mended it since" in made.kept
    assert "line 8: Web failed, and nothing has mended it since" in made.kept


def test_thoughts_go_except_those_of_the_last_turn() -> None:
    """They are taken out whole; a choice of tools leaves them alone."""
    pieces = (
        piece(1, "thought", "thinking", turn=1),
        piece(2, "thought", "thinking", turn=9),
        piece(3, LONG),
    )
    made = plan(live(*pieces), ALL, SESSION)
    assert [(cut.part, cut.replacement == "") for cut in made.cuts] == [("thinking", True), ("result", False)]
    assert cut_lines(plan(live(*pieces), TrimParameters(tools=("Read",), protect_turns=0), SESSION)) == [3]


@pytest.mark.parametrize(
    ("count", "lines"), [(None, []), (2, [1, 2]), (-1, [1, 2]), (-9, []), (0, []), (9, [1, 2, 4])]
)
def test_long_replies_are_cut_by_their_number(count: int | None, lines: list[int]) -> None:
    """+N the first N long ones, -N all but the last N, none by default."""
    pieces = [
        piece(1, LONG, "text"),
        piece(2, LONG, "text"),
        piece(3, "short", "text"),
        piece(4, LONG, "text"),
    ]
    made = plan(live(*pieces), TrimParameters(trim_assistant=count, protect_turns=0), SESSION)
    assert cut_lines(made) == lines
    assert all(
        cut.replacement.startswith("[Claude response trimmed - original was 5000") for cut in made.cuts
    )


def test_a_saving_that_is_too_small_is_no_plan() -> None:
    """300 tokens at the least, and the plan says so."""
    made = plan(live(piece(1, "x" * 1200)), TrimParameters(protect_turns=0), SESSION)
    assert made.nothing_to_trim
    assert made.saved_tokens == 0
    assert "1 cuts would free 259 tokens, fewer than 300" in made.kept


def test_what_an_invariant_forbids_is_kept_and_said() -> None:
    """Where cutting is allowed is where no invariant forbids it."""
    made = plan(live(piece(0, LONG), piece(1, LONG)), ALL, SESSION, (Forbids(),))  # type: ignore[arg-type]
    assert cut_lines(made) == [1]
    assert "line 1: it must stay" in made.kept


def test_a_cut_that_frees_nothing_is_left_out() -> None:
    """A placeholder may be longer than what it stands for."""
    made = plan(
        live(piece(1, "x" * 150)),
        TrimParameters(threshold=100, protect_turns=0, min_token_savings=0),
        SESSION,
    )
    assert made.nothing_to_trim


def test_no_ends_are_shown_where_none_are_wanted() -> None:
    """head and tail of zero."""
    none = TrimParameters(head=0, tail=0, protect_turns=0)
    assert plan(live(piece(1, LONG)), none, SESSION).cuts[0].replacement.count("\n") == 0


def test_an_empty_session_has_nothing_to_trim() -> None:
    """Nothing is divided by zero."""
    made = plan(live(), TrimParameters(), SESSION)
    assert made.nothing_to_trim
    assert made.context_saved_percent == 0


def carried_out(source: LivePieces, cuts: Sequence[Cut]) -> LivePieces:
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
def test_twice_is_once(pieces: list[Piece], threshold: int, protect: int, assistant: int | None) -> None:
    """A plan on the planned result is empty; every call keeps an input and a result, and nothing grows."""
    source = live(*sorted(pieces, key=lambda each: (each.turn, each.place.line_idx)), turns=4)
    parameters = TrimParameters(
        threshold=threshold, protect_turns=protect, trim_assistant=assistant, min_token_savings=0
    )
    once = plan(source, parameters, SESSION)
    copy = carried_out(source, once.cuts)
    assert plan(copy, parameters, SESSION).nothing_to_trim
    assert [each.call_id for each in copy.pieces if each.call_id] == [
        each.call_id for each in source.pieces if each.call_id
    ]
    assert all(cut.saved_chars > 0 for cut in once.cuts)
    assert copy.live_chars <= source.live_chars
