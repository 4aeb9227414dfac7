"""The rules of smart-trim: what each finds, what it leaves, and what is never touched."""

import re
from collections.abc import Sequence

import pytest

from leftoff.model.actions import (
    Action,
    Answer,
    Changed,
    Delegated,
    Fetched,
    Looked,
    Other,
    Planned,
    Proposed,
    Ran,
    Searched,
    Todo,
    Wrote,
)
from leftoff.model.trim_plan import Cut, TrimPlan
from leftoff.shrink.placeholders import parsed
from leftoff.shrink.smart_trim import plan
from leftoff.shrink.steps import Said, Step, Told
from leftoff.shrink.trim import TrimParameters
from tests.shrink.making import SESSION, live, piece, pieces_of, step

FREE = TrimParameters(protect_turns=0, min_token_savings=0)
EDIT = step(201, Changed("a.py", "not in what was read", "new"), given="new")
FILE = "\n".join(f"{number}\tline number {number} of this file" for number in range(1, 101))


def quiet(first: int, count: int) -> list[Told]:
    """Calls that do nothing and answer next to nothing."""
    return [
        step(line, Ran(f"true {line}"), answer="ok", given=f"true {line}")
        for line in range(first, first + 2 * count, 2)
    ]


def planned(told: Sequence[Told], parameters: TrimParameters = FREE) -> TrimPlan:
    return plan(live(*pieces_of(told)), told, parameters, SESSION)


def only_cut(told: Sequence[Told]) -> Cut:
    cuts = planned(told).cuts
    assert len(cuts) == 1
    assert parsed(cuts[0].replacement) is not None
    return cuts[0]


def test_a_file_that_is_read_again_is_shown_once() -> None:
    """The older look goes whole; its note is one line that says so."""
    told = [step(1, Looked("a.py"), answer=FILE), step(3, Looked("a.py"), answer=FILE), *quiet(5, 6)]
    cut = only_cut(told)
    assert cut.place.line_idx == 2
    assert cut.rationale == "shown again later"
    assert "a.py lines 1-100, shown again later; read it again." in cut.replacement
    assert "\n" not in cut.replacement


def test_of_a_file_that_was_read_again_in_part_the_rest_stays() -> None:
    """With a margin, and a sign where lines are left out."""
    part = "\n".join(FILE.split("\n")[:60])
    told = [step(1, Looked("a.py"), answer=FILE), step(3, Looked("a.py", 1, 60), answer=part), *quiet(5, 6)]
    cut = only_cut(told)
    assert "What still matters:\n…\n51\tline number 51 of this file" in cut.replacement
    assert "\n50\t" not in cut.replacement
    assert "100\tline number 100 of this file" in cut.replacement


def test_lines_that_were_edited_away_go() -> None:
    """The note counts the edits."""
    old = "\n".join(f"line number {number} of this file" for number in range(11, 91))
    told = [
        step(1, Looked("a.py"), answer=FILE),
        step(3, Changed("a.py", old, "short"), given="short"),
        *quiet(5, 6),
    ]
    cut = only_cut(told)
    assert cut.rationale == "edited once since"
    assert "10\tline number 10 of this file\n…\n91\tline" in cut.replacement
    again = [*told[:2], step(20, Changed("a.py", "short", "shorter"), given="s"), *quiet(30, 6)]
    assert only_cut(again).rationale == "edited 2 times since"


def test_a_file_that_was_written_anew_goes_whole() -> None:
    """What was there is nowhere any more."""
    told = [step(1, Looked("a.py"), answer=FILE), step(3, Wrote("a.py", "new"), given="new"), *quiet(5, 6)]
    assert only_cut(told).rationale == "written anew since"


