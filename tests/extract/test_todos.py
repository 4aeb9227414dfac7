"""The agent's own list of things to do, whole or entry by entry."""

from leftoff.extract import State, render
from leftoff.extract.state import TodoFact
from leftoff.extract.todos import cancel
from leftoff.model.actions import Answer, Planned, Todo, TodoSet
from leftoff.testing.builders import Story, call
from tests.extract.making import a_ref, noted, told


def plan(*todos: tuple[str, str]):
    return call(
        "todo",
        {"items": [{"text": text, "status": status} for text, status in todos]},
        "The list was updated.",
    )


def next_of(log) -> list[str]:
    return [step for step in log["next_steps"] if step.startswith(("To do", "In progress"))]


def test_open_work_comes_next_in_its_order_and_what_is_begun_first() -> None:
    """Finished work is an accomplishment, never a next step."""
    story = (
        Story()
        .asked("Do it")
        .replied("", plan(("A", "completed"), ("B", "pending"), ("C", "in_progress"), ("D", "pending")))
    )
    log = told(story.replied("Working on C."))
    assert next_of(log) == ["In progress: C", "To do: B", "To do: D"]
    assert "Done: A" in log["accomplishments"]


def test_what_a_new_list_leaves_out_was_given_up() -> None:
    """Unless it was finished: that stays known."""
    story = Story().asked("Do it").replied("", plan(("A", "completed"), ("B", "pending")))
    log = told(story.replied("", plan(("C", "pending"))).replied("Now C."))
    assert next_of(log) == ["To do: C"]
    assert "Done: A" in log["accomplishments"]


def test_an_entry_that_did_not_change_keeps_its_source() -> None:
    """It was said where it was first said."""
    state = noted(State(), Planned((Todo("A"), Todo("B"))), answer=Answer("ok"))
    noted(state, Planned((Todo("A"), Todo("B", "completed"))), answer=Answer("ok"))
    assert [(todo.text, todo.status, todo.ref.line_idx) for todo in state.todos] == [
        ("A", "pending", 1),
        ("B", "completed", 2),
    ]


def test_entries_are_added_and_set_one_by_one() -> None:
    """By the id that the answer gave; cancelled and finished ones are no next step."""
    state = State(prompts=[], project="/p")
    for number, text in enumerate(("A", "B", "C", "D"), 1):
        noted(state, TodoSet(None, text, "pending"), answer=Answer("ok", todo_id=str(number)))
    noted(state, TodoSet("1", None, "completed"), answer=Answer("ok"))
    noted(state, TodoSet("2", None, "cancelled"), answer=Answer("ok"))
    noted(state, TodoSet("3", "C, with tests", "in_progress"), answer=Answer("ok"))
    noted(state, TodoSet("9", "nobody's", "in_progress"), answer=Answer("ok"))
    noted(state, TodoSet("4"), answer=Answer("ok"))
    log = render(state)
    assert next_of(log) == ["In progress: C, with tests", "To do: D"]
    assert log["accomplishments"] == ["Done: A"]
    assert not any("B" in step for step in log["next_steps"])


def test_a_list_that_was_not_taken_changes_nothing() -> None:
    """The call failed; an entry without a text or an id is told nowhere."""
    state = noted(State(), Planned((Todo("A"),)), answer=Answer("no", failed=True))
    assert state.todos == []
    noted(state, TodoSet(None), answer=Answer("ok"))
    assert [(todo.id, todo.text, todo.status) for todo in state.todos] == [("", "", "pending")]
    assert render(state)["next_steps"] == []
    assert a_ref(1).line_idx == 1


def test_what_the_user_takes_off_the_list_is_off() -> None:
    """Whether or not the agent does so too; what is not named whole stays."""
    state = State(
        todos=[
            TodoFact(a_ref(), "", "Do B", "pending", 0),
            TodoFact(a_ref(), "", "Write the big parser", "pending", 0),
        ]
    )
    cancel(state, "skip B, we do not need it; but the parser stays")
    assert [todo.status for todo in state.todos] == ["cancelled", "pending"]
    cancel(state, "the big parser is fine")
    assert state.todos[1].status == "pending"
