"""Say what the next session needs: the mission in the user's words, what comes next, and the exact text it must not guess.

Exact text is what is hard to guess again: paths, commands, URLs, issue numbers, ports, environment variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from leftoff.core.markdown import NO_STEP_NAMED, NOTHING_OPEN
from leftoff.core.own_phrases import only_saves
from leftoff.extraction import names, scoring, wording
from leftoff.extraction.mentions import Mention, count_mentions
from leftoff.extraction.phrases import any_of
from leftoff.extraction.scoring import Shares
from leftoff.extraction.state import Command, File, Prompt, Ref, Rule, State, Statement
from leftoff.extraction.wording import first_sentences, quote, relative_path, shorten

_MAX_NEXT_STEPS = 14
_MAX_MENTIONED_FILES = 16
_MAX_MENTIONED_COMMANDS = 12
GO_AHEAD = re.compile(rf"(?:{any_of('go ahead')}|[ ,.!:)])+\Z", re.IGNORECASE)
# Not between word boundaries: some entries end with a colon or a comma.
_NEXT = re.compile(rf"(?<!\w)(?:{any_of('next step')})(?!\w)", re.IGNORECASE)
# How the steps begin that a later session may find in the log.
FIRST_ASKED = "The user first asked:"  # the beginning of a mission
_UNFINISHED = "Go on with the request that is not finished:"
UNDER_WAY = "A call was under way and has no answer:"
ANNOUNCED = "The agent's last word on it:"
WAS_AT = "The agent was at:"
FAILS = "Mend what fails:"
TODO_WORDS = {"in_progress": "In progress", "pending": "To do"}
COMPLETE = re.compile(
    r"\b(?:all|everything|both|it|this|that|work|task|job|feature|implementation|migration|refactoring)\b[^.!?\n]{0,60}"
    r"\b(?:done|finished|complete|completed|in place)\b|^\W*(?:all )?(?:done|finished|completed?)\b",
    re.IGNORECASE,
)
_FRACTION = re.compile(r"\b(?:half|partly|almost|nearly|mostly)\b|\d\s?%", re.IGNORECASE)


class Entry(NamedTuple):
    """A line of critical context."""

    text: str
    refs: list[Ref]


class Named(NamedTuple):
    """A line of critical context under a name."""

    name: str
    text: str
    refs: list[Ref]


def mission(state: State, shares: Shares) -> tuple[str, list[Ref]]:
    """Return what the user asked first, what followed, and the latest request; without any, the project continued."""
    asked = requests(state)
    if not asked:
        return _mission_of_project(state)
    first, last = asked[0], asked[-1]
    parts = [f"{FIRST_ASKED} {_quote_prompt(first, shares.first_prompt)}"]
    chars_left = shares.mission - len(parts[0])
    latest = f"The latest request: {_quote_prompt(last, shares.last_prompt)}" if last is not first else ""
    between, quoted = [], [first]
    for prompt in reversed(asked[1:-1]):
        line = f"- {_quote_prompt(prompt, shares.prompt)}"
        if len(line) + len(latest) > chars_left:
            break
        chars_left -= len(line) + 1
        between.append(line)
        quoted.append(prompt)
    left_out = len(asked) - 2 - len(between)
    if between:
        head = (
            "Then, in this order:"
            if left_out <= 0
            else f"Then ({left_out} earlier requests left out), in this order:"
        )
        parts.append("\n".join([head, *reversed(between)]))
    if latest:
        parts.append(latest)
        quoted.append(last)
    return "\n\n".join(parts), [prompt.ref for prompt in quoted]


def _mission_of_project(state: State) -> tuple[str, list[Ref]]:
    continued = [prompt for prompt in state.prompts if prompt.project]
    if not continued:
        return "", []
    names = " and ".join(dict.fromkeys(shorten(prompt.project, 80) for prompt in continued))
    return f"The user had project {names} continued; its _resume.md says what it is for.", [
        prompt.ref for prompt in continued
    ]


def requests(state: State) -> list[Prompt]:
    """Return the prompts that ask for something: not those for leftoff, nor those that only say "continue", "yes" or "thanks"."""
    return [
        prompt for prompt in state.prompts if not prompt.is_for_leftoff and not GO_AHEAD.match(prompt.text)
    ]


def _quote_prompt(prompt: Prompt, max_chars: int) -> str:
    return quote(wording.typed_text(prompt.text).strip() or prompt.text, max_chars)


def next_steps(state: State, shares: Shares, *, is_finished: bool) -> list[tuple[str, list[Ref]]]:
    """Return the unfinished request, what the agent was about to do, open to-dos in their order, and failures to fix."""
    steps = find_open_steps(state) or [*_state_that_nothing_is_open(state, is_finished=is_finished)]
    selected: dict[str, list[Ref]] = {}
    chars_left = shares.next_steps
    for text, refs in steps[:_MAX_NEXT_STEPS]:
        chars_left -= len(text)
        if chars_left < 0 and selected:
            break
        selected[text] = refs
    return [*selected.items()]


def find_open_steps(state: State) -> list[tuple[str, list[Ref]]]:
    """Return all that is left to do. When that is nothing, the work may be finished."""
    return [
        *_unfinished_request(state),
        *_announced_steps(state),
        *_open_todos(state),
        *_failures_to_fix(state),
    ]


def _unfinished_request(state: State) -> Iterator[tuple[str, list[Ref]]]:
    if not state.prompts:
        return
    if not is_answered(state, state.prompts[-1]):
        yield from _request_to_finish(state)
    for waiting in state.pending.values():
        yield f"{UNDER_WAY} {waiting.tool}", [waiting.ref]


def is_answered(state: State, prompt: Prompt) -> bool:
    """Return whether the agent said something after the last call of the prompt's turn."""
    answer = state.last_words
    if prompt is not state.prompts[-1]:
        return any(each.kind == "summary" and each.turn == prompt.turn for each in state.statements)
    return (
        answer is not None and answer.call == state.calls and not state.pending and answer.turn == prompt.turn
    )