def test_of_an_old_look_stays_what_is_spoken_of() -> None:
    """The head of the file stays as well, and what is near a name."""
    told: list[Told] = [
        step(1, Looked("a.py"), answer=_with_name("wanted_name")),
        EDIT,
        *quiet(3, 21),
        Said("Look at wanted_name next."),
    ]
    cut = only_cut(told)
    assert cut.rationale == "of which nothing has spoken for 20 calls"
    assert "15\tfiller 15\n…\n30\tfiller 30" in cut.replacement
    assert "90\tfiller 90\nline 3 of" in cut.replacement


def test_a_name_that_was_spoken_of_long_ago_keeps_nothing() -> None:
    """The work has gone on since; after the call that is 20 calls old, it counts."""
    look = step(1, Looked("a.py"), answer=_with_name("wanted_name"))
    said = Said("Look at wanted_name next.")
    past: list[Told] = [look, EDIT, *quiet(3, 4), said, *quiet(11, 21)]
    recent: list[Told] = [look, EDIT, *quiet(3, 4), said, *quiet(11, 20)]
    assert "wanted_name" not in only_cut(past).replacement
    assert "wanted_name" in only_cut(recent).replacement


def test_an_old_look_stays_until_the_work_has_changed_the_file_and_left_it() -> None:
    """What was only read may come next, and what is being edited is edited on; an edit before the look tells nothing."""
    look = step(1, Looked("a.py"), answer=FILE)
    assert planned([look, *quiet(3, 30)]).nothing_to_trim
    assert planned([EDIT, look, *quiet(3, 30)]).nothing_to_trim
    assert planned([look, *quiet(3, 30), EDIT, *quiet(303, 3)]).nothing_to_trim
    assert only_cut([look, *quiet(3, 30), EDIT, *quiet(303, 4)]).place.line_idx == 2


def test_a_name_that_stands_all_over_a_look_keeps_nothing() -> None:
    """A rare one tells where the work is."""
    said = Said("Look at wanted_name next.")
    rare, often = (
        re.sub(rf"filler 6([1-{last}])", r"filler 6\1 of wanted_name", _with_name("wanted_name"))
        for last in (3, 4)
    )
    told: list[Told] = [EDIT, *quiet(3, 21), said]
    assert "wanted_name" in only_cut([step(1, Looked("a.py"), answer=rare), *told]).replacement
    assert "wanted_name" not in only_cut([step(1, Looked("a.py"), answer=often), *told]).replacement


def _with_name(name: str) -> str:
    lines = [f"{number}\tfiller {number}" for number in range(1, 120)]
    lines[59] = f"60\tdef {name}():"
    return "\n".join(lines)


def test_a_young_look_that_nothing_overtook_stays() -> None:
    """However little is spoken of it."""
    assert planned([step(1, Looked("a.py"), answer=FILE), *quiet(3, 10)]).nothing_to_trim


def test_a_look_without_numbers_is_noted_by_its_lines() -> None:
    """As a shell shows a file."""
    text = FILE.replace("\t", " ")
    told = [step(1, Looked("a.py"), answer=text), step(3, Looked("a.py"), answer=text), *quiet(5, 6)]
    assert "a.py, 100 lines, shown again later" in only_cut(told).replacement


@pytest.mark.parametrize(
    ("action", "rationale", "note"),
    [
        (Searched("TODO", "src"), "a search 6 calls ago", "TODO in src: found 100 lines; search again."),
        (Searched("TODO"), "a search 6 calls ago", "TODO: found 100 lines; search again."),
        (
            Fetched("https://example.org"),
            "a search 6 calls ago",
            "https://example.org: found 100 lines; search again.",
        ),
        (Ran("make"), "printed 6 calls ago", "make: 100 lines, printed 6 calls ago."),
    ],
)
def test_old_searches_and_output_go(action: Action, rationale: str, note: str) -> None:
    """Of output the ends stay; a search is made again as quickly."""
    cut = only_cut([step(1, action, answer=FILE), *quiet(3, 6)])
    assert cut.rationale == rationale
    assert note in cut.replacement
    assert planned([step(1, action, answer=FILE), *quiet(3, 3)]).nothing_to_trim


