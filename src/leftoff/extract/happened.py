"""What happened: accomplishments, key findings, decisions, metadata. Oldest first, chosen by worth."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from leftoff.extract import worth
from leftoff.extract.names import Name
from leftoff.extract.phrases import clipped, coded, condensed, listed, quoted, relative
from leftoff.extract.shares import Shares
from leftoff.extract.state import Command, File, Ref, State, Statement

_MOST_METADATA_FILES = 40
_MOST_ERRORS = 5


class Told(NamedTuple):
    """A sentence about something that happened at a call, what it is worth, and where it stands."""

    text: str
    worth: float
    call: int
    refs: list[Ref]


class Place(NamedTuple):
    """A file that is told of, with what is said of it before its names are known."""

    file: File
    text: str
    worth: float


def accounts(state: State, shares: Shares) -> list[Told]:
    """Turns by the agent's own account, finished todos, commits, passing checks, subagents."""
    told = [
        *_turns(state, shares),
        *_done(state),
        *_commits(state),
        *_passing(state),
        *_delegated(state, shares),
    ]
    return _chosen(told, shares.accounts)


def findings(state: State, said: list[Statement], shares: Shares) -> list[Told]:
    """Errors and what cured them, what fails now, what was found, what was tried and given up."""
    told = [*_cured(state), *_failing(state), *_found(said, state.calls), *_given_up(said, state.calls)]
    return _chosen(told, shares.findings)


def decisions(said: list[Statement], now: int, shares: Shares) -> list[tuple[dict[str, str], list[Ref]]]:
    """Choices with their reason."""
    made = [statement for statement in said if statement.kind == "decision"]
    kept = worth.best(
        made,
        lambda each: worth.of_statement(each, now),
        lambda each: each.text + each.reason,
        shares.decisions,
    )
    return [({"decision": _without_reason(each), "rationale": each.reason}, [each.ref]) for each in kept]


def changed_places(state: State, shares: Shares) -> list[Place]:
    """The files that were created, changed and deleted."""
    found = [
        Place(file, _change_told(file, state.project), worth.of_file(file, state.calls))
        for file in state.files.values()
        if file.edits or file.last == "deleted"
    ]
    return worth.best(found, lambda each: each.worth, lambda each: each.text, shares.changed)


def read_places(state: State) -> list[Place]:
    """The files that were read and searched, and not changed."""
    found = []
    for file in state.files.values():
        if not file.edits and file.last in ("read", "searched"):
            lines = f" (lines {file.seen[0]}-{file.seen[1] or 'end'} read)" if file.seen else ""
            text = f"In `{relative(file.path, state.project)}`{lines}"
            found.append(Place(file, text, worth.of_file(file, state.calls)))
    return found


def named(place: Place, names: list[Name]) -> Told:
    """The place with the names that belong to it."""
    texts = [name.text for name in names]
    text = f"{place.text}; names there: {coded(texts)}" if texts else place.text
    shown = {name.ref: name.ref.saying(name.text) for name in names}  # one name of each record is quoted
    refs = [place.file.ref.saying(place.file.path), *shown.values()]
    return Told(text, place.worth, place.file.call, refs)


def metadata(state: State) -> dict[str, Any]:
    """What the seed's metadata asks for, as far as the transcript says it."""
    edited = [file for file in state.files.values() if file.edits and file.last not in ("deleted", "moved")]
    edited.sort(key=lambda file: file.edited_at)
    failing = [f"{clipped(each.text, 80)}: {each.failure}" for each in standing_failures(state)]
    return {
        "files_modified": [relative(file.path, state.project) for file in edited[-_MOST_METADATA_FILES:]],
        "agents_used": list(state.agents),
        "errors": failing[-_MOST_ERRORS:],
        "session_duration_minutes": _minutes(state),
        "model": state.model or None,
        "turns": state.turns,
        "tool_calls": state.calls,
        "failed_calls": state.errors,
        "compactions": state.compactions,
        "transcript": state.transcript,
    }


def standing_failures(state: State) -> list[Command]:
    """Checks of the work (tests, builds, linters) that failed when last run, and that no later check has refuted."""
    passed = [each for each in state.commands.values() if each.failed is False and worth.is_check(each)]
    return [
        command
        for command in state.commands.values()
        if command.failed
        and worth.is_check(command)
        and not any(later.call > command.call and _refutes(later, command) for later in passed)
    ]


def _refutes(passed: Command, failed: Command) -> bool:
    """Whether a good run says that the failure is gone: the same kind of check, and not of a smaller part; tests build first."""
    kinds = worth.kinds_of_check(failed)
    is_same_kind = bool(kinds & worth.kinds_of_check(passed)) or (
        "test" in worth.kinds_of_check(passed) and "build" in kinds
    )
    is_narrower = len(passed.text) > len(failed.text) and (
        passed.text.startswith(failed.text) or _family(passed.text) == _family(failed.text)
    )
    return is_same_kind and not is_narrower


def _chosen(told: list[Told], chars: int) -> list[Told]:
    told.sort(key=lambda each: each.call)
    return worth.best(told, lambda each: each.worth, lambda each: each.text, chars)


