"""Say what happened: accomplishments, key findings, decisions, metadata. Items are selected by score, oldest first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from leftoff.core.open_work import AWAITS_ANSWER, MAY_HAVE_CHANGED, REQUESTS
from leftoff.extraction import scoring
from leftoff.extraction.names import Name
from leftoff.extraction.next_steps import requests
from leftoff.extraction.scoring import Shares
from leftoff.extraction.state import File, Ref, State, Statement
from leftoff.extraction.wording import code_list, code_span, first_sentences, quote, relative_path, shorten

_MAX_METADATA_FILES = 40
_MAX_ERRORS = 5


class Fact(NamedTuple):
    """A sentence about something that happened, its score, the call it happened at, and its sources."""

    text: str
    score: float
    call: int
    refs: list[Ref]


class FileFact(NamedTuple):
    """A file, the sentence about it without the names in it, and its score."""

    file: File
    text: str
    score: float


def accomplishments(state: State, shares: Shares) -> list[Fact]:
    """Return the agent's summaries of turns, finished to-dos, commits, passing checks and results of subagents."""
    facts = [
        *_turn_summaries(state, shares),
        *_finished_todos(state),
        *_commits(state),
        *_passing_checks(state),
        *_subagent_results(state, shares),
    ]
    return _select(facts, shares.accounts)


def findings(state: State, statements: list[Statement], shares: Shares) -> list[Fact]:
    """Return fixed errors, what fails now, what was found out, and what was tried and given up."""
    facts = [
        *_fixed_failures(state),
        *_current_failures(state),
        *_found_out(statements, state.calls),
        *_given_up(statements, state.calls),
    ]
    return _select(facts, shares.findings)


def decisions(
    statements: list[Statement], now: int, shares: Shares
) -> list[tuple[dict[str, str], list[Ref]]]:
    """Return the agent's decisions with their reason."""
    decided = [statement for statement in statements if statement.kind == "decision"]
    selected = scoring.select_best(
        decided,
        lambda each: scoring.statement_score(each, now),
        lambda each: each.text + each.reason,
        shares.decisions,
    )
    return [({"decision": _without_reason(each), "rationale": each.reason}, [each.ref]) for each in selected]


def changed_files(state: State, shares: Shares) -> list[FileFact]:
    """Return the files that were created, changed and deleted."""
    found = [
        FileFact(file, _describe_change(file, state.project), scoring.file_score(file, state.calls))
        for file in state.files.values()
        if file.edits or file.last == "deleted"
    ]
    return scoring.select_best(found, lambda each: each.score, lambda each: each.text, shares.changed)


def read_files(state: State) -> list[FileFact]:
    """Return the files that were read or searched and not changed."""
    found = []
    for file in state.files.values():
        if not file.edits and file.last in ("read", "searched"):
            lines = f" (lines {file.seen[0]}-{file.seen[1] or 'end'} read)" if file.seen else ""
            text = f"In `{relative_path(file.path, state.project)}`{lines}"
            found.append(FileFact(file, text, scoring.file_score(file, state.calls)))
    return found


def with_names(fact: FileFact, names: list[Name]) -> Fact:
    """Return the fact about a file with the names that belong to it."""
    texts = [name.text for name in names]
    text = f"{fact.text}; names there: {code_span(texts)}" if texts else fact.text
    # One name of each record is quoted.
    by_record = {name.ref: name.ref.with_excerpt(name.text) for name in names}
    refs = [fact.file.ref.with_excerpt(fact.file.path), *by_record.values()]
    return Fact(text, fact.score, fact.file.call, refs)


def metadata(state: State) -> dict[str, Any]:
    """Return the log's metadata as far as the transcript has it."""
    edited = [file for file in state.files.values() if file.edits and file.last not in ("deleted", "moved")]
    edited.sort(key=lambda file: file.edited_at)
    failing = [f"{shorten(each.text, 80)}: {each.failure}" for each in scoring.unresolved_failures(state)]
    return {
        "files_modified": [relative_path(file.path, state.project) for file in edited[-_MAX_METADATA_FILES:]],
        "agents_used": list(state.agents),
        "errors": failing[-_MAX_ERRORS:],
        "session_duration_minutes": _minutes(state),
        "model": state.model or None,
        "turns": state.turns,
        REQUESTS: len(requests(state)),
        MAY_HAVE_CHANGED: _may_have_changed_files(state),
        AWAITS_ANSWER: _awaits_answer(state),
        "tool_calls": state.calls,
        "failed_calls": state.errors,
        "compactions": state.compactions,
        "transcript": state.transcript,
    }


def _may_have_changed_files(state: State) -> bool:
    """Return whether a file was changed, or a command or subagent may have done that."""
    return (
        any(file.edits or file.last in ("deleted", "moved") for file in state.files.values())
        or bool(state.delegations)
        or not all(scoring.only_reads(command) for command in state.commands)
    )


def _awaits_answer(state: State) -> bool:
    """Return whether the agent made calls and then ended with a question; after a mere answer that is a courtesy."""
    last = state.last_words
    return last is not None and bool(state.calls) and last.text.rstrip(" \n*_)").endswith(("?", "\uff1f"))