def _request_to_finish(state: State) -> Iterator[tuple[str, list[Ref]]]:
    """Yield the last request, or the project that the user had continued after it."""
    asked = [prompt for prompt in state.prompts if prompt.project or not prompt.is_for_leftoff]
    last = next((prompt for prompt in reversed(asked) if not GO_AHEAD.match(prompt.text)), None)
    if last is None:
        return
    if last.project:
        yield f"The next task of project {shorten(last.project, 80)} is in its _resume.md", [last.ref]
    else:
        yield f"{_UNFINISHED} {_quote_prompt(last, 400)}", [last.ref]


def _state_that_nothing_is_open(state: State, *, is_finished: bool) -> Iterator[tuple[str, list[Ref]]]:
    """Yield a step that says so explicitly, so that the next session does not look for open work; in doubt, only what was said."""
    if not state.prompts or state.last_words is None:
        return
    asked, reply = requests(state), state.last_words
    opening = NOTHING_OPEN if is_finished else NO_STEP_NAMED
    answer = quote(first_sentences(reply.text, 160), 160)
    if state.prompts[-1].is_for_leftoff:
        yield f"{opening}: the agent's last word was {answer}", [state.prompts[-1].ref, reply.ref]
    elif asked:
        last = asked[-1]
        answered = f"{_quote_prompt(last, 120)} was answered with {answer}"
        yield f"{opening}: {answered}", [last.ref, reply.ref]


