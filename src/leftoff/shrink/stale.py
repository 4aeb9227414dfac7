"""The rules of smart-trim: why a call's result or input is no longer needed, and which of its lines still are.

Each rule is a function of one call, its age in calls and what came later; the first rule that applies decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from leftoff.core.actions import (
    Delegated,
    Fetched,
    Looked,
    Other,
    Planned,
    Proposed,
    Ran,
    Searched,
)
from leftoff.core.trim_plan import Piece
from leftoff.shrink.file_views import (
    FileText,
    Shingle,
    droppable_lines,
    file_history,
    lines_shown_in,
    shingles,
    without_line_number,
)
from leftoff.shrink.levels import Ages
from leftoff.shrink.placeholder import first_words
from leftoff.shrink.steps import (
    ConversationItem,
    Reach,
    Step,
    command_of,
    describe,
    does,
    identity_of,
    last_mentions,
    mentioning_text,
    near_names,
)

# Ages are in calls. All numbers were chosen on real sessions by what the next edits needed: docs/retention.md.
LAST_CALLS = 4  # never cut, however short the last turns are
_RECENT = 20  # names that these last calls mention matter
_FILE_HEAD_LINES = 15  # imports and other things at the top of a file
_OLD_SEARCH = 4
_OLD_OUTPUT = 4
_OLD_LISTING = 10  # of a command that shows files
_LONG_LINE = 400
OLDER_TODOS = "An older to-do list; a later one replaces it."
_SHORTEST_CHARS = 350  # less is not worth a note
_SAME_CHARS = 200

_PARTS_OF_LINE = re.compile(r".{1,100}(?!\w)|.{1,100}")  # cuts no name in two, if possible
_LINE_NUMBER = re.compile(r" *(\d+)(?:→|\t)")
_SHOWS_FILES = re.compile(
    r"(?:\A|[|;&(\s])(?:cat|sed -n|nl|bat|awk|git show|git diff)\b"
    r"|\A(?:cd [^;&|]+(?:&&|;) *)?(?:head|tail|rg|grep)\b"
)


class Stale(NamedTuple):
    """A piece that is no longer needed. ``note`` replaces it, together with the ``kept`` lines."""

    piece: Piece
    rationale: str
    note: str
    kept: tuple[tuple[int, str], ...] = ()


class Reason(NamedTuple):
    """What a rule says of a piece: the fields of ``Stale`` without the piece."""

    rationale: str
    note: str
    kept: tuple[tuple[int, str], ...] = ()


class LaterCalls:
    """What came later than the call that the rules look at. Calls are added from the newest to the oldest."""

    def __init__(self, conversation: Sequence[ConversationItem], ages: Ages) -> None:
        self.ages = ages
        pieces = (item.result_piece or item.input_piece for item in conversation if isinstance(item, Step))
        self.newest_turn = max((piece.turn for piece in pieces if piece), default=0)
        self.files = file_history(conversation)
        self.mentions = last_mentions(conversation)
        calls = [index for index, item in enumerate(conversation) if isinstance(item, Step)]
        self.calls_after = {index: len(calls) - 1 - number for number, index in enumerate(calls)}
        self.last_old = max(
            (index for index, after in self.calls_after.items() if after >= _RECENT), default=-1
        )
        self._lately = "\n".join(mentioning_text(item) for item in conversation[self.last_old + 1 :])
        self.shown: dict[str, set[Shingle]] = {}
        self.commands: dict[str, int] = {}  # → the line of its last result
        self.succeeded: set[tuple[str, str]] = set()
        self.texts: dict[str, int] = {}
        self.has_todos = False

    def names_lately(self, path: str) -> bool:
        """Whether the file was named in the last calls, other than in an edit."""
        return path.replace("\\", "/").rpartition("/")[2] in self._lately

    def add(self, index: int, step: Step) -> None:
        """Add a call that is later than all that the rules look at next."""
        for text in self.files.texts(index):
            self.shown.setdefault(text.path, set()).update(shingles(text.lines))
        self.has_todos = self.has_todos or (does(step, Planned) and not (step.answer and step.answer.failed))
        if step.answer is None or step.result_piece is None:
            return
        line = step.result_piece.place.line_idx + 1
        if step.succeeded:
            self.succeeded.add(identity_of(step))
        if command := command_of(step):
            self.commands.setdefault(command, line)
        if len(step.answer.text) >= _SAME_CHARS:
            self.texts.setdefault(step.answer.text.strip(), line)


class Call(NamedTuple):
    """The call that a rule looks at: its index in the conversation, its age in calls, and what came later."""

    call_index: int
    step: Step
    age: int
    later: LaterCalls

    @property
    def answer(self) -> str:
        """The text of the answer; empty without one."""
        return self.step.answer.text if self.step.answer else ""

    @property
    def what(self) -> str:
        """A short description of the call."""
        return describe(self.step)


def find_stale(index: int, step: Step, age: int, later: LaterCalls) -> Iterator[Stale]:
    """Yield what is no longer needed of a call: its result, its input, both or neither."""
    call = Call(index, step, age, later)
    result, given = step.result_piece, step.input_piece
    if result and result.chars >= _SHORTEST_CHARS and step.answer and not _holds_users_words(step):
        yield from _apply(_RESULT_RULES, call, result)
    if given and given.chars >= _SHORTEST_CHARS and step.succeeded:
        yield from _apply(_INPUT_RULES, call, given)


def _apply(rules: Sequence[_Rule], call: Call, piece: Piece) -> Iterator[Stale]:
    for rule in rules:
        if reason := rule(call):
            yield Stale(piece, *reason)
            return


def _holds_users_words(step: Step) -> bool:
    answer = step.answer
    return bool(
        answer and (answer.user_text or answer.chosen or answer.refused or answer.approved is not None)
    )


def _failed_then_passed(call: Call) -> Reason | None:
    answer = call.step.answer
    if not (answer and answer.failed) or identity_of(call.step) not in call.later.succeeded:
        return None
    return Reason("failed, and passed when it was tried again", f"{call.what}: failed; it passed later.")


def _stale_look(call: Call) -> Reason | None:
    """A look at a file: drop lines that were edited away, that a later text shows, or that were not mentioned lately."""
    later = call.later
    look = later.files.looks.get(call.call_index)
    if look is None:
        return None
    gone = later.files.gone(look)
    again = droppable_lines(lines_shown_in(look.lines, later.shown.get(look.path, set())), gone)
    idle = _idle_lines(look, later) if _is_old_look(call, look) else [False] * len(gone)
    kept = tuple(
        (at, line)
        for at, line in enumerate(look.shown)
        if not (gone[at] or again[at] or idle[at]) and (line.strip() or not idle[at])
    )
    why = _main_reason(
        look, gone, again, idle, edits=len(later.files.changes_since(look.path, call.call_index))
    )
    if why is None or len(kept) == len(look.shown):
        return None
    return Reason(why, f"{_range(look)}, {why}; read it again.", kept)


def _is_old_look(call: Call, look: FileText) -> bool:
    """Whether the look is old and the work has left the file.

    A file that is being changed is not left yet. The last calls decide that, which are never cut, so that it is the same for a copy.
    A file that was only read may be changed next: as a rule within the turn, which may be carrying out a plan.
    """
    later, piece = call.later, call.step.result_piece
    if since := later.files.changes_since(look.path, look.call_index):
        return call.age >= later.ages.changed_file and later.calls_after[since[-1][0]] >= LAST_CALLS
    old = later.ages.unchanged_file
    is_old = old is not None and call.age >= old and piece is not None and piece.turn < later.newest_turn
    return is_old and not later.names_lately(look.path)


def _idle_lines(text: FileText, later: LaterCalls) -> list[bool]:
    """Say which lines of a file nothing has mentioned lately."""
    near = near_names(text.lines, later.mentions, later.last_old, later.ages.near)
    return [not is_near and at >= _FILE_HEAD_LINES for at, is_near in enumerate(near)]


def _main_reason(
    look: FileText, gone: list[bool], again: list[bool], idle: list[bool], *, edits: int
) -> str | None:
    """Return the reason that applies to most lines; None if none applies."""
    times = "once" if edits == 1 else f"{edits} times"
    rewritten = bool(gone) and all(gone)
    reasons = {
        "written again since" if rewritten else f"edited {times} since": sum(gone),
        "shown again later": sum(again),
        f"not mentioned for {_RECENT} calls": sum(idle),
    }
    why, most = max(reasons.items(), key=lambda reason: reason[1])
    return why if most and look.shown else None


def _range(look: FileText) -> str:
    numbers = [found[1] for line in look.shown if (found := _LINE_NUMBER.match(line))]
    if numbers:
        return f"{look.path} lines {numbers[0]}-{numbers[-1]}"
    return f"{look.path}, {len(look.shown)} lines"


def _same_again(call: Call) -> Reason | None:
    text = call.answer.strip()
    if len(text) < _SAME_CHARS or text not in call.later.texts:
        return None
    return Reason("the same came back later", f"{call.what}: the same as in line {call.later.texts[text]}.")


def _run_again(call: Call) -> Reason | None:
    command = command_of(call.step)
    if not command or command not in call.later.commands:
        return None
    line = call.later.commands[command]
    return Reason("the command was run again", f"{call.what}: run again since, see line {line}.")


def _old_search(call: Call) -> Reason | None:
    if call.age < _OLD_SEARCH or not does(call.step, Searched | Fetched):
        return None
    lines = call.answer.count("\n") + 1
    return Reason(f"a search {call.age} calls ago", f"{call.what}: found {lines} lines; search again.")


class _Keep(NamedTuple):
    """Which lines of an old text to keep: those near names, and some at both ends. ``split`` divides one line into parts."""

    reach: Reach
    split: Callable[[str], Sequence[str]]
    head: int = 0
    tail: int = 0


def _whole(line: str) -> Sequence[str]:
    return (line,)


def _in_parts(line: str) -> Sequence[str]:
    """Split a long line: it may be a whole JSON document, and a name somewhere in it is no reason to keep all of it."""
    return _PARTS_OF_LINE.findall(line) if len(line) > _LONG_LINE else (line,)


_KEEP_OF_LISTING = _Keep(Reach(lines=8, most_lines=2), _whole)  # an edit may need any line of a file
_KEEP_OF_OUTPUT = _Keep(Reach(lines=1, most_lines=1), _in_parts, head=2, tail=6)
_KEEP_OF_REPORT = _Keep(Reach(lines=1, most_lines=3), _whole, head=2, tail=2)


def _old_listing(call: Call) -> Reason | None:
    """A command that shows files: keep the lines that were mentioned since."""
    if call.age < _OLD_LISTING or not _shows_files(call.step) or does(call.step, Looked):
        return None
    why = f"shown {call.age} calls ago; the lines left out were not mentioned since"
    return _keep_some(call, _KEEP_OF_LISTING, why)


def _old_output(call: Call) -> Reason | None:
    """The output of a command: keep both ends and what was mentioned since."""
    step = call.step
    if call.age < _OLD_OUTPUT or _shows_files(step) or (step.actions and not does(step, Ran)):
        return None
    return _keep_some(call, _KEEP_OF_OUTPUT, f"printed {call.age} calls ago")


def _old_report(call: Call) -> Reason | None:
    """The report of a subagent or a server: keep the lines that were mentioned since."""
    if call.age < call.later.ages.report or not does(call.step, Delegated | Other):
        return None
    why = f"reported {call.age} calls ago; the removed lines were not mentioned since"
    return _keep_some(call, _KEEP_OF_REPORT, why)


def _keep_some(call: Call, keep: _Keep, why: str) -> Reason:
    lines = call.answer.split("\n")
    parts = [part for line in lines for part in keep.split(line)]
    near = near_names(
        [without_line_number(part) for part in parts], call.later.mentions, call.call_index, keep.reach
    )
    kept = tuple(
        (at, part if near[at] else first_words(part, _LONG_LINE))
        for at, part in enumerate(parts)
        if near[at] or at < keep.head or at >= len(parts) - keep.tail
    )
    return Reason(why, f"{call.what}: {len(lines)} lines, {why}.", kept)


def _outdated_list(call: Call) -> Reason | None:
    if not call.later.has_todos or not does(call.step, Planned):
        return None
    return Reason("a later list of things to do replaces it", OLDER_TODOS)


def _repeated_plan(call: Call) -> Reason | None:
    plan = next((action.plan.strip() for action in call.step.actions if isinstance(action, Proposed)), "")
    if not plan or plan not in call.answer:
        return None
    return Reason("its answer repeats it", "A plan; the answer to it has it in full.")


def _old_task(call: Call) -> Reason | None:
    """What a subagent was asked to do: one line is enough once it has answered."""
    age = call.later.ages.task
    if age is None or call.age < age or not does(call.step, Delegated):
        return None
    why = f"a task given {call.age} calls ago, and answered"
    return Reason(why, f"{call.what}: {why}.")


def _old_write(call: Call) -> Reason | None:
    """An edit or a write: drop the text it replaced, and of the new text what is gone again or shown later."""
    later = call.later
    texts = later.files.written.get(call.call_index, ())
    if not texts:
        return None
    look = later.files.looks.get(call.call_index)
    kept: list[tuple[int, str]] = []
    for text in texts:
        gone = later.files.gone(text)
        after = later.shown.get(text.path, set())
        in_answer = {*shingles(look.lines)} if look and look.path == text.path else set()
        drop = droppable_lines(lines_shown_in(text.lines, after, in_answer), gone)
        if _is_left(call, text):
            idle = _idle_lines(text, later)
            drop = [shown or unnamed for shown, unnamed in zip(drop, idle, strict=True)]
        begins = kept[-1][0] + 2 if kept else 0
        kept += ((begins + at, line) for at, line in enumerate(text.lines) if not (gone[at] or drop[at]))
    return Reason(
        "what it replaced is gone; of what it wrote, the rest is shown after it or gone"
        if kept
        else "what it wrote is shown after it, or was written over",
        f"{texts[0].path}: written {call.age} calls ago; read it again.",
        tuple(kept),
    )


def _is_left(call: Call, text: FileText) -> bool:
    """Whether a text was written long ago, and its file neither named nor changed lately."""
    later = call.later
    if later.ages.written is None or call.age < later.ages.written or later.names_lately(text.path):
        return False
    since = later.files.changes_since(text.path, text.call_index)
    return not since or later.calls_after[since[-1][0]] >= LAST_CALLS


_Rule = Callable[[Call], Reason | None]
_RESULT_RULES: tuple[_Rule, ...] = (
    _failed_then_passed,
    _stale_look,
    _same_again,
    _run_again,
    _old_search,
    _old_listing,
    _old_output,
    _old_report,
)
_INPUT_RULES: tuple[_Rule, ...] = (_outdated_list, _repeated_plan, _old_task, _old_write)


def _shows_files(step: Step) -> bool:
    return bool(_SHOWS_FILES.search(command_of(step)))
