"""The rules of smart-trim: why a call's result or input is no longer needed, in words, and which of its lines still are.

Each rule is a function of one call, its age in calls, and what came later; the first that finds something wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from leftoff.model.actions import (
    Changed,
    Delegated,
    Fetched,
    Looked,
    Other,
    Planned,
    Proposed,
    Ran,
    Searched,
    Wrote,
)
from leftoff.model.copying import Piece
from leftoff.shrink import views
from leftoff.shrink.names import Reach, last_spoken_of, near_names
from leftoff.shrink.steps import Step, Told
from leftoff.shrink.views import FileText

# Ages are in calls. All numbers were chosen on real sessions by what the next edits stood on: docs/retention.md.
LAST_CALLS = 4  # never cut, however short the last turns were
_OLD_SEARCH = 4
_OLD_OUTPUT = 4
_OLD_SHOWING = 10  # a command that shows files
_OLD_LOOK = 20  # a look is old then, and a name that nothing has spoken of since then is past
_OLD_REPORT = 20
_NEAR = Reach(lines=30, most_lines=4)  # a rare name tells where the work is, and edits lie around it
_FILE_HEAD_LINES = 15  # imports and what else a file begins with
_LONG_LINE = 400
_SHORTEST_CHARS = 350  # less is not worth a note
_SAME_CHARS = 200

_PARTS_OF_LINE = re.compile(r".{1,100}(?!\w)|.{1,100}")  # where it can be, no name is cut in two
_LINE_NUMBER = re.compile(r" *(\d+)(?:→|\t)")
_SHOWS_FILES = re.compile(
    r"(?:\A|[|;&(\s])(?:cat|sed -n|nl|bat|awk|git show|git diff)\b"
    r"|\A(?:cd [^;&|]+(?:&&|;) *)?(?:head|tail|rg|grep)\b"
)


class Stale(NamedTuple):
    """One piece that is no longer needed. ``note`` is what stands there instead; ``kept`` are the lines that stay."""

    piece: Piece
    rationale: str
    note: str
    kept: tuple[tuple[int, str], ...] = ()


class _Keeping(NamedTuple):
    """Which lines of an old text stay: those near names, and so many at both ends; ``parts`` gives what counts as one line."""

    reach: Reach
    parts: Callable[[str], Sequence[str]]
    head: int = 0
    tail: int = 0


def _whole(line: str) -> Sequence[str]:
    return (line,)


def _in_parts(line: str) -> Sequence[str]:
    """One line may be a whole document, as JSON is: a name somewhere in it is no reason to keep all of it."""
    return _PARTS_OF_LINE.findall(line) if len(line) > _LONG_LINE else (line,)


_OF_SHOWING = _Keeping(Reach(lines=8, most_lines=2), _whole)  # an edit may stand on any line of a file
_OF_OUTPUT = _Keeping(Reach(lines=1, most_lines=1), _in_parts, head=2, tail=6)
_OF_REPORT = _Keeping(Reach(lines=1, most_lines=3), _whole, head=2, tail=2)


class Later:
    """What came later than the call in question."""

    def __init__(self, told: Sequence[Told]) -> None:
        self.files = views.files_of(told)
        self.spoken = last_spoken_of(told)
        self.calls_after = _calls_after(told)
        self.last_old = max(
            (order for order, after in self.calls_after.items() if after >= _OLD_LOOK), default=-1
        )
        self.shown: dict[str, set[views.Shingle]] = {}
        self.commands: dict[str, int] = {}  # → the line of its last result
        self.passed: set[tuple[str, str]] = set()
        self.texts: dict[str, int] = {}
        self.has_todos = False

    def add(self, order: int, step: Step) -> None:
        """A call that is later than all that follow."""
        for text in self.files.texts(order):
            self.shown.setdefault(text.path, set()).update(views.shingles(text.lines))
        self.has_todos = self.has_todos or any(isinstance(action, Planned) for action in step.actions)
        if step.answer is None or step.result is None:
            return
        line = step.result.place.line_idx + 1
        if step.passed:
            self.passed.add(_call(step))
        if command := _command(step):
            self.commands.setdefault(command, line)
        if len(step.answer.text) >= _SAME_CHARS:
            self.texts.setdefault(step.answer.text.strip(), line)


def found(order: int, step: Step, age: int, later: Later) -> Iterator[Stale]:
    """What of a call is no longer needed: its result, its input, both or neither."""
    answer = step.answer
    if step.result and step.result.chars >= _SHORTEST_CHARS and answer and not _holds_users_words(step):
        yield from _first(_RESULT_RULES, order, step, age, later)
    if step.given and step.given.chars >= _SHORTEST_CHARS and step.passed:
        yield from _first(_INPUT_RULES, order, step, age, later)


def _first(rules: Sequence[_Rule], order: int, step: Step, age: int, later: Later) -> Iterator[Stale]:
    for rule in rules:
        if each := rule(order, step, age, later):
            yield each
            return


def _holds_users_words(step: Step) -> bool:
    answer = step.answer
    return bool(answer and (answer.said or answer.chosen or answer.refused or answer.approved is not None))


def _failed_and_mended(order: int, step: Step, age: int, later: Later) -> Stale | None:  # noqa: ARG001
    if step.result is None or not (step.answer and step.answer.failed) or _call(step) not in later.passed:
        return None
    return Stale(
        step.result, "failed, and passed when it was tried again", f"{_said(step)}: failed; it passed later."
    )


def _stale_look(order: int, step: Step, age: int, later: Later) -> Stale | None:
    """Lines that were edited away, that a later text shows, or that nothing has spoken of lately."""
    look = later.files.looks.get(order)
    if look is None or step.result is None:
        return None
    gone = later.files.gone(look)
    again = views.without_seams(views.shown_in(look.lines, later.shown.get(look.path, set())), gone)
    is_past = age >= _OLD_LOOK and _has_been_left(look, later)
    idle = _idle(look, later) if is_past else [False] * len(gone)
    kept = tuple(
        (at, line)
        for at, line in enumerate(look.shown)
        if not (gone[at] or again[at] or idle[at]) and (line.strip() or not idle[at])
    )
    why = _why(look, gone, again, idle, edits=len(later.files.changes_since(look.path, order)))
    if why is None or len(kept) == len(look.shown):
        return None
    return Stale(step.result, why, f"{_range(look)}, {why}; read it again.", kept)


def _has_been_left(look: FileText, later: Later) -> bool:
    """Whether the work has changed the file since, and gone elsewhere: what was only read may be what it comes to next.

    Only changes that are never cut tell that it is still there, so that a copy tells the same.
    """
    since = later.files.changes_since(look.path, look.order)
    return bool(since) and later.calls_after[since[-1][0]] >= LAST_CALLS


def _idle(look: FileText, later: Later) -> list[bool]:
    near = near_names(look.lines, later.spoken, later.last_old, _NEAR)
    return [not is_near and at >= _FILE_HEAD_LINES for at, is_near in enumerate(near)]


def _why(look: FileText, gone: list[bool], again: list[bool], idle: list[bool], *, edits: int) -> str | None:
    """The reason that explains most lines; None when there is no line to explain."""
    times = "once" if edits == 1 else f"{edits} times"
    rewritten = bool(gone) and all(gone)
    reasons = {
        "written anew since" if rewritten else f"edited {times} since": sum(gone),
        "shown again later": sum(again),
        f"of which nothing has spoken for {_OLD_LOOK} calls": sum(idle),
    }
    why, most = max(reasons.items(), key=lambda reason: reason[1])
    return why if most and look.shown else None


def _range(look: FileText) -> str:
    numbers = [found[1] for line in look.shown if (found := _LINE_NUMBER.match(line))]
    if numbers:
        return f"{look.path} lines {numbers[0]}-{numbers[-1]}"
    return f"{look.path}, {len(look.shown)} lines"


def _run_again(order: int, step: Step, age: int, later: Later) -> Stale | None:  # noqa: ARG001
    command = _command(step)
    if step.result is None or not command or command not in later.commands:
        return None
    line = later.commands[command]
    return Stale(
        step.result, "the command was run again", f"{_said(step)}: run again since, see line {line}."
    )


def _same_again(order: int, step: Step, age: int, later: Later) -> Stale | None:  # noqa: ARG001
    text = _text(step).strip()
    if step.result is None or len(text) < _SAME_CHARS or text not in later.texts:
        return None
    return Stale(
        step.result, "the same came back later", f"{_said(step)}: the same as in line {later.texts[text]}."
    )


def _old_search(order: int, step: Step, age: int, later: Later) -> Stale | None:  # noqa: ARG001
    if step.result is None or age < _OLD_SEARCH or not _does(step, Searched | Fetched):
        return None
    lines = _text(step).count("\n") + 1
    return Stale(
        step.result, f"a search {age} calls ago", f"{_said(step)}: found {lines} lines; search again."
    )


def _old_showing(order: int, step: Step, age: int, later: Later) -> Stale | None:
    """A command that shows files: the lines stay that something has spoken of since."""
    if step.result is None or age < _OLD_SHOWING or not _shows_files(step) or _does(step, Looked):
        return None
    why = f"shown {age} calls ago; nothing has spoken of the lines left out"
    return _partly(step.result, order, step, later, _OF_SHOWING, why)


def _old_output(order: int, step: Step, age: int, later: Later) -> Stale | None:
    """What a command printed: its ends stay, and what something has spoken of since."""
    if (
        step.result is None
        or age < _OLD_OUTPUT
        or _shows_files(step)
        or (step.actions and not _does(step, Ran))
    ):
        return None
    return _partly(step.result, order, step, later, _OF_OUTPUT, f"printed {age} calls ago")


def _old_report(order: int, step: Step, age: int, later: Later) -> Stale | None:
    """What a subagent or a server told: the lines stay that something has spoken of since."""
    if step.result is None or age < _OLD_REPORT or not _does(step, Delegated | Other):
        return None
    why = f"told {age} calls ago; nothing has spoken of the lines left out"
    return _partly(step.result, order, step, later, _OF_REPORT, why)


def _partly(piece: Piece, order: int, step: Step, later: Later, keeping: _Keeping, why: str) -> Stale:
    lines = _text(step).split("\n")
    parts = [part for line in lines for part in keeping.parts(line)]
    near = near_names([views.plain(part) for part in parts], later.spoken, order, keeping.reach)
    kept = tuple(
        (at, part if near[at] else part[:_LONG_LINE])
        for at, part in enumerate(parts)
        if near[at] or at < keeping.head or at >= len(parts) - keeping.tail
    )
    return Stale(piece, why, f"{_said(step)}: {len(lines)} lines, {why}.", kept)


def _outdated_list(order: int, step: Step, age: int, later: Later) -> Stale | None:  # noqa: ARG001
    if step.given is None or not later.has_todos or not _does(step, Planned):
        return None
    return Stale(step.given, "a later list of things to do replaces it", "An older list of things to do.")


def _repeated_plan(order: int, step: Step, age: int, later: Later) -> Stale | None:  # noqa: ARG001
    plans = [action.plan.strip() for action in step.actions if isinstance(action, Proposed)]
    if (
        step.given is None
        or step.answer is None
        or not plans
        or not plans[0]
        or plans[0] not in step.answer.text
    ):
        return None
    return Stale(step.given, "its answer repeats it", "A plan; the answer to it has it in full.")


def _old_writing(order: int, step: Step, age: int, later: Later) -> Stale | None:
    """An edit or a writing: the text it replaced is gone, and of the new text what is gone again or shown after it.

    Some agents answer an edit with the lines as they are now: those stand there twice.
    """
    texts = later.files.written.get(order, ())
    if step.given is None or not texts:
        return None
    answer = later.files.looks.get(order)
    kept: list[tuple[int, str]] = []
    for text in texts:
        gone = later.files.gone(text)
        after = later.shown.get(text.path, set())
        now = {*views.shingles(answer.lines)} if answer and answer.path == text.path else set()
        spare = views.without_seams(views.shown_in(text.lines, after, now), gone)
        begins = kept[-1][0] + 2 if kept else 0
        kept += ((begins + at, line) for at, line in enumerate(text.lines) if not (gone[at] or spare[at]))
    return Stale(
        step.given,
        "what it replaced is gone; of what it wrote, the rest is shown after it or gone"
        if kept
        else "what it wrote is shown after it, or was written over",
        f"{texts[0].path}: written {age} calls ago; read it again.",
        tuple(kept),
    )


_Rule = Callable[[int, Step, int, Later], Stale | None]
_RESULT_RULES: tuple[_Rule, ...] = (
    _failed_and_mended,
    _stale_look,
    _same_again,
    _run_again,
    _old_search,
    _old_showing,
    _old_output,
    _old_report,
)
_INPUT_RULES: tuple[_Rule, ...] = (_outdated_list, _repeated_plan, _old_writing)


def _does(step: Step, kind: type | object) -> bool:
    return any(isinstance(action, kind) for action in step.actions)  # type: ignore[arg-type]


def _shows_files(step: Step) -> bool:
    command = _command(step)
    return bool(command and _SHOWS_FILES.search(command))


def _command(step: Step) -> str:
    command = next((action.command for action in step.actions if isinstance(action, Ran)), "")
    return " ".join(command.split())


def _call(step: Step) -> tuple[str, str]:
    """What a call that is tried again is known by: the command, or the file it is about."""
    for action in step.actions:
        match action:
            case Changed(path=about) | Wrote(path=about) | Looked(path=about) | Searched(pattern=about):
                return step.tool, about
            case _:
                pass
    return step.tool, _command(step) or step.words


def _said(step: Step) -> str:
    """What the call was, in a few words."""
    for action in step.actions:
        match action:
            case Ran(command=words) | Fetched(what=words) | Delegated(task=words) | Looked(path=words):
                return _short(words)
            case Searched(pattern=words, path=path):
                return _short(f"{words} in {path}" if path else words)
            case _:
                pass
    return _short(step.words) or step.tool


def _text(step: Step) -> str:
    return step.answer.text if step.answer else ""


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= 80 else f"{line[:79]}…"


def _calls_after(told: Sequence[Told]) -> dict[int, int]:
    calls = [order for order, each in enumerate(told) if isinstance(each, Step)]
    return {order: len(calls) - 1 - number for number, order in enumerate(calls)}