def _announced_steps(state: State) -> Iterator[tuple[str, list[Ref]]]:
    """Yield the agent's own last statement of what comes next."""
    last = state.last_words
    if last is None or last.turn != state.turns:
        return
    is_about_saving = bool(state.prompts) and only_saves(state.prompts[-1].text)
    for said in (last, *_said_before_thanks(state)):
        about = [sentence for sentence in wording.sentences(said.text) if _says_what_is_left(sentence)]
        if said is not last:  # a question was answered by the prompt after it
            about = [sentence for sentence in about if not sentence.endswith("?")]
        if about:
            yield f"{ANNOUNCED} {quote(' '.join(about[-4:]), 600)}", [said.ref]
            return
    if (last.call < state.calls or state.pending) and not is_about_saving:
        yield f"{WAS_AT} {quote(first_sentences(last.text, 300), 300)}", [last.ref]


def _says_what_is_left(sentence: str) -> bool:
    return bool(_NEXT.search(sentence) or (COMPLETE.search(sentence) and _FRACTION.search(sentence)))


def _said_before_thanks(state: State) -> Iterator[Statement]:
    """Yield the agent's last texts of earlier turns, newest first, as far back as nothing was asked or done since."""
    for prompt in reversed(state.prompts):
        if not GO_AHEAD.match(prompt.text) or prompt.call != state.calls:
            return
        yield from (
            each
            for each in reversed(state.statements)
            if each.kind == "summary" and each.turn == prompt.previous_turn
        )


def _open_todos(state: State) -> Iterator[tuple[str, list[Ref]]]:
    for status, word in TODO_WORDS.items():
        for todo in state.todos:
            if todo.status == status and todo.text:
                yield f"{word}: {shorten(todo.text, 200)}", [todo.ref]


def _failures_to_fix(state: State) -> Iterator[tuple[str, list[Ref]]]:
    for command in scoring.unresolved_failures(state)[-4:]:
        why = f" → {quote(command.failure, 140)}" if command.failure else ""
        yield f"{FAILS} `{shorten(command.text, 140)}`{why}", command.refs


def critical_context(
    state: State, shares: Shares, listed_files: set[str]
) -> dict[str, list[Entry] | list[Named]]:
    """Return the user's rules, then what must not be guessed: project, files, commands, ids, environment variables."""
    mentions = count_mentions(state)
    return {
        "user_rules": _rules(state, shares),
        "where": _where(state),
        "files": _files(state, shares, listed_files),
        "commands": _commands(state, shares),
        "ids_and_urls": _select_mentions(mentions, ("url", "port", "issue"), state.calls, shares),
        "environment_variables": _select_mentions(mentions, ("variable",), state.calls, shares),
    }


def _rules(state: State, shares: Shares) -> list[Entry]:
    """Return every rule word for word; of those beyond the budget, the oldest, only the places."""
    texts = [_describe_rule(rule, shares.question) for rule in state.rules]
    selected = scoring.select_best(range(len(texts)), float, lambda number: texts[number], shares.rules)
    entries = [Entry(texts[number], [state.rules[number].ref]) for number in selected]
    left_out = [rule for number, rule in enumerate(state.rules) if number not in selected]
    if left_out:
        places = ", ".join(str(rule.ref.line_idx + 1) for rule in left_out[:20])
        entries.insert(
            0,
            Entry(
                f"({len(left_out)} earlier rules do not fit: lines {places} of the transcript)",
                [rule.ref for rule in left_out[:20]],
            ),
        )
    return entries


def _describe_rule(rule: Rule, max_chars: int) -> str:
    match rule.kind:
        case "answer":
            text = f"Asked {quote(rule.about, max_chars)}, the user answered: “{rule.text}”"
        case "plan_approved":
            text = f"The user approved the plan {quote(rule.about, max_chars)}"
        case "plan_rejected":
            text = f"The user did not accept the plan {quote(rule.about, max_chars)}" + (
                f": “{rule.text}”" if rule.text else ""
            )
        case "refusal":
            text = f"The user refused {shorten(rule.about, max_chars)}" + (
                f": “{rule.text}”" if rule.text else ""
            )
        case _:
            text = f"“{rule.text}”"
    return f"{text} (superseded by: “{rule.superseded_by}”)" if rule.superseded_by else text


