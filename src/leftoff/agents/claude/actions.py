"""What the tools of Claude Code do, and what their answers say: names and shapes of all versions seen (1.0.17 - 2.1.325)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from leftoff.agents.fields import count, rows, text
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
    Questioned,
    Ran,
    Searched,
    Todo,
    TodoSet,
    TodoStatus,
    Wrote,
)
from leftoff.model.records import ToolResult, ToolUse
from leftoff.model.wire import JsonObject, JsonValue

_STATUSES: Mapping[str, TodoStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "cancelled": "cancelled",
    "deleted": "cancelled",
}
_REFUSED = "The user doesn't want to proceed with this tool use."
_REFUSED_OTHERWISE = ("The user doesn't want to take this action right now", "[Request interrupted by user")
_SAID = "the user said:\n"
_CLARIFIES = "The user wants to clarify these questions."  # the client's words, not the user's
_APPROVED = "User has approved your plan"
_CLARIFIED = re.compile(r'^- "(.*?)"\n  Answer: (.*?)(?=\n- "|\Z)', re.DOTALL | re.MULTILINE)
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code:? (\d+)\n?")
_CHOSEN_END = re.compile(r'"(?:\. You can now continue|\.?\s*\Z)')
_CREATED = re.compile(r"Task #(\S+) created")
_OF_A_SERVER = "mcp__"  # such a tool writes its errors itself, and may write whatever the client would
_WRAPPED = re.compile(r"\A<tool_use_error>(.*)</tool_use_error>\s*\Z", re.DOTALL)


def actions(use: ToolUse) -> tuple[Action, ...]:
    """What the call does; a tool that is not known here is told by its name and words."""
    if isinstance(use.input, str):
        return (Other(use.tool, use.input),)
    does = _TOOLS.get(use.tool)
    found = does(use.input) if does else ()
    return found or (Other(use.tool, " ".join(words(use.input))),)


def answer(use: ToolUse, result: ToolResult) -> Answer:
    """What came back of it."""
    given = result.text
    if result.is_error:
        return _failure(use, given)
    return Answer(
        text=given,
        exit_code=0 if use.tool == "Bash" else None,
        failed=False,
        chosen=_chosen(use.input, given) if use.tool == "AskUserQuestion" else (),
        approved=True if use.tool == "ExitPlanMode" and given.startswith(_APPROVED) else None,
        todo_id=_created(given) if use.tool == "TaskCreate" else None,
    )


def words(value: JsonValue) -> Iterator[str]:
    """All text in an input, in its order, however deep it stands."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case dict(table):
                waiting += reversed(table.values())
            case list(rows):
                waiting += reversed(rows)
            case _:
                pass


def _failure(use: ToolUse, given: str) -> Answer:
    is_clients = not use.tool.startswith(_OF_A_SERVER)
    if is_clients and given.startswith((_REFUSED, *_REFUSED_OTHERWISE)):
        said = given.partition(_SAID)[2].strip() if given.startswith(_REFUSED) else ""
        clarifies = said.startswith(_CLARIFIES)
        return Answer(
            text=given,
            failed=True,
            refused=True,
            said="" if clarifies else said,
            chosen=tuple(_CLARIFIED.findall(said)) if clarifies else (),
            approved=False if use.tool == "ExitPlanMode" else None,
        )
    code = _EXIT_CODE.match(given)
    if code:
        return Answer(text=given[code.end() :], exit_code=int(code[1]), failed=True)
    wrapped = _WRAPPED.match(given)
    return Answer(text=wrapped[1] if wrapped else given, failed=True)


def _chosen(asked: JsonObject | str, given: str) -> tuple[tuple[str, str], ...]:
    """Each question with its answer: ``"question"="answer"``, one behind the other.

    Answers may hold quotes and commas, so the questions tell where each begins.
    """
    questions = _questions(asked) if isinstance(asked, dict) else []
    found = [(given.find(f'"{question}"="'), question) for question in questions]
    begins = sorted(place for place in found if place[0] >= 0)
    ends = [*(start for start, _ in begins[1:]), len(given)]
    chosen = []
    for (start, question), end in zip(begins, ends, strict=False):  # no question, no answer
        words_behind = given[start + len(question) + 4 : end]
        last = _CHOSEN_END.search(words_behind) if end == len(given) else None
        chosen.append((question, words_behind[: last.start()] if last else words_behind.removesuffix('", ')))
    return tuple(chosen)