def test_output_keeps_its_ends_and_what_is_spoken_of() -> None:
    """The last lines of a test run tell how it ended."""
    told: list[Told] = [
        step(1, Ran("make"), answer=FILE.replace("number 50", "broken_test")),
        *quiet(3, 6),
        Said("broken_test"),
    ]
    kept = only_cut(told).replacement
    assert "2\tline number 2 of" in kept
    assert "\n…\n49\t" in kept
    assert "broken_test" in kept
    assert "95\tline number 95" in kept
    assert "94\tline" not in kept


def test_of_a_long_line_of_output_stays_what_is_near_a_name() -> None:
    """A whole document may stand in one line, and a name in it is no reason to keep all of it."""
    words = [f"word{number:04d}" for number in range(1000)]
    words[500] = "broken_test"
    told: list[Told] = [
        step(1, Ran("curl"), answer=" ".join(words)),
        *quiet(3, 6),
        Said("broken_test"),
    ]
    cut = only_cut(told)
    assert "curl: 1 lines, printed 6 calls ago." in cut.replacement
    assert "word0000" in cut.replacement
    assert "word0490" in cut.replacement
    assert "broken_test" in cut.replacement
    assert "word0510" in cut.replacement
    assert "word0999" in cut.replacement
    assert len(cut.replacement) < 1500


@pytest.mark.parametrize(("length", "is_whole"), [(400, True), (401, False)])
def test_a_line_of_output_is_one_until_it_is_long(length: int, is_whole: bool) -> None:
    """Of a longer one only the parts near the name stay, and its neighbours in the text."""
    line = ("begin " + "x " * 500)[: length - 12] + " broken_test"
    assert len(line) == length
    filling = [f"{number} " + "y " * 40 for number in range(30)]
    told: list[Told] = [
        step(1, Ran("make"), answer="\n".join([*filling, line, *filling])),
        *quiet(3, 6),
        Said("broken_test"),
    ]
    replacement = only_cut(told).replacement
    assert "broken_test" in replacement
    assert ("begin" in replacement) == is_whole


def test_a_long_line_of_a_report_stays_whole_where_it_is_spoken_of() -> None:
    """It is a paragraph, and whoever told it will not tell it again."""
    paragraph = f"{'why ' * 200}old_name{' because' * 100}"
    told: list[Told] = [
        step(1, Delegated("look", "p"), answer=FILE.replace("line number 50 of this file", paragraph)),
        *quiet(3, 20),
        Said("old_name"),
    ]
    assert paragraph in only_cut(told).replacement


def test_a_command_that_shows_files_keeps_what_is_spoken_of() -> None:
    """And has more time."""
    told: list[Told] = [
        step(1, Ran("cd x && cat a b"), answer=FILE.replace("number 50", "old_name")),
        *quiet(3, 9),
    ]
    assert planned(told).nothing_to_trim
    kept = only_cut([*told, *quiet(30, 1), Said("old_name")]).replacement
    assert "\n42\t" in kept
    assert "\n58\t" in kept
    assert "\n41\t" not in kept


@pytest.mark.parametrize("action", [Delegated("look around", "p"), Other("ask", "what")])
def test_an_old_report_keeps_what_is_spoken_of(action: Action) -> None:
    """What a subagent or a server told."""
    told: list[Told] = [
        step(1, action, answer=FILE.replace("number 50", "old_name"), given="w" * 40),
        *quiet(3, 19),
    ]
    assert planned(told).nothing_to_trim
    kept = only_cut([*told, *quiet(60, 1), Said("old_name")]).replacement
    assert "told 20 calls ago; nothing has spoken of the lines left out." in kept
    assert "old_name" in kept
    assert "\n48\t" not in kept


