"""The rules of smart-trim: what each finds, what it leaves, and what is never touched."""

import re
from collections.abc import Sequence

import pytest

from leftoff.core.actions import (
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
from leftoff.core.trim_plan import Cut, TrimPlan
from leftoff.shrink.cuts import TrimParameters, cut_by_rules
from leftoff.shrink.placeholder import parse_placeholder
from leftoff.shrink.steps import ConversationItem, Message, Step
from tests.shrink.builders import SESSION, live, piece, pieces_of, step

FREE = TrimParameters(protect_turns=0, min_token_savings=0, level="careful")
NORMAL = FREE._replace(level="normal")
STRONG = FREE._replace(level="strong")
EDIT = step(201, Changed("a.py", "not in what was read", "new"), given="new")
FILE = "\n".join(f"{number}\tline number {number} of this file" for number in range(1, 101))


def quiet(first: int, count: int) -> list[ConversationItem]:
    """Calls that do nothing and answer next to nothing."""
    return [
        step(line, Ran(f"true {line}"), answer="ok", given=f"true {line}")
        for line in range(first, first + 2 * count, 2)
    ]


def planned(conversation: Sequence[ConversationItem], parameters: TrimParameters = FREE) -> TrimPlan:
    return cut_by_rules(live(*pieces_of(conversation)), conversation, parameters, SESSION)


def only_cut(conversation: Sequence[ConversationItem]) -> Cut:
    cuts = planned(conversation).cuts
    assert len(cuts) == 1
    assert parse_placeholder(cuts[0].replacement) is not None
    return cuts[0]


def test_a_file_that_is_read_again_is_kept_once() -> None:
    """The older look is cut as a whole, with a note of one line."""
    conversation = [step(1, Looked("a.py"), answer=FILE), step(3, Looked("a.py"), answer=FILE), *quiet(5, 6)]
    cut = only_cut(conversation)
    assert cut.place.line_idx == 2
    assert cut.rationale == "shown again later"
    assert "a.py lines 1-100, shown again later; read it again." in cut.replacement
    assert "\n" not in cut.replacement


def test_lines_that_were_not_read_again_are_kept() -> None:
    """Kept lines have a margin, and a mark shows where lines are left out."""
    part = "\n".join(FILE.split("\n")[:60])
    conversation = [
        step(1, Looked("a.py"), answer=FILE),
        step(3, Looked("a.py", 1, 60), answer=part),
        *quiet(5, 6),
    ]
    cut = only_cut(conversation)
    assert "What still matters:\n…\n51\tline number 51 of this file" in cut.replacement
    assert "\n50\t" not in cut.replacement
    assert "100\tline number 100 of this file" in cut.replacement


def test_lines_that_were_edited_away_are_cut() -> None:
    """The note counts the edits."""
    old = "\n".join(f"line number {number} of this file" for number in range(11, 91))
    conversation = [
        step(1, Looked("a.py"), answer=FILE),
        step(3, Changed("a.py", old, "short"), given="short"),
        *quiet(5, 6),
    ]
    cut = only_cut(conversation)
    assert cut.rationale == "edited once since"
    assert "10\tline number 10 of this file\n…\n91\tline" in cut.replacement
    again = [*conversation[:2], step(20, Changed("a.py", "short", "shorter"), given="s"), *quiet(30, 6)]
    assert only_cut(again).rationale == "edited 2 times since"


def test_a_look_at_a_file_written_again_is_cut_as_a_whole() -> None:
    conversation = [
        step(1, Looked("a.py"), answer=FILE),
        step(3, Wrote("a.py", "new"), given="new"),
        *quiet(5, 6),
    ]
    assert only_cut(conversation).rationale == "written again since"


def test_an_old_look_keeps_its_head_and_lines_near_mentioned_names() -> None:
    conversation: list[ConversationItem] = [
        step(1, Looked("a.py"), answer=_with_name("wanted_name")),
        EDIT,
        *quiet(3, 21),
        Message("Look at wanted_name next."),
    ]
    cut = only_cut(conversation)
    assert cut.rationale == "not mentioned for 20 calls"
    assert "15\tfiller 15\n…\n30\tfiller 30" in cut.replacement
    assert "90\tfiller 90\nline 3 of" in cut.replacement


def test_a_name_mentioned_long_ago_keeps_nothing() -> None:
    """Only mentions within the last 20 calls count."""
    look = step(1, Looked("a.py"), answer=_with_name("wanted_name"))
    message = Message("Look at wanted_name next.")
    past: list[ConversationItem] = [look, EDIT, *quiet(3, 4), message, *quiet(11, 21)]
    recent: list[ConversationItem] = [look, EDIT, *quiet(3, 4), message, *quiet(11, 20)]
    assert "wanted_name" not in only_cut(past).replacement
    assert "wanted_name" in only_cut(recent).replacement


def test_an_old_look_is_kept_until_the_file_was_edited_and_left() -> None:
    """A file that was only read may be edited next; an edit before the look does not count."""
    look = step(1, Looked("a.py"), answer=FILE)
    assert planned([look, *quiet(3, 30)]).nothing_to_trim
    assert planned([EDIT, look, *quiet(3, 30)]).nothing_to_trim
    assert planned([look, *quiet(3, 30), EDIT, *quiet(303, 3)]).nothing_to_trim
    assert only_cut([look, *quiet(3, 30), EDIT, *quiet(303, 4)]).place.line_idx == 2


def test_a_file_that_was_only_read_in_an_earlier_turn_is_cut_from_normal_on() -> None:
    """Not in the turn that read it, and not while its name is mentioned."""
    look = step(1, Looked("src/a.py"), answer=FILE, turn=1)
    calls = [_in_turn(each, 2) for each in quiet(3, 25)]
    assert planned([look, *calls]).nothing_to_trim
    (cut,) = planned([look, *calls], NORMAL).cuts
    assert cut.place.line_idx == 2
    assert "15\tline number 15 of this file" in cut.replacement
    assert "16\tline number 16" not in cut.replacement
    assert planned([look, *quiet(3, 25)], NORMAL).nothing_to_trim
    assert planned([look, *calls[:15]], NORMAL).nothing_to_trim
    assert planned([look, *calls, Message("What does a.py do?")], NORMAL).nothing_to_trim


def test_a_task_of_a_subagent_is_cut_when_it_is_answered_and_old() -> None:
    task = step(
        1,
        Delegated("Look for leaks", "Look for leaks in every file."),
        answer="none",
        given="Look for leaks in every file. " * 30,
    )
    assert planned([task, *quiet(3, 10)]).nothing_to_trim
    (cut,) = planned([task, *quiet(3, 10)], NORMAL).cuts
    assert cut.part == "input"
    assert "Look for leaks: a task given 10 calls ago, and answered." in cut.replacement
    assert planned([task._replace(answer=None), *quiet(3, 10)], NORMAL).nothing_to_trim


def test_what_was_written_long_ago_is_cut_only_when_strong() -> None:
    text = "\n".join(f"filler {number} of the new file" for number in range(1, 60))
    write = step(1, Wrote("src/new.py", text), given=text)
    conversation = [write, *quiet(3, 25)]
    assert planned(conversation, NORMAL).nothing_to_trim
    (cut,) = planned(conversation, STRONG).cuts
    assert "filler 15 of" in cut.replacement
    assert "filler 16 of" not in cut.replacement
    named = [*conversation, Message("Go on with new.py.")]
    assert planned(named, STRONG).nothing_to_trim


def _in_turn(item: ConversationItem, turn: int) -> ConversationItem:
    assert isinstance(item, Step)
    sides = (item.input_piece, item.result_piece)
    given, answer = (each._replace(turn=turn) if each else None for each in sides)
    return item._replace(input_piece=given, result_piece=answer)


def test_a_frequent_name_keeps_nothing() -> None:
    message = Message("Look at wanted_name next.")
    rare, often = (
        re.sub(rf"filler 6([1-{last}])", r"filler 6\1 of wanted_name", _with_name("wanted_name"))
        for last in (3, 4)
    )
    conversation: list[ConversationItem] = [EDIT, *quiet(3, 21), message]
    assert "wanted_name" in only_cut([step(1, Looked("a.py"), answer=rare), *conversation]).replacement
    assert "wanted_name" not in only_cut([step(1, Looked("a.py"), answer=often), *conversation]).replacement


def _with_name(name: str) -> str:
    lines = [f"{number}\tfiller {number}" for number in range(1, 120)]
    lines[59] = f"60\tdef {name}():"
    return "\n".join(lines)


def test_a_recent_look_is_kept() -> None:
    assert planned([step(1, Looked("a.py"), answer=FILE), *quiet(3, 10)]).nothing_to_trim


def test_a_look_without_line_numbers_is_noted_by_its_length() -> None:
    text = FILE.replace("\t", " ")
    conversation = [step(1, Looked("a.py"), answer=text), step(3, Looked("a.py"), answer=text), *quiet(5, 6)]
    assert "a.py, 100 lines, shown again later" in only_cut(conversation).replacement


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
def test_old_searches_and_output_are_cut(action: Action, rationale: str, note: str) -> None:
    """The beginning and the end of an output are kept."""
    cut = only_cut([step(1, action, answer=FILE), *quiet(3, 6)])
    assert cut.rationale == rationale
    assert note in cut.replacement
    assert planned([step(1, action, answer=FILE), *quiet(3, 3)]).nothing_to_trim


def test_output_keeps_its_ends_and_lines_near_mentioned_names() -> None:
    conversation: list[ConversationItem] = [
        step(1, Ran("make"), answer=FILE.replace("number 50", "broken_test")),
        *quiet(3, 6),
        Message("broken_test"),
    ]
    kept = only_cut(conversation).replacement
    assert "2\tline number 2 of" in kept
    assert "\n…\n49\t" in kept
    assert "broken_test" in kept
    assert "95\tline number 95" in kept
    assert "94\tline" not in kept


def test_a_long_line_of_output_keeps_only_parts_near_a_name() -> None:
    """One line may hold a whole document."""
    words = [f"word{number:04d}" for number in range(1000)]
    words[500] = "broken_test"
    conversation: list[ConversationItem] = [
        step(1, Ran("curl"), answer=" ".join(words)),
        *quiet(3, 6),
        Message("broken_test"),
    ]
    cut = only_cut(conversation)
    assert "curl: 1 lines, printed 6 calls ago." in cut.replacement
    assert "word0000" in cut.replacement
    assert "word0490" in cut.replacement
    assert "broken_test" in cut.replacement
    assert "word0510" in cut.replacement
    assert "word0999" in cut.replacement
    assert len(cut.replacement) < 1500


@pytest.mark.parametrize(("length", "is_whole"), [(400, True), (401, False)])
def test_a_line_of_output_is_split_only_if_it_is_long(length: int, is_whole: bool) -> None:
    line = ("begin " + "x " * 500)[: length - 12] + " broken_test"
    assert len(line) == length
    filling = [f"{number} " + "y " * 40 for number in range(30)]
    conversation: list[ConversationItem] = [
        step(1, Ran("make"), answer="\n".join([*filling, line, *filling])),
        *quiet(3, 6),
        Message("broken_test"),
    ]
    replacement = only_cut(conversation).replacement
    assert "broken_test" in replacement
    assert ("begin" in replacement) == is_whole


def test_a_long_line_of_a_report_is_not_split() -> None:
    paragraph = f"{'why ' * 200}old_name{' because' * 100}"
    conversation: list[ConversationItem] = [
        step(1, Delegated("look", "p"), answer=FILE.replace("line number 50 of this file", paragraph)),
        *quiet(3, 20),
        Message("old_name"),
    ]
    assert paragraph in only_cut(conversation).replacement


def test_a_command_that_shows_files_keeps_lines_near_mentioned_names() -> None:
    conversation: list[ConversationItem] = [
        step(1, Ran("cd x && cat a b"), answer=FILE.replace("number 50", "old_name")),
        *quiet(3, 9),
    ]
    assert planned(conversation).nothing_to_trim
    kept = only_cut([*conversation, *quiet(30, 1), Message("old_name")]).replacement
    assert "\n42\t" in kept
    assert "\n58\t" in kept
    assert "\n41\t" not in kept


@pytest.mark.parametrize("action", [Delegated("look around", "p"), Other("ask", "what")])
def test_an_old_report_keeps_lines_near_mentioned_names(action: Action) -> None:
    conversation: list[ConversationItem] = [
        step(1, action, answer=FILE.replace("number 50", "old_name"), given="w" * 40),
        *quiet(3, 19),
    ]
    assert planned(conversation).nothing_to_trim
    kept = only_cut([*conversation, *quiet(60, 1), Message("old_name")]).replacement
    assert "reported 20 calls ago; the removed lines were not mentioned since." in kept
    assert "old_name" in kept
    assert "\n48\t" not in kept


def test_a_repeated_command_refers_to_its_last_run() -> None:
    """Spaces in a command do not matter."""
    runs = [step(line, Ran("make  test"), answer=f"{line}\n{FILE}") for line in (1, 3)]
    conversation = [*runs, step(5, Ran("make test"), answer="ok"), *quiet(7, 5)]
    assert [cut.rationale for cut in planned(conversation).cuts] == ["the command was run again"] * 2
    assert "make test: run again since, see line 7." in planned(conversation).cuts[0].replacement


def test_equal_results_are_kept_once() -> None:
    conversation = [
        step(1, Other("a", "b"), answer=FILE),
        step(3, Other("c", "d"), answer=FILE),
        *quiet(5, 6),
    ]
    cut = only_cut(conversation)
    assert cut.rationale == "the same came back later"
    assert "Tool: the same as in line 5." in cut.replacement


def test_a_resolved_failure_is_cut_and_an_unresolved_one_is_kept() -> None:
    failed = Answer(text=FILE, failed=True)
    conversation = [
        step(1, Changed("a.py", "x", "y"), answer=failed, given="first"),
        step(3, Changed("a.py", "x", "z"), given="first"),
        step(5, Ran("make"), answer=failed, given="make"),
        *quiet(7, 6),
    ]
    plan = planned(conversation)
    assert [cut.rationale for cut in plan.cuts] == ["failed, and passed when it was tried again"]
    assert "line 7: Tool failed, and nothing has fixed it since" in plan.kept


def test_only_the_last_todo_list_is_kept() -> None:
    todos = Planned((Todo("a"),))
    conversation = [step(1, todos, given="t" * 500), step(3, todos, given="t" * 500), *quiet(5, 6)]
    cut = only_cut(conversation)
    assert (cut.part, cut.place.line_idx) == ("input", 1)
    assert "An older to-do list; a later one replaces it." in cut.replacement


def test_a_plan_that_its_answer_repeats_is_cut() -> None:
    """The answer is kept."""
    text = "Do this. " * 60
    approved = Answer(text=f"User has approved your plan:\n{text}", failed=False, approved=True)
    conversation = [step(1, Proposed(text), answer=approved, given=text), *quiet(3, 6)]
    cut = only_cut(conversation)
    assert (cut.part, cut.rationale) == ("input", "its answer repeats it")
    assert planned([step(1, Proposed(text), answer="no", given=text), *quiet(3, 6)]).nothing_to_trim
    assert planned([step(1, Proposed(""), answer="no", given=text), *quiet(3, 6)]).nothing_to_trim


def test_an_edit_keeps_what_it_wrote_and_loses_what_it_replaced() -> None:
    edit = step(
        1, Changed("a.py", "o" * 900, "new text\n\nof the file"), given="o" * 900 + "new text of the file"
    )
    cut = only_cut([edit, *quiet(3, 6)])
    assert cut.part == "input"
    assert (
        "a.py: written 6 calls ago; read it again. What still matters:\nnew text\n\nof the file"
        in cut.replacement
    )


def test_blank_lines_alone_do_not_matter() -> None:
    """They stay between two lines that do."""
    edit = step(1, Changed("a.py", "o" * 900, "\n\n \n"), given="o" * 900)
    assert "What still matters" not in only_cut([edit, *quiet(3, 6)]).replacement
    new = "\n\nfirst of the file\n\nsecond of the file\n\n"
    kept = only_cut([step(1, Changed("a.py", "o" * 900, new), given="o" * 900), *quiet(3, 6)])
    assert "What still matters:\n…\nfirst of the file\n\nsecond of the file\nline 2 of " in kept.replacement


def test_an_edit_whose_text_is_shown_later_is_cut_as_a_whole() -> None:
    """Several edits of one call count together."""
    new = "\n".join(f"line number {number} of this file" for number in range(1, 51))
    edits = step(1, Changed("a.py", "x", new), Changed("b.py", "x", "y"), given=new)
    looks = [step(3, Looked("a.py"), answer=FILE), step(5, Wrote("b.py", "other"), given="other")]
    cut = only_cut([edits, *looks, *quiet(7, 6)])
    assert cut.rationale == "what it wrote is shown after it, or was written over"
    kept = only_cut([edits, looks[0], *quiet(7, 6)])
    assert "What still matters:\ny" in kept.replacement


def test_an_edit_whose_answer_shows_its_text_is_cut_as_a_whole() -> None:
    """An answer about another file does not count."""
    new = "\n".join(f"line number {number} of this file" for number in range(3, 31))
    excerpt = "\n".join(FILE.split("\n")[:34])
    conversation = [step(1, Changed("a.py", "x", new), answer=excerpt, given=new), *quiet(3, 6)]
    cut = only_cut(conversation)
    assert (cut.part, cut.rationale) == ("input", "what it wrote is shown after it, or was written over")
    two = step(1, Changed("b.py", "x", new), Changed("a.py", "x", "y"), answer=excerpt, given=new)
    assert planned([two, *quiet(3, 6)]).nothing_to_trim


@pytest.mark.parametrize(
    "answer",
    [
        Answer(text=FILE, user_text="no, the other one"),
        Answer(text=FILE, chosen=(("q", "a"),)),
        Answer(text=FILE, refused=True),
        Answer(text=FILE, approved=False),
        None,
    ],
)
def test_what_the_user_said_is_kept(answer: Answer | None) -> None:
    assert planned([step(1, Searched("x"), answer=answer, given="g" * 900), *quiet(3, 30)]).nothing_to_trim


def test_the_last_calls_and_turns_are_kept() -> None:
    conversation = [step(line, Searched(f"x{line}"), answer=FILE, turn=line) for line in range(1, 40, 2)]
    pieces = pieces_of(conversation)
    assert len(cut_by_rules(live(*pieces, turns=39), conversation, FREE, SESSION).cuts) == 16
    protected = TrimParameters(protect_turns=60, min_token_savings=0)
    assert len(cut_by_rules(live(*pieces, turns=39), conversation, protected, SESSION).cuts) == 16
    one = [step(1, Searched("x"), answer=FILE, turn=9), *quiet(3, 6)]
    assert cut_by_rules(live(*pieces_of(one)), one, protected, SESSION).nothing_to_trim is False


def test_only_the_chosen_tools_are_cut() -> None:
    """A choice of tools leaves thoughts alone, because they belong to no tool."""
    conversation = [
        step(1, Searched("x"), answer=FILE, tool="Grep"),
        step(3, Ran("make"), answer=FILE, tool="Bash"),
        *quiet(5, 6),
    ]
    thought = piece(90, "hm", "thinking")
    everything = live(thought, *pieces_of(conversation))
    chosen = TrimParameters(tools=("grep",), protect_turns=0)
    assert [cut.tool for cut in cut_by_rules(everything, conversation, chosen, SESSION).cuts] == ["Grep"]
    assert [cut.part for cut in cut_by_rules(everything, conversation, FREE, SESSION).cuts] == [
        "thinking",
        "result",
        "result",
    ]


def test_a_cut_that_frees_little_is_left_out() -> None:
    conversation = [step(1, Searched("x" * 90), answer="y" * 360), *quiet(3, 6)]
    assert planned(conversation).nothing_to_trim


def test_a_call_without_actions_is_judged_by_its_age() -> None:
    conversation: list[ConversationItem] = [step(1, answer=FILE, given="session 7"), *quiet(3, 6)]
    assert "session 7: 100 lines, printed 6 calls ago." in only_cut(conversation).replacement
    nameless = [step(1, answer=FILE, tool=""), *quiet(3, 6)]
    assert "Results from unknown tool" in only_cut(nameless).replacement


def test_a_result_outside_the_live_pieces_is_ignored() -> None:
    whole = step(1, Looked("a.py"), answer=FILE, given="a.py " * 100)
    assert isinstance(whole, Step)
    assert planned([whole._replace(result_piece=None), *quiet(3, 30)]).nothing_to_trim
    assert planned([whole._replace(input_piece=None), *quiet(3, 3)]).nothing_to_trim


def test_a_command_that_shows_one_file_is_judged_as_a_look() -> None:
    """Otherwise the next rule would cut more in a copy."""
    conversation: list[ConversationItem] = [
        step(1, Ran("cat a.py"), Looked("a.py"), answer=FILE),
        *quiet(3, 12),
    ]
    assert planned(conversation).nothing_to_trim
