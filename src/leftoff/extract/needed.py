"""What the next session needs: the mission in the user's words, what comes next, and the exact text it must not guess."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from leftoff.extract import mentions, names, words, worth
from leftoff.extract.caseless import Caseless
from leftoff.extract.happened import standing_failures
from leftoff.extract.mentions import Mention
from leftoff.extract.phrases import clipped, condensed, quoted, relative
from leftoff.extract.shares import Shares
from leftoff.extract.state import Command, File, Prompt, Ref, Rule, State
from leftoff.model.entries import NOTHING_OPEN

_MOST_NEXT_STEPS = 14
_MOST_SPOKEN_OF = 16
_MOST_UNHEARD = 12
_GO_AHEAD = Caseless(
    r"(?:yes|yep|ok(?:ay)?|sure|continue|go(?: ahead| on)?|do it|please|thanks?|[ ,.!:)])+\Z",
)
_NEXT = Caseless(
    r"\b(?:next(?: step| up|,|:| I\b| we\b| is)|remaining|still (?:need|to do|open|pending|blocked)|left to do|to[- ]?do\b|want me to|would you like|shall I|should I|let me (?:know|now)|now (?:I|let me|I'll)"
    r"|I'll (?:now|next|then|start|go)|I'm (?:going to|now|about)|I need to|we need to|pending|follow-?up|placeholder|stub|not yet (?:done|implemented|tested|run|wired)|if you want|ready (?:to|for))\b",
)


class Entry(NamedTuple):
    """A line of critical context."""

    text: str
    refs: list[Ref]


class Named(NamedTuple):
    """A line of critical context that stands under a name."""

    name: str
    text: str
    refs: list[Ref]


def mission(state: State, shares: Shares) -> tuple[str, list[Ref]]:
    """What the user asked first, how the course changed, and what is being worked on."""
    asked = [prompt for prompt in state.prompts if not _GO_AHEAD.match(prompt.text)]
    if not asked:
        return "", []
    first, last = asked[0], asked[-1]
    parts = [f"The user first asked: {_quote(first, shares.first_prompt)}"]
    room = shares.mission - len(parts[0])
    now = f"The latest request: {_quote(last, shares.last_prompt)}" if last is not first else ""
    between, kept = [], [first]
    for prompt in reversed(asked[1:-1]):
        line = f"- {_quote(prompt, shares.prompt)}"
        if len(line) + len(now) > room:
            break
        room -= len(line) + 1
        between.append(line)
        kept.append(prompt)
    left_out = len(asked) - 2 - len(between)
    if between:
        head = (
            "Then, in this order:"
            if left_out <= 0
            else f"Then ({left_out} earlier requests left out), in this order:"
        )
        parts.append("\n".join([head, *reversed(between)]))
    if now:
        parts.append(now)
        kept.append(last)
    return "\n\n".join(parts), [prompt.ref for prompt in kept]


def _quote(prompt: Prompt, most: int) -> str:
    return quoted(words.own_words(prompt.text).strip() or prompt.text, most)


def next_steps(state: State, shares: Shares) -> list[tuple[str, list[Ref]]]:
    """The unfinished request, what the agent was about to do, open todos in their order, failures that stand."""
    steps = open_steps(state) or [*_nothing_open(state)]
    kept: dict[str, list[Ref]] = {}
    room = shares.next_steps
    for text, refs in steps[:_MOST_NEXT_STEPS]:
        room -= len(text)
        if room < 0 and kept:
            break
        kept[text] = refs
    return [*kept.items()]


def open_steps(state: State) -> list[tuple[str, list[Ref]]]:
    """All that is left to do; none: the work may be at its end."""
    return [*_unfinished(state), *_announced(state), *_open_todos(state), *_mending(state)]


def _unfinished(state: State) -> Iterator[tuple[str, list[Ref]]]:
    if not state.prompts:
        return
    last = state.prompts[-1]
    said = state.last_words
    is_over = said is not None and said.call == state.calls and not state.pending and said.turn == last.turn
    if not is_over:
        request = next((each for each in reversed(state.prompts) if not _GO_AHEAD.match(each.text)), last)
        yield f"Go on with the request that is not finished: {_quote(request, 400)}", [request.ref]
    for waiting in state.pending.values():
        yield f"A call was under way and has no answer: {waiting.tool}", [waiting.ref]


def _nothing_open(state: State) -> Iterator[tuple[str, list[Ref]]]:
    """Said aloud, so that nobody looks for what is not there."""
    if state.prompts and state.last_words is not None:
        last, said = state.prompts[-1], state.last_words
        answered = f"{_quote(last, 120)} was answered with {quoted(condensed(said.text, 160), 160)}"
        yield f"{NOTHING_OPEN}: {answered}", [last.ref, said.ref]


def _announced(state: State) -> Iterator[tuple[str, list[Ref]]]:
    """The agent's own last statement of what comes next."""
    said = state.last_words
    if said is None or said.turn != state.turns:
        return
    about = [sentence for sentence in words.sentences(said.text) if _NEXT.search(sentence)]
    if about:
        yield f"The agent's last word on it: {quoted(' '.join(about[-4:]), 600)}", [said.ref]
    elif said.call < state.calls or state.pending:
        yield f"The agent was at: {quoted(condensed(said.text, 300), 300)}", [said.ref]


