"""Add a finished tool call to the state: files, commands, to-dos, commits, subagents, verdicts of the user."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias, assert_never

from leftoff.core.actions import (
    Action,
    Answer,
    Changed,
    Delegated,
    Fetched,
    Looked,
    Moved,
    Other,
    Planned,
    Proposed,
    Questioned,
    Ran,
    Removed,
    Searched,
    TodoSet,
    Wrote,
)
from leftoff.core.records import Record
from leftoff.extraction import user_rules, wording
from leftoff.extraction.state import (
    Command,
    Commit,
    Delegation,
    File,
    RecentText,
    Ref,
    State,
    TodoFact,
    make_ref,
    truncate,
)

_MAX_COMMAND_CHARS = 600
_MAX_RECENT_CHARS = 40_000
_MAX_ANSWER_CHARS = 900
_FULL_RECENT_TEXTS = 60
_OLDER_RECENT_CHARS = 8_000
_COMMITTED = re.compile(r"^\[([^\]\n]*?) ?(?:\(root-commit\) )?([0-9a-f]{7,40})\] (.+)$", re.MULTILINE)
_RecentAction: TypeAlias = (
    Ran | Looked | Searched | Changed | Wrote | Delegated | Questioned | Proposed | Fetched | Other
)
_NOT_RECENT = (Planned, TodoSet, Removed, Moved)
_ANSWERED_WITH_TEXT = (Looked, Searched, Ran, Delegated)
_DELETES = re.compile(r"(?:^|[;&|]\s*)(?:git )?rm (?:-\w+ )*([^;&|\n]+)")


class Call(NamedTuple):
    """A request with its answer. ``record`` holds the answer and becomes a source only where one is needed."""

    asked: Ref
    record: Record
    actions: tuple[Action, ...]
    answer: Answer

    def answer_ref(self, excerpt: str) -> Ref:
        """Return the answer as a source, quoted with ``excerpt``."""
        return make_ref(self.record, excerpt)


def add_call(state: State, call: Call) -> None:
    """Add a call and its result. Calls of a subagent count for files only."""
    is_main, answer = call.record.actor is None, call.answer
    if is_main:
        state.calls += 1
        state.errors += bool(answer.failed and not answer.refused)
        if answer.refused or answer.chosen or answer.approved:
            user_rules.add_verdict(state, call.answer_ref(answer.user_text), call.actions, answer)
    if answer.refused:
        return
    for action in call.actions:
        _add_file(state, call.asked, action, failed=bool(answer.failed))
        if is_main:
            _add_action(state, call, action)


def _add_action(state: State, call: Call, action: Action) -> None:
    match action:
        case Ran():
            _add_command(state, call, action)
        case Planned() | TodoSet():
            _update_todos(state, call.asked, action, call.answer)
        case Delegated(task, prompt, to):
            state.agents += [to] if to and to not in state.agents else []
            answer = truncate(call.answer.text, _MAX_ANSWER_CHARS)
            state.delegations.append(
                Delegation(
                    call.answer_ref(answer), task or truncate(prompt, 100), to or "", answer, state.calls
                )
            )
        case _:
            pass
    _add_recent_call(state, call.asked, action, call.answer)


def _update_todos(state: State, ref: Ref, action: Planned | TodoSet, answer: Answer) -> None:
    """Update the agent's to-do list, whole or entry by entry."""
    if answer.failed:
        return
    if isinstance(action, Planned):
        _replace_todos(state, ref, action)
    elif action.id is None:
        text = action.text or ""
        state.todos.append(
            TodoFact(
                ref.with_excerpt(text), answer.todo_id or "", text, action.status or "pending", state.calls
            )
        )
    else:
        for number, todo in enumerate(state.todos):
            if todo.id == action.id:
                state.todos[number] = todo._replace(
                    text=action.text or todo.text, status=action.status or todo.status, call=state.calls
                )
                return