def _select(facts: list[Fact], chars: int) -> list[Fact]:
    facts.sort(key=lambda each: each.call)
    return scoring.select_best(facts, lambda each: each.score, lambda each: each.text, chars)


def _turn_summaries(state: State, shares: Shares) -> Iterator[Fact]:
    """Yield each answered prompt with the agent's last text: what it says it has done."""
    prompts = {prompt.turn: prompt for prompt in state.prompts}
    summaries = [statement for statement in state.statements if statement.kind == "summary"]
    if state.last_words is not None and not state.pending and state.last_words.call == state.calls:
        summaries.append(state.last_words)
    for number, each in enumerate(reversed(summaries)):
        prompt = prompts.get(each.turn)
        if prompt is not None:
            words = first_sentences(each.text, shares.account if number < 3 else shares.account // 2)
            text = (
                words if prompt.is_for_leftoff else f"Asked {quote(prompt.text, shares.prompt // 2)}: {words}"
            )
            yield Fact(text, 0.9 + scoring.recency(each.call, state.calls), each.call, [prompt.ref, each.ref])


def _finished_todos(state: State) -> Iterator[Fact]:
    for todo in state.todos:
        if todo.status == "completed" and todo.text:
            value = 0.4 + 0.5 * scoring.recency(todo.call, state.calls)
            yield Fact(f"Done: {shorten(todo.text, 160)}", value, todo.call, [todo.ref])


def _commits(state: State) -> Iterator[Fact]:
    for commit in state.commits:
        value = 0.8 + 0.5 * scoring.recency(commit.call, state.calls)
        yield Fact(
            f"Committed `{commit.sha}`: {shorten(commit.subject, 160)}", value, commit.call, [commit.ref]
        )


def _passing_checks(state: State) -> Iterator[Fact]:
    for command in state.commands.values():
        if (
            command.result
            and command.failed is False
            and not command.failed_before
            and scoring.is_check(command)
        ):
            value = 0.1 + 0.6 * scoring.recency(command.call, state.calls)
            text = f"Passes: `{shorten(command.text, 120)}` ({shorten(command.result, 90)})"
            yield Fact(text, value, command.call, command.refs)


def _subagent_results(state: State, shares: Shares) -> Iterator[Fact]:
    for each in state.delegations:
        subagent = f"Subagent {each.to}" if each.to else "Subagent"
        value = 0.6 + 0.5 * scoring.recency(each.call, state.calls)
        text = f"{subagent} on {quote(each.task, 90)}: {first_sentences(each.answer, shares.account // 2)}"
        yield Fact(text, value, each.call, [each.ref])


def _describe_change(file: File, project: str) -> str:
    path = relative_path(file.path, project)
    if file.last == "deleted":
        return f"Deleted `{path}`"
    if file.last == "moved":
        return f"Moved `{path}` to `{relative_path(file.moved_to, project)}`"
    times = f" ({file.edits} edits)" if file.edits > 1 else ""
    return f"{'Created' if file.is_new else 'Changed'} `{path}`{times}"


def _fixed_failures(state: State) -> Iterator[Fact]:
    for command in state.commands.values():
        if command.failed_before and command.failed is False:
            files = code_list(relative_path(path, state.project) for path in command.fixed_by)
            after = f" after changes in {files}" if files else ""
            was = quote(command.failed_before, 150)
            text = f"Fixed{after}: `{shorten(command.text, 120)}` had failed with {was}, and passes now"
            yield Fact(
                text, 0.5 + 0.4 * scoring.recency(command.call, state.calls), command.call, command.refs
            )


def _current_failures(state: State) -> Iterator[Fact]:
    for command in scoring.unresolved_failures(state):
        code = f" (exit {command.exit_code})" if command.exit_code is not None else ""
        why = f": {quote(command.failure, 200)}" if command.failure else ""
        text = f"Fails now: `{shorten(command.text, 160)}`{code}{why}"
        yield Fact(text, 1.0 + scoring.recency(command.call, state.calls), command.call, command.refs)


def _found_out(statements: list[Statement], now: int) -> Iterator[Fact]:
    for statement in statements:
        if statement.kind == "finding":
            value = scoring.statement_score(statement, now)
            yield Fact(shorten(statement.text, 360), value, statement.call, [statement.ref])


def _given_up(statements: list[Statement], now: int) -> Iterator[Fact]:
    for statement in statements:
        if statement.kind == "abandoned":
            value = 0.25 + scoring.statement_score(statement, now)
            text = f"Tried and given up: {shorten(statement.text, 300)}"
            yield Fact(text, value, statement.call, [statement.ref])


def _without_reason(statement: Statement) -> str:
    """Return the decision without its reason, where enough is left of it."""
    bare = statement.text.replace(statement.reason, "", 1).strip(" ,;:.—-") if statement.reason else ""
    chosen = bare if len(bare) > 20 else statement.text
    return chosen[3].upper() + chosen[4:] if chosen.startswith("so ") else chosen


def _minutes(state: State) -> int | None:
    if not state.started_at:
        return None
    took = datetime.fromisoformat(state.last_at) - datetime.fromisoformat(state.started_at)
    return max(0, round(took.total_seconds() / 60))