def _where(state: State) -> list[Named]:
    found = {"project": (state.project, state.project_ref), "branch": (state.branch, state.branch_ref)}
    return [Named(name, text, [ref]) for name, (text, ref) in found.items() if text and ref is not None]


def _files(state: State, shares: Shares, listed_files: set[str]) -> list[Named]:
    """Return each file with what was done to it last, best first; a short log leaves out files listed elsewhere."""
    base, skipped = ("", set[str]()) if shares.has_full_paths else (state.project, listed_files)
    opened = [
        Named(relative_path(file.path, base), _describe_file(file), [file.ref.with_excerpt(file.path)])
        for file in by_score(state)
        if file.path not in skipped
    ]
    # All paths in one text, so that one search tells whether any of them ends with a path; no path contains a NUL.
    known = "".join([f"/{path}\0" for path in state.files])
    unopened = (
        path for path in names.rank_paths(state.glimpses) if f"/{path.text.lstrip('./')}\0" not in known
    )
    mentioned = [
        Named(path.text, "spoken of, not opened", [path.ref.with_excerpt(path.text)])
        for path in islice(unopened, _MAX_MENTIONED_FILES)
    ]
    return [*_first_that_fit(opened, shares.files), *_first_that_fit(mentioned, shares.files // 3)]


def _first_that_fit(entries: list[Named], chars: int) -> list[Named]:
    return scoring.select_best(entries, lambda _: 0.0, lambda each: each.name + each.text, chars)


def by_score(state: State) -> list[File]:
    """Return the files, best first."""
    return sorted(state.files.values(), key=lambda file: -scoring.file_score(file, state.calls))


def _describe_file(file: File) -> str:
    done = {
        "read": "read",
        "searched": "searched",
        "deleted": "deleted",
        "moved": f"moved to {file.moved_to}",
    }.get(file.last)
    if done is None:
        done = f"{'created' if file.is_new else 'changed'}, {file.edits} edit{'s' if file.edits > 1 else ''}"
    span = f", lines {file.seen[0]}-{file.seen[1] or 'end'} seen" if file.seen else ""
    return f"{done}{span}"


def _commands(state: State, shares: Shares) -> list[Entry]:
    found = [*state.commands.values()]
    selected = scoring.select_best(
        found, lambda each: scoring.command_score(each, state.calls), _describe_command, shares.commands
    )
    selected.sort(key=lambda each: -scoring.command_score(each, state.calls))
    programs = {command.split(" ", 1)[0] for command in state.commands}
    mentioned = [
        Entry(f"`{each.text}` → spoken of, not run", [each.ref.with_excerpt(each.text)])
        for each in names.rank_mentioned_commands(state.glimpses, programs)
        if each.text not in state.commands
    ]
    run = [Entry(_describe_command(each), each.refs) for each in selected]
    return run + scoring.select_best(
        mentioned[:_MAX_MENTIONED_COMMANDS], lambda _: 0.0, lambda each: each.text, shares.commands // 4
    )


def _describe_command(command: Command) -> str:
    ended = f"exit {command.exit_code}"
    if command.exit_code is None:
        ended = {True: "failed", False: "worked", None: "end not known"}[command.failed]
    times = f", {command.runs} times" if command.runs > 1 else ""
    return f"`{command.text}` → {ended}{times}"


def _select_mentions(
    mentions: list[Mention], kinds: tuple[str, ...], now: int, shares: Shares
) -> list[Entry]:
    found = [mention for mention in mentions if mention.kind in kinds]
    selected = scoring.select_best(
        found,
        lambda each: each.uses * scoring.recency(each.call, now),
        lambda each: each.text,
        shares.mentions,
    )
    return [Entry(each.text, [each.ref]) for each in reversed(selected)]