def _replace_todos(state: State, ref: Ref, plan: Planned) -> None:
    """Take over a new list. What was finished before stays known; what is no longer on it was given up."""
    named = {todo.text for todo in plan.todos}
    earlier = {todo.text: todo for todo in state.todos}
    finished = [todo for todo in state.todos if todo.status == "completed" and todo.text not in named]
    state.todos[:] = finished
    for todo in plan.todos:
        known = earlier.get(todo.text)
        if known is not None and known.status == todo.status:
            state.todos.append(known)  # unchanged: its source is where it was first written
        else:
            state.todos.append(TodoFact(ref.with_excerpt(todo.text), "", todo.text, todo.status, state.calls))


def _add_command(state: State, call: Call, ran: Ran) -> None:
    text, answer = truncate(ran.command.strip(), _MAX_COMMAND_CHARS), call.answer
    earlier = state.commands.pop(text, None)
    failed = answer.failed if answer.exit_code is None else answer.exit_code != 0
    earlier_failure = earlier.failure or earlier.failed_before if earlier else ""
    failure = wording.failure_line(answer.text) if failed else ""
    result = "" if failed else wording.success_line(answer.text)
    state.commands[text] = Command(
        ref=call.asked,
        text=text,
        runs=earlier.runs + 1 if earlier else 1,
        exit_code=answer.exit_code,
        failed=failed,
        call=state.calls,
        failure=failure,
        purpose=truncate(ran.purpose or "", 120),
        result=result,
        failed_before="" if failed else earlier_failure,
        fixed_by=_files_changed_since(state, earlier) if earlier and not failed else (),
        result_ref=call.answer_ref(failure or result) if failed or result else None,
        failure_ref=None
        if failed or not earlier
        else earlier.result_ref
        if earlier.failure
        else earlier.failure_ref,
    )
    if not failed and "commit" in text:
        for branch, sha, subject in _COMMITTED.findall(answer.text[:4_000]):
            if " " not in branch:
                state.branch, state.branch_ref = branch, call.answer_ref(branch)
            state.commits.append(Commit(call.answer_ref(subject), sha, truncate(subject, 160), state.calls))


def _files_changed_since(state: State, earlier: Command) -> tuple[str, ...]:
    """Return the last files changed since the command failed: the fix is among them."""
    if not earlier.failure:
        return earlier.fixed_by
    return tuple(file.path for file in state.files.values() if file.edited_at > earlier.call)[-3:]


def _add_file(state: State, ref: Ref, action: Action, *, failed: bool) -> None:
    """Add what a successful call did to files."""
    if failed:
        return
    match action:
        case Looked(path, first, last):
            file = _touch_file(state, ref, path)
            span = (first or 1, last or 0) if first or last else file.seen and (1, 0)
            _store_file(state, file._replace(reads=file.reads + 1, last="read", seen=span))
        case Searched(_, str(path)) if "." in path.rsplit("/", 1)[-1].strip("*.") and "*" not in path:
            _store_file(state, _touch_file(state, ref, path)._replace(last="searched"))
        case Ran(command, folder, _) if "rm " in command:
            _delete_known_files(state, ref, command, folder)
        case Changed() | Wrote() | Removed() | Moved():
            _add_change(state, ref, action)
        case _:
            pass


def _add_change(state: State, ref: Ref, action: Changed | Wrote | Removed | Moved) -> None:
    match action:
        case Changed(path, _, _):
            _store_file(state, _count_edit(state, _touch_file(state, ref, path))._replace(last="changed"))
        case Wrote(path, _):
            is_new = path not in state.files or state.files[path].last == "deleted"
            file = _count_edit(state, _touch_file(state, ref, path))
            is_new = is_new or file.is_new
            _store_file(state, file._replace(last="created" if is_new else "changed", is_new=is_new))
        case Removed(path):
            _store_file(state, _touch_file(state, ref, path)._replace(last="deleted", edited_at=state.calls))
        case Moved(path, to):
            earlier = _touch_file(state, ref, path)._replace(edited_at=state.calls)
            _store_file(state, earlier._replace(last="moved", moved_to=to))
            _store_file(state, earlier._replace(path=to, last="changed"))
        case _:
            assert_never(action)