def test_a_command_that_was_run_again_points_to_the_last_time() -> None:
    """By its words, whatever the white space; the note is of the newest run."""
    runs = [step(line, Ran("make  test"), answer=f"{line}\n{FILE}") for line in (1, 3)]
    told = [*runs, step(5, Ran("make test"), answer="ok"), *quiet(7, 5)]
    assert [cut.rationale for cut in planned(told).cuts] == ["the command was run again"] * 2
    assert "make test: run again since, see line 7." in planned(told).cuts[0].replacement


def test_the_same_result_stands_once() -> None:
    """Whoever it came from."""
    told = [step(1, Other("a", "b"), answer=FILE), step(3, Other("c", "d"), answer=FILE), *quiet(5, 6)]
    cut = only_cut(told)
    assert cut.rationale == "the same came back later"
    assert "Tool: the same as in line 5." in cut.replacement


def test_a_failure_that_was_mended_goes_and_another_stays() -> None:
    """An error that nothing has mended is needed."""
    failed = Answer(text=FILE, failed=True)
    told = [
        step(1, Changed("a.py", "x", "y"), answer=failed, given="first"),
        step(3, Changed("a.py", "x", "z"), given="first"),
        step(5, Ran("make"), answer=failed, given="make"),
        *quiet(7, 6),
    ]
    made = planned(told)
    assert [cut.rationale for cut in made.cuts] == ["failed, and passed when it was tried again"]
    assert "line 7: Tool failed, and nothing has mended it since" in made.kept


def test_an_older_list_of_things_to_do_goes() -> None:
    """The last one stays."""
    todos = Planned((Todo("a"),))
    told = [step(1, todos, given="t" * 500), step(3, todos, given="t" * 500), *quiet(5, 6)]
    cut = only_cut(told)
    assert (cut.part, cut.place.line_idx) == ("input", 1)
    assert "An older list of things to do." in cut.replacement


def test_a_plan_that_its_answer_repeats_goes() -> None:
    """The answer, which holds the user's word on it, stays."""
    text = "Do this. " * 60
    approved = Answer(text=f"User has approved your plan:\n{text}", failed=False, approved=True)
    told = [step(1, Proposed(text), answer=approved, given=text), *quiet(3, 6)]
    cut = only_cut(told)
    assert (cut.part, cut.rationale) == ("input", "its answer repeats it")
    assert planned([step(1, Proposed(text), answer="no", given=text), *quiet(3, 6)]).nothing_to_trim
    assert planned([step(1, Proposed(""), answer="no", given=text), *quiet(3, 6)]).nothing_to_trim


def test_what_an_edit_replaced_goes_and_what_it_wrote_stays() -> None:
    """The new text may be edited next."""
    edit = step(
        1, Changed("a.py", "o" * 900, "new text\n\nof the file"), given="o" * 900 + "new text of the file"
    )
    cut = only_cut([edit, *quiet(3, 6)])
    assert cut.part == "input"
    assert (
        "a.py: written 6 calls ago; read it again. What still matters:\nnew text\n\nof the file"
        in cut.replacement
    )


def test_an_edit_whose_text_is_shown_later_goes_whole() -> None:
    """Several edits of one call count together."""
    new = "\n".join(f"line number {number} of this file" for number in range(1, 51))
    edits = step(1, Changed("a.py", "x", new), Changed("b.py", "x", "y"), given=new)
    looks = [step(3, Looked("a.py"), answer=FILE), step(5, Wrote("b.py", "other"), given="other")]
    cut = only_cut([edits, *looks, *quiet(7, 6)])
    assert cut.rationale == "what it wrote is shown after it, or was written over"
    kept = only_cut([edits, looks[0], *quiet(7, 6)])
    assert "What still matters:\ny" in kept.replacement