def _turns(state: State, shares: Shares) -> Iterator[Told]:
    """Each answered prompt with the end of the agent's answer: what it says it has done."""
    prompts = {prompt.turn: prompt for prompt in state.prompts}
    said = [statement for statement in state.statements if statement.kind == "summary"]
    if state.last_words is not None and not state.pending and state.last_words.call == state.calls:
        said.append(state.last_words)
    for number, each in enumerate(reversed(said)):
        prompt = prompts.get(each.turn)
        if prompt is not None:
            words = condensed(each.text, shares.account if number < 3 else shares.account // 2)
            text = f"Asked {quoted(prompt.text, shares.prompt // 2)}: {words}"
            yield Told(text, 0.9 + worth.recency(each.call, state.calls), each.call, [prompt.ref, each.ref])


def _done(state: State) -> Iterator[Told]:
    for todo in state.todos:
        if todo.status == "completed" and todo.text:
            value = 0.4 + 0.5 * worth.recency(todo.call, state.calls)
            yield Told(f"Done: {clipped(todo.text, 160)}", value, todo.call, [todo.ref])


def _commits(state: State) -> Iterator[Told]:
    for commit in state.commits:
        value = 0.8 + 0.5 * worth.recency(commit.call, state.calls)
        yield Told(
            f"Committed `{commit.sha}`: {clipped(commit.subject, 160)}", value, commit.call, [commit.ref]
        )


def _passing(state: State) -> Iterator[Told]:
    for command in state.commands.values():
        if (
            command.result
            and command.failed is False
            and not command.failed_before
            and worth.is_check(command)
        ):
            value = 0.1 + 0.6 * worth.recency(command.call, state.calls)
            text = f"Passes: `{clipped(command.text, 120)}` ({clipped(command.result, 90)})"
            yield Told(text, value, command.call, command.refs)


def _delegated(state: State, shares: Shares) -> Iterator[Told]:
    for each in state.delegations:
        who = f"Subagent {each.to}" if each.to else "Subagent"
        value = 0.6 + 0.5 * worth.recency(each.call, state.calls)
        text = f"{who} on {quoted(each.task, 90)}: {condensed(each.answer, shares.account // 2)}"
        yield Told(text, value, each.call, [each.ref])


def _change_told(file: File, project: str) -> str:
    path = relative(file.path, project)
    if file.last == "deleted":
        return f"Deleted `{path}`"
    if file.last == "moved":
        return f"Moved `{path}` to `{relative(file.moved_to, project)}`"
    times = f" ({file.edits} edits)" if file.edits > 1 else ""
    return f"{'Created' if file.is_new else 'Changed'} `{path}`{times}"


def _cured(state: State) -> Iterator[Told]:
    for command in state.commands.values():
        if command.failed_before and command.failed is False:
            files = listed(relative(path, state.project) for path in command.cured_by)
            after = f" after changes in {files}" if files else ""
            was = quoted(command.failed_before, 150)
            text = f"Fixed{after}: `{clipped(command.text, 120)}` had failed with {was}, and passes now"
            yield Told(text, 0.5 + 0.4 * worth.recency(command.call, state.calls), command.call, command.refs)


def _failing(state: State) -> Iterator[Told]:
    for command in standing_failures(state):
        code = f" (exit {command.exit_code})" if command.exit_code is not None else ""
        why = f": {quoted(command.failure, 200)}" if command.failure else ""
        text = f"Fails now: `{clipped(command.text, 160)}`{code}{why}"
        yield Told(text, 1.0 + worth.recency(command.call, state.calls), command.call, command.refs)


def _found(said: list[Statement], now: int) -> Iterator[Told]:
    for statement in said:
        if statement.kind == "finding":
            value = worth.of_statement(statement, now)
            yield Told(clipped(statement.text, 360), value, statement.call, [statement.ref])


def _given_up(said: list[Statement], now: int) -> Iterator[Told]:
    for statement in said:
        if statement.kind == "abandoned":
            value = 0.25 + worth.of_statement(statement, now)
            text = f"Tried and given up: {clipped(statement.text, 300)}"
            yield Told(text, value, statement.call, [statement.ref])


def _without_reason(statement: Statement) -> str:
    """The choice alone, where the reason stands apart."""
    bare = statement.text.replace(statement.reason, "", 1).strip(" ,;:.—-") if statement.reason else ""
    chosen = bare if len(bare) > 20 else statement.text
    return chosen[3].upper() + chosen[4:] if chosen.startswith("so ") else chosen


def _family(command: str) -> str:
    """What kind of command it is: the program and its first word, behind any change of folder."""
    last = command.rsplit("&&", 1)[-1].strip() if command.startswith("cd ") else command
    return " ".join(last.split()[:2])


def _minutes(state: State) -> int | None:
    if not state.started_at:
        return None
    took = datetime.fromisoformat(state.last_at) - datetime.fromisoformat(state.started_at)
    return max(0, round(took.total_seconds() / 60))
