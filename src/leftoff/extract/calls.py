"""What a finished tool call adds to the state: files, commands, things to do, commits, subagents, verdicts of the user."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias, assert_never

from leftoff.extract import rules, todos, words
from leftoff.extract.state import Command, Commit, Delegation, File, Glimpse, Ref, State, begun, ref_of
from leftoff.model.actions import (
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
from leftoff.model.records import Record

_MOST_COMMAND_CHARS = 600
_MOST_GLIMPSE_CHARS = 40_000
_MOST_ANSWER_CHARS = 900
_FULL_GLIMPSES = 60
_OLD_GLIMPSE_CHARS = 8_000
_COMMITTED = re.compile(r"^\[([^\]\n]*?) ?(?:\(root-commit\) )?([0-9a-f]{7,40})\] (.+)$", re.MULTILINE)
_Glimpsed: TypeAlias = (
    Ran | Looked | Searched | Changed | Wrote | Delegated | Questioned | Proposed | Fetched | Other
)
_NOT_GLIMPSED = (Planned, TodoSet, Removed, Moved)
_ANSWERED_IN_WORDS = (Looked, Searched, Ran, Delegated)
_DELETES = re.compile(r"(?:^|[;&|]\s*)(?:git )?rm (?:-\w+ )*([^;&|\n]+)")


class Call(NamedTuple):
    """A request with its answer; ``record`` holds the answer and becomes a source only where one is needed."""

    asked: Ref
    record: Record
    actions: tuple[Action, ...]
    answer: Answer

    def answered(self, words: str) -> Ref:
        """The answer as a source of these words."""
        return ref_of(self.record, words)


def note(state: State, call: Call) -> None:
    """One call and what came of it; a subagent's calls count for files alone."""
    is_main, answer = call.record.actor is None, call.answer
    if is_main:
        state.calls += 1
        state.errors += bool(answer.failed and not answer.refused)
        if answer.refused or answer.chosen or answer.approved:
            rules.note_verdict(state, call.answered(answer.said), call.actions, answer)
    if answer.refused:
        return
    for action in call.actions:
        _note_file(state, call.asked, action, failed=bool(answer.failed))
        if is_main:
            _note_action(state, call, action)


def _note_action(state: State, call: Call, action: Action) -> None:
    match action:
        case Ran():
            _ran(state, call, action)
        case Planned() | TodoSet():
            todos.note(state, call.asked, action, call.answer)
        case Delegated(task, prompt, to):
            state.agents += [to] if to and to not in state.agents else []
            said = begun(call.answer.text, _MOST_ANSWER_CHARS)
            state.delegations.append(
                Delegation(call.answered(said), task or begun(prompt, 100), to or "", said, state.calls)
            )
        case _:
            pass
    _glimpse(state, call.asked, action, call.answer)


def _ran(state: State, call: Call, ran: Ran) -> None:
    text, answer = begun(ran.command.strip(), _MOST_COMMAND_CHARS), call.answer
    earlier = state.commands.pop(text, None)
    failed = answer.failed if answer.exit_code is None else answer.exit_code != 0
    was_wrong = earlier.failure or earlier.failed_before if earlier else ""
    failure = words.trouble(answer.text) if failed else ""
    result = "" if failed else words.telling_line(answer.text)
    state.commands[text] = Command(
        ref=call.asked,
        text=text,
        runs=earlier.runs + 1 if earlier else 1,
        exit_code=answer.exit_code,
        failed=failed,
        call=state.calls,
        failure=failure,
        purpose=begun(ran.purpose or "", 120),
        result=result,
        failed_before="" if failed else was_wrong,
        cured_by=_cure(state, earlier) if earlier and not failed else (),
        shown=call.answered(failure or result) if failed or result else None,
        was_shown=None if failed or not earlier else earlier.shown if earlier.failure else earlier.was_shown,
    )
    if not failed and "commit" in text:
        for branch, sha, subject in _COMMITTED.findall(answer.text[:4_000]):
            if " " not in branch:
                state.branch, state.branch_ref = branch, call.answered(branch)
            state.commits.append(Commit(call.answered(subject), sha, begun(subject, 160), state.calls))


def _cure(state: State, earlier: Command) -> tuple[str, ...]:
    """The files that were changed since the command failed: what cured it is among them."""
    if not earlier.failure:
        return earlier.cured_by
    return tuple(file.path for file in state.files.values() if file.edited_at > earlier.call)[-3:]