def _questions(given: JsonObject) -> list[str]:
    asked = [text(row, "question") for row in rows(given, "questions") if isinstance(row, dict)]
    return [question for question in asked if question]


def _created(given: str) -> str | None:
    found = _CREATED.search(given)
    return found[1] if found else None


def _ran(given: JsonObject) -> tuple[Action, ...]:
    command = text(given, "command")
    return (Ran(command, purpose=text(given, "description")),) if command else ()


def _looked(given: JsonObject) -> tuple[Action, ...]:
    path = text(given, "file_path") or text(given, "notebook_path")
    if path is None:
        return ()
    first, lines = count(given, "offset"), count(given, "limit")
    return (Looked(path, first, (first or 1) + lines - 1 if lines else None),)


def _searched(given: JsonObject) -> tuple[Action, ...]:
    pattern = text(given, "pattern") or text(given, "path")
    return (Searched(pattern, text(given, "path") or text(given, "glob")),) if pattern else ()


def _changed(given: JsonObject) -> tuple[Action, ...]:
    path = text(given, "file_path")
    edits = [edit for edit in rows(given, "edits") or [given] if isinstance(edit, dict)]
    if path is None:
        return ()
    return tuple(
        Changed(path, text(edit, "old_string") or "", text(edit, "new_string") or "") for edit in edits
    )


def _changed_notebook(given: JsonObject) -> tuple[Action, ...]:
    path = text(given, "notebook_path")
    return (Changed(path, "", text(given, "new_source") or ""),) if path else ()


def _wrote(given: JsonObject) -> tuple[Action, ...]:
    path = text(given, "file_path")
    return (Wrote(path, text(given, "content") or ""),) if path else ()


def _planned(given: JsonObject) -> tuple[Action, ...]:
    todos = [todo for todo in rows(given, "todos") if isinstance(todo, dict)]
    return (Planned(tuple(Todo(text(todo, "content") or "", _status(todo) or "pending") for todo in todos)),)


def _added(given: JsonObject) -> tuple[Action, ...]:
    return (TodoSet(None, text(given, "subject") or text(given, "description") or "", "pending"),)


def _set(given: JsonObject) -> tuple[Action, ...]:
    number = given.get("taskId")
    return (TodoSet(str(number), text(given, "subject"), _status(given)),) if number is not None else ()


def _status(given: JsonObject) -> TodoStatus | None:
    return _STATUSES.get(text(given, "status") or "")


def _delegated(given: JsonObject) -> tuple[Action, ...]:
    prompt = text(given, "prompt") or ""
    return (Delegated(text(given, "description") or prompt[:80], prompt, to=text(given, "subagent_type")),)


def _questioned(given: JsonObject) -> tuple[Action, ...]:
    return (Questioned(tuple(_questions(given))),)


def _proposed(given: JsonObject) -> tuple[Action, ...]:
    return (Proposed(text(given, "plan") or ""),)


def _fetched(given: JsonObject) -> tuple[Action, ...]:
    what = text(given, "url") or text(given, "query")
    return (Fetched(what),) if what else ()


_TOOLS: Mapping[str, Callable[[JsonObject], tuple[Action, ...]]] = {
    "Bash": _ran,
    "Read": _looked,
    "NotebookRead": _looked,
    "Grep": _searched,
    "Glob": _searched,
    "LS": _searched,
    "Edit": _changed,
    "MultiEdit": _changed,
    "NotebookEdit": _changed_notebook,
    "Write": _wrote,
    "TodoWrite": _planned,
    "TaskCreate": _added,
    "TaskUpdate": _set,
    "Task": _delegated,
    "Agent": _delegated,
    "AskUserQuestion": _questioned,
    "ExitPlanMode": _proposed,
    "WebFetch": _fetched,
    "WebSearch": _fetched,
}
