"""The agent's to-do list, whole or entry by entry."""

from leftoff.core.actions import Answer, Planned, Todo, TodoSet
from leftoff.extraction import State, render
from leftoff.extraction.state import TodoFact
from leftoff.extraction.user_rules import cancel_todos
from leftoff.testing.builders import Story, call
from tests.extraction.builders import a_ref, add_call, session_state_of


def plan(*todos: tuple[str, str]):
    return call(
        "todo",
        {"items": [{"text": text, "status": status} for text, status in todos]},
        "The list was updated.",
    )


def next_of(log) -> list[str]:
    return [step for step in log["next_steps"] if step.startswith(("To do", "In progress"))]


def test_open_to_dos_are_next_steps_in_their_order() -> None:
    """Items in progress come first, and finished ones are accomplishments."""
    story = (
        Story()
        .asked("Do it")
        .replied("", plan(("A", "completed"), ("B", "pending"), ("C", "in_progress"), ("D", "pending")))
    )
    log = session_state_of(story.replied("Working on C."))
    assert next_of(log) == ["In progress: C", "To do: B", "To do: D"]
    assert "Done: A" in log["accomplishments"]


def test_entries_missing_from_a_new_list_were_given_up() -> None:
    """Finished entries stay known."""
    story = Story().asked("Do it").replied("", plan(("A", "completed"), ("B", "pending")))
    log = session_state_of(story.replied("", plan(("C", "pending"))).replied("Now C."))
    assert next_of(log) == ["To do: C"]
    assert "Done: A" in log["accomplishments"]


def test_an_entry_that_did_not_change_keeps_its_source() -> None:
    """The source of an unchanged item is the record that first mentioned it."""
    state = add_call(State(), Planned((Todo("A"), Todo("B"))), answer=Answer("ok"))
    add_call(state, Planned((Todo("A"), Todo("B", "completed"))), answer=Answer("ok"))
    assert [(todo.text, todo.status, todo.ref.line_idx) for todo in state.todos] == [
        ("A", "pending", 1),
        ("B", "completed", 2),
    ]


def test_entries_are_added_and_updated_one_by_one() -> None:
    """The answer gives the id, and cancelled or finished entries are not next steps."""
    state = State(prompts=[], project="/p")
    for number, text in enumerate(("A", "B", "C", "D"), 1):
        add_call(state, TodoSet(None, text, "pending"), answer=Answer("ok", todo_id=str(number)))
    add_call(state, TodoSet("1", None, "completed"), answer=Answer("ok"))
    add_call(state, TodoSet("2", None, "cancelled"), answer=Answer("ok"))
    add_call(state, TodoSet("3", "C, with tests", "in_progress"), answer=Answer("ok"))
    add_call(state, TodoSet("9", "nobody's", "in_progress"), answer=Answer("ok"))
    add_call(state, TodoSet("4"), answer=Answer("ok"))
    log = render(state)
    assert next_of(log) == ["In progress: C, with tests", "To do: D"]
    assert log["accomplishments"] == ["Done: A"]
    assert not any("B" in step for step in log["next_steps"])


def test_a_failed_call_does_not_change_the_list() -> None:
    """An entry without a text or an id is not listed."""
    state = add_call(State(), Planned((Todo("A"),)), answer=Answer("no", failed=True))
    assert state.todos == []
    add_call(state, TodoSet(None), answer=Answer("ok"))
    assert [(todo.id, todo.text, todo.status) for todo in state.todos] == [("", "", "pending")]
    assert render(state)["next_steps"] == []
    assert a_ref(1).line_idx == 1


def test_the_user_can_cancel_entries() -> None:
    """The agent need not do so too; entries that are not named in full stay."""
    state = State(
        todos=[
            TodoFact(a_ref(), "", "Do B", "pending", 0),
            TodoFact(a_ref(), "", "Write the big parser", "pending", 0),
        ]
    )
    cancel_todos(state, "skip B, we do not need it; but the parser stays")
    assert [todo.status for todo in state.todos] == ["cancelled", "pending"]
    cancel_todos(state, "the big parser is fine")
    assert state.todos[1].status == "pending"