def _delete_known_files(state: State, ref: Ref, command: str, folder: str | None) -> None:
    """Mark known files that a shell command removed; files never seen before are ignored."""
    for targets in _DELETES.findall(command):
        for target in targets.split():
            for path in (target, f"{folder or state.project}/{target}"):
                if path in state.files:
                    _store_file(
                        state, _touch_file(state, ref, path)._replace(last="deleted", edited_at=state.calls)
                    )


def _touch_file(state: State, ref: Ref, path: str) -> File:
    """Remove and return what is known of the file, marked as seen now."""
    known = state.files.pop(path, None)
    if known is None:
        return File(ref, path, call=state.calls)
    # Not by ``_replace``, which takes three times as long.
    _, _, reads, edits, last, _, is_new, seen, edited_at, moved_to = known
    return File(ref, path, reads, edits, last, state.calls, is_new, seen, edited_at, moved_to)


def _store_file(state: State, file: File) -> None:
    state.files.pop(file.path, None)
    state.files[file.path] = file


def _count_edit(state: State, file: File) -> File:
    return file._replace(edits=file.edits + 1, edited_at=state.calls)


def add_recent_text(state: State, ref: Ref, text: str, kind: Literal["Said", "Asked"]) -> None:
    """Keep what the agent said or the user asked among the recent texts."""
    _append_recent(state, RecentText(ref, state.calls, kind, "", truncate(text, _MAX_RECENT_CHARS), ""))


def _add_recent_call(state: State, ref: Ref, action: Action, answer: Answer) -> None:
    """Keep enough of a recent call to find the names in it when a log is written."""
    if isinstance(action, _NOT_RECENT):
        return
    path, asked = _request_text(action)
    output = truncate(answer.text, _MAX_RECENT_CHARS) if isinstance(action, _ANSWERED_WITH_TEXT) else ""
    _append_recent(state, RecentText(ref, state.calls, type(action).__name__, path, asked, output))


def _request_text(action: _RecentAction) -> tuple[str, str]:
    """Return the file that a request is about, empty for none, and its text."""
    match action:
        case Changed(path, old, new):
            return path, f"{truncate(new, _MAX_RECENT_CHARS)}\n{truncate(old, _MAX_RECENT_CHARS)}"
        case Wrote(path, text):
            return path, truncate(text, _MAX_RECENT_CHARS)
        case Looked(path, _, _):
            return path, ""
        case Searched(pattern, path):
            return path or "", truncate(pattern, _MAX_RECENT_CHARS)
        case Questioned(questions):
            return "", truncate("\n".join(questions), _MAX_RECENT_CHARS)
        case Other(tool, text):
            return "", f"{tool} {truncate(text, _MAX_RECENT_CHARS)}"
        case Ran(text, _, _) | Delegated(_, text, _) | Fetched(text) | Proposed(text):
            return "", truncate(text, _MAX_RECENT_CHARS)
        case _:
            assert_never(action)


def _append_recent(state: State, recent: RecentText) -> None:
    """Keep the newest texts in full and cut older ones short, so that the state stays small."""
    state.glimpses.append(recent)
    if len(state.glimpses) > _FULL_RECENT_TEXTS:
        older = state.glimpses[-_FULL_RECENT_TEXTS - 1]
        if len(older.asked) + len(older.answer) > _OLDER_RECENT_CHARS:
            state.glimpses[-_FULL_RECENT_TEXTS - 1] = older._replace(
                asked=truncate(older.asked, _OLDER_RECENT_CHARS),
                answer=truncate(older.answer, _OLDER_RECENT_CHARS),
            )