def _open_todos(state: State) -> Iterator[tuple[str, list[Ref]]]:
    for status, word in (("in_progress", "In progress"), ("pending", "To do")):
        for todo in state.todos:
            if todo.status == status and todo.text:
                yield f"{word}: {clipped(todo.text, 200)}", [todo.ref]


def _mending(state: State) -> Iterator[tuple[str, list[Ref]]]:
    for command in standing_failures(state)[-4:]:
        why = f" → {quoted(command.failure, 140)}" if command.failure else ""
        yield f"Mend what fails: `{clipped(command.text, 140)}`{why}", command.refs


def exact_things(state: State, shares: Shares, told_files: set[str]) -> dict[str, list[Entry] | list[Named]]:
    """Rules first, then the exact text: where it happens, files, commands, ids. Names are told with their files."""
    mentioned = mentions.mentioned(state)
    return {
        "user_rules": _rules(state, shares),
        "where": _where(state),
        "files": _files(state, shares, told_files),
        "commands": _commands(state, shares),
        "ids_and_urls": _mentions(mentioned, ("url", "port", "issue"), state.calls, shares),
        "environment_variables": _mentions(mentioned, ("variable",), state.calls, shares),
    }


def _rules(state: State, shares: Shares) -> list[Entry]:
    """Every rule word for word; beyond the budget the oldest are named with their place."""
    texts = [_rule_told(rule, shares.question) for rule in state.rules]
    kept = worth.best(range(len(texts)), float, lambda number: texts[number], shares.rules)
    entries = [Entry(texts[number], [state.rules[number].ref]) for number in kept]
    left_out = [rule for number, rule in enumerate(state.rules) if number not in kept]
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


def _rule_told(rule: Rule, most: int) -> str:
    match rule.kind:
        case "answer":
            text = f"Asked {quoted(rule.about, most)}, the user answered: “{rule.text}”"
        case "plan_approved":
            text = f"The user approved the plan {quoted(rule.about, most)}"
        case "plan_rejected":
            text = f"The user did not accept the plan {quoted(rule.about, most)}" + (
                f": “{rule.text}”" if rule.text else ""
            )
        case "refusal":
            text = f"The user refused {clipped(rule.about, most)}" + (f": “{rule.text}”" if rule.text else "")
        case _:
            text = f"“{rule.text}”"
    return f"{text} (superseded by: “{rule.superseded_by}”)" if rule.superseded_by else text


def _where(state: State) -> list[Named]:
    found = {"project": (state.project, state.project_ref), "branch": (state.branch, state.branch_ref)}
    return [Named(name, text, [ref]) for name, (text, ref) in found.items() if text and ref is not None]


def _files(state: State, shares: Shares, told_files: set[str]) -> list[Named]:
    """Each file with the last thing done to it, the worthiest first; where room is short, none that is told elsewhere."""
    base, told = ("", set[str]()) if shares.has_full_paths else (state.project, told_files)
    opened = [
        Named(relative(file.path, base), _file_told(file), [file.ref.saying(file.path)])
        for file in by_worth(state)
        if file.path not in told
    ]
    # All files in one text, so that asking whether one of them ends so is one search; no path holds a NUL.
    known = "".join([f"/{path}\0" for path in state.files])
    unopened = (
        path for path in names.paths_in_play(state.glimpses) if f"/{path.text.lstrip('./')}\0" not in known
    )
    spoken_of = [
        Named(path.text, "spoken of, not opened", [path.ref.saying(path.text)])
        for path in islice(unopened, _MOST_SPOKEN_OF)
    ]
    return [*_first_of(opened, shares.files), *_first_of(spoken_of, shares.files // 3)]


def _first_of(entries: list[Named], chars: int) -> list[Named]:
    return worth.best(entries, lambda _: 0.0, lambda each: each.name + each.text, chars)


def by_worth(state: State) -> list[File]:
    """The files, those first that will be needed first."""
    return sorted(state.files.values(), key=lambda file: -worth.of_file(file, state.calls))


def _file_told(file: File) -> str:
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
    kept = worth.best(found, lambda each: worth.of_command(each, state.calls), _command_told, shares.commands)
    kept.sort(key=lambda each: -worth.of_command(each, state.calls))
    programs = {command.split(" ", 1)[0] for command in state.commands}
    unheard = [
        Entry(f"`{each.text}` → spoken of, not run", [each.ref.saying(each.text)])
        for each in names.commands_spoken_of(state.glimpses, programs)
        if each.text not in state.commands
    ]
    run = [Entry(_command_told(each), each.refs) for each in kept]
    return run + worth.best(
        unheard[:_MOST_UNHEARD], lambda _: 0.0, lambda each: each.text, shares.commands // 4
    )


def _command_told(command: Command) -> str:
    ended = f"exit {command.exit_code}"
    if command.exit_code is None:
        ended = {True: "failed", False: "worked", None: "end not known"}[command.failed]
    times = f", {command.runs} times" if command.runs > 1 else ""
    return f"`{command.text}` → {ended}{times}"


def _mentions(mentioned: list[Mention], kinds: tuple[str, ...], now: int, shares: Shares) -> list[Entry]:
    found = [mention for mention in mentioned if mention.kind in kinds]
    kept = worth.best(
        found,
        lambda each: each.uses * worth.recency(each.call, now),
        lambda each: each.text,
        shares.mentions,
    )
    return [Entry(each.text, [each.ref]) for each in reversed(kept)]
