"""Whether a session settled a step that it took over from the session before."""

from __future__ import annotations

import re

from leftoff.extraction import scoring, user_rules, wording
from leftoff.extraction.next_steps import (
    ANNOUNCED,
    FAILS,
    GO_AHEAD,
    TODO_WORDS,
    UNDER_WAY,
    WAS_AT,
    is_answered,
)
from leftoff.extraction.state import State
from leftoff.extraction.wording import shorten

_CODE = re.compile(r"`([^`]+)`")
_FILE = re.compile(r"(?<![\w@/])[\w.~/-]*\w\.[A-Za-z]\w{0,7}\b(?!\()")


def is_settled(step: str, state: State) -> bool:
    """Return whether this session settled an open step that it took over from another one. When in doubt, it did not.

    A failing check is settled when a check like it passes, a to-do when it is ticked off or cancelled, an announcement
    that names files when all of them were changed. Any other step is settled by work: the user said "continue", and the
    agent made calls and answered. What was under way in the other session is not under way here.
    """
    if step.startswith((UNDER_WAY, WAS_AT)):
        return True
    if step.startswith(FAILS):
        failed = _CODE.search(step)
        return failed is not None and scoring.is_refuted(failed[1], state)
    kind, _, what = step.partition(": ")
    said = (sentence for prompt in state.prompts for sentence in wording.sentences(prompt.text))
    if any(user_rules.is_cancelled(what, sentence) for sentence in said):
        return True
    if kind in TODO_WORDS.values():
        return _is_todo_settled(what, state)
    named = _FILE.findall(step) if step.startswith(ANNOUNCED) else []
    if named:
        changed = [f"/{file.path}" for file in state.files.values() if file.edits]
        return all(any(path.endswith(f"/{name.removeprefix('./')}") for path in changed) for name in named)
    return _went_ahead(state)


def _is_todo_settled(text: str, state: State) -> bool:
    known = [todo.status for todo in state.todos if shorten(todo.text, 200) == text]
    if known:  # an open one is listed by this session itself
        return True
    return (
        _went_ahead(state) and bool(state.todos) and all(todo.status == "completed" for todo in state.todos)
    )


def _went_ahead(state: State) -> bool:
    """Return whether the user told the agent to continue, and the agent made calls and then answered."""
    ends = [*(prompt.call for prompt in state.prompts[1:]), state.calls]
    return any(
        GO_AHEAD.match(prompt.text) and end > prompt.call and is_answered(state, prompt)
        for prompt, end in zip(state.prompts, ends, strict=True)
    )