def test_an_edit_whose_answer_shows_what_it_wrote_goes_whole() -> None:
    """The answer stays; one that shows another file is no reason."""
    new = "\n".join(f"line number {number} of this file" for number in range(3, 31))
    shown = "\n".join(FILE.split("\n")[:34])
    told = [step(1, Changed("a.py", "x", new), answer=shown, given=new), *quiet(3, 6)]
    cut = only_cut(told)
    assert (cut.part, cut.rationale) == ("input", "what it wrote is shown after it, or was written over")
    two = step(1, Changed("b.py", "x", new), Changed("a.py", "x", "y"), answer=shown, given=new)
    assert planned([two, *quiet(3, 6)]).nothing_to_trim


@pytest.mark.parametrize(
    "answer",
    [
        Answer(text=FILE, said="no, the other one"),
        Answer(text=FILE, chosen=(("q", "a"),)),
        Answer(text=FILE, refused=True),
        Answer(text=FILE, approved=False),
        None,
    ],
)
def test_what_the_user_said_stays(answer: Answer | None) -> None:
    """Wherever it stands; a call without an answer is still going on."""
    assert planned([step(1, Searched("x"), answer=answer, given="g" * 900), *quiet(3, 30)]).nothing_to_trim


def test_the_last_calls_and_turns_stay() -> None:
    """Whatever a rule finds there."""
    told = [step(line, Searched(f"x{line}"), answer=FILE, turn=line) for line in range(1, 40, 2)]
    pieces = pieces_of(told)
    assert len(plan(live(*pieces, turns=39), told, FREE, SESSION).cuts) == 16
    protected = TrimParameters(protect_turns=60, min_token_savings=0)
    assert len(plan(live(*pieces, turns=39), told, protected, SESSION).cuts) == 16
    one = [step(1, Searched("x"), answer=FILE, turn=9), *quiet(3, 6)]
    assert plan(live(*pieces_of(one)), one, protected, SESSION).nothing_to_trim is False


def test_only_the_chosen_tools_are_cut() -> None:
    """Thoughts are nobody's tool."""
    told = [
        step(1, Searched("x"), answer=FILE, tool="Grep"),
        step(3, Ran("make"), answer=FILE, tool="Bash"),
        *quiet(5, 6),
    ]
    thought = piece(90, "hm", "thinking")
    everything = live(thought, *pieces_of(told))
    chosen = TrimParameters(tools=("grep",), protect_turns=0)
    assert [cut.tool for cut in plan(everything, told, chosen, SESSION).cuts] == ["Grep"]
    assert [cut.part for cut in plan(everything, told, FREE, SESSION).cuts] == [
        "thinking",
        "result",
        "result",
    ]


def test_a_cut_that_frees_little_is_left_out() -> None:
    """A note is not free."""
    told = [step(1, Searched("x" * 90), answer="y" * 360), *quiet(3, 6)]
    assert planned(told).nothing_to_trim


def test_a_call_without_actions_is_judged_by_its_age() -> None:
    """As when an agent looks at a command that still runs."""
    told: list[Told] = [step(1, answer=FILE, given="session 7"), *quiet(3, 6)]
    assert "session 7: 100 lines, printed 6 calls ago." in only_cut(told).replacement
    nameless = [step(1, answer=FILE, tool=""), *quiet(3, 6)]
    assert "Results from unknown tool" in only_cut(nameless).replacement


def test_a_result_that_is_no_piece_is_not_looked_at() -> None:
    """A result may have been cleared, and an input may be too short to count."""
    whole = step(1, Looked("a.py"), answer=FILE, given="a.py " * 100)
    assert isinstance(whole, Step)
    assert planned([whole._replace(result=None), *quiet(3, 30)]).nothing_to_trim
    assert planned([whole._replace(given=None), *quiet(3, 3)]).nothing_to_trim


def test_a_command_that_looks_at_one_file_is_judged_as_a_look() -> None:
    """By that rule alone: else what it spares would fall to the next one in a copy."""
    told: list[Told] = [step(1, Ran("cat a.py"), Looked("a.py"), answer=FILE), *quiet(3, 12)]
    assert planned(told).nothing_to_trim
