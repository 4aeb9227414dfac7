"""The agent's own list of things to do, whole or entry by entry."""

from __future__ import annotations

import re

from leftoff.extract.caseless import Caseless
from leftoff.extract.state import Ref, State, TodoFact
from leftoff.model.actions import Answer, Planned, TodoSet


def note(state: State, ref: Ref, action: Planned | TodoSet, answer: Answer) -> None:
    """The list as it is from now on."""
    if answer.failed:
        return
    if isinstance(action, Planned):
        _replace(state, ref, action)
    elif action.id is None:
        text = action.text or ""
        state.todos.append(
            TodoFact(ref.saying(text), answer.todo_id or "", text, action.status or "pending", state.calls)
        )
    else:
        _set(state, action)


def _replace(state: State, ref: Ref, plan: Planned) -> None:
    """A new list: what was finished before stays known, what is no longer on it was given up."""
    named = {todo.text for todo in plan.todos}
    earlier = {todo.text: todo for todo in state.todos}
    finished = [todo for todo in state.todos if todo.status == "completed" and todo.text not in named]
    state.todos[:] = finished
    for todo in plan.todos:
        known = earlier.get(todo.text)
        if known is not None and known.status == todo.status:
            state.todos.append(known)  # nothing new: the source is where it was first said
        else:
            state.todos.append(TodoFact(ref.saying(todo.text), "", todo.text, todo.status, state.calls))


def _set(state: State, change: TodoSet) -> None:
    for number, todo in enumerate(state.todos):
        if todo.id == change.id:
            state.todos[number] = todo._replace(
                text=change.text or todo.text, status=change.status or todo.status, call=state.calls
            )
            return


def cancel(state: State, said: str) -> None:
    """The user takes something off the list, whether or not the agent does so too: what is named whole."""
    if not _CANCELS.search(said):
        return
    spoken = {word.lower() for word in _WORD.findall(said)}
    for number, todo in enumerate(state.todos):
        matter = {word.lower() for word in _WORD.findall(todo.text)} - _PLAIN
        if todo.status in ("pending", "in_progress") and matter and matter <= spoken:
            state.todos[number] = todo._replace(status="cancelled", call=state.calls)


_WORD = re.compile(r"[\w-]+")
_CANCELS = Caseless(
    r"\b(?:skip|drop|cancel|forget|leave out|(?:do not|don'?t|no longer) (?:need|want|do)|no need|not needed|never ?mind)\b",
)
_PLAIN = frozenset(
    [
        "do",
        "add",
        "write",
        "make",
        "implement",
        "create",
        "update",
        "fix",
        "run",
        "the",
        "a",
        "an",
        "to",
        "for",
        "of",
        "and",
        "in",
        "on",
        "with",
    ]
)