def _note_file(state: State, ref: Ref, action: Action, *, failed: bool) -> None:
    """What a call that worked did to files."""
    if failed:
        return
    match action:
        case Looked(path, first, last):
            file = _file(state, ref, path)
            span = (first or 1, last or 0) if first or last else file.seen and (1, 0)
            _put(state, file._replace(reads=file.reads + 1, last="read", seen=span))
        case Searched(_, str(path)) if "." in path.rsplit("/", 1)[-1].strip("*.") and "*" not in path:
            _put(state, _file(state, ref, path)._replace(last="searched"))
        case Ran(command, folder, _) if "rm " in command:
            _deleted(state, ref, command, folder)
        case Changed() | Wrote() | Removed() | Moved():
            _note_change(state, ref, action)
        case _:
            pass


def _note_change(state: State, ref: Ref, action: Changed | Wrote | Removed | Moved) -> None:
    match action:
        case Changed(path, _, _):
            _put(state, _edited(state, _file(state, ref, path))._replace(last="changed"))
        case Wrote(path, _):
            is_new = path not in state.files or state.files[path].last == "deleted"
            file = _edited(state, _file(state, ref, path))
            is_new = is_new or file.is_new
            _put(state, file._replace(last="created" if is_new else "changed", is_new=is_new))
        case Removed(path):
            _put(state, _file(state, ref, path)._replace(last="deleted", edited_at=state.calls))
        case Moved(path, to):
            earlier = _file(state, ref, path)._replace(edited_at=state.calls)
            _put(state, earlier._replace(last="moved", moved_to=to))
            _put(state, earlier._replace(path=to, last="changed"))
        case _:
            assert_never(action)


def _deleted(state: State, ref: Ref, command: str, folder: str | None) -> None:
    """Files that we know of and a shell removed; what we never saw needs no word."""
    for targets in _DELETES.findall(command):
        for target in targets.split():
            for path in (target, f"{folder or state.project}/{target}"):
                if path in state.files:
                    _put(state, _file(state, ref, path)._replace(last="deleted", edited_at=state.calls))


def _file(state: State, ref: Ref, path: str) -> File:
    """What is known of the file, seen again now: it moves to the end of the table."""
    known = state.files.pop(path, None)
    if known is None:
        return File(ref, path, call=state.calls)
    # Not by ``_replace``, which takes three times as long.
    _, _, reads, edits, last, _, is_new, seen, edited_at, moved_to = known
    return File(ref, path, reads, edits, last, state.calls, is_new, seen, edited_at, moved_to)


def _put(state: State, file: File) -> None:
    state.files.pop(file.path, None)
    state.files[file.path] = file


def _edited(state: State, file: File) -> File:
    return file._replace(edits=file.edits + 1, edited_at=state.calls)


def glimpse_words(state: State, ref: Ref, said: str, kind: Literal["Said", "Asked"]) -> None:
    """The same of what the agent said or the user asked."""
    _keep(state, Glimpse(ref, state.calls, kind, "", begun(said, _MOST_GLIMPSE_CHARS), ""))


def _glimpse(state: State, ref: Ref, action: Action, answer: Answer) -> None:
    """A recent call, kept in full enough to look for the names in it when a log is made."""
    if isinstance(action, _NOT_GLIMPSED):
        return
    path, asked = _asked(action)
    seen = begun(answer.text, _MOST_GLIMPSE_CHARS) if isinstance(action, _ANSWERED_IN_WORDS) else ""
    _keep(state, Glimpse(ref, state.calls, type(action).__name__, path, asked, seen))


def _asked(action: _Glimpsed) -> tuple[str, str]:
    """The file that a request is about, empty for none, and its words."""
    match action:
        case Changed(path, old, new):
            return path, f"{begun(new, _MOST_GLIMPSE_CHARS)}\n{begun(old, _MOST_GLIMPSE_CHARS)}"
        case Wrote(path, text):
            return path, begun(text, _MOST_GLIMPSE_CHARS)
        case Looked(path, _, _):
            return path, ""
        case Searched(pattern, path):
            return path or "", begun(pattern, _MOST_GLIMPSE_CHARS)
        case Questioned(questions):
            return "", begun("\n".join(questions), _MOST_GLIMPSE_CHARS)
        case Other(tool, text):
            return "", f"{tool} {begun(text, _MOST_GLIMPSE_CHARS)}"
        case Ran(text, _, _) | Delegated(_, text, _) | Fetched(text) | Proposed(text):
            return "", begun(text, _MOST_GLIMPSE_CHARS)
        case _:
            assert_never(action)


def _keep(state: State, glimpse: Glimpse) -> None:
    """The newest in full; what falls behind is cut short, so that the state stays small."""
    state.glimpses.append(glimpse)
    if len(state.glimpses) > _FULL_GLIMPSES:
        older = state.glimpses[-_FULL_GLIMPSES - 1]
        if len(older.asked) + len(older.answer) > _OLD_GLIMPSE_CHARS:
            state.glimpses[-_FULL_GLIMPSES - 1] = older._replace(
                asked=begun(older.asked, _OLD_GLIMPSE_CHARS), answer=begun(older.answer, _OLD_GLIMPSE_CHARS)
            )
