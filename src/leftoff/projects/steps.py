"""The check-boxes of a ``steps.md``: its tasks, sections and progress, and ticking tasks in place.

Boxes in code and in HTML comments are no tasks. ``[-]`` is an abandoned task, neither open nor counted. Ticking changes one
character for each box and nothing else. Tasks are numbered from 1 through the whole document, sub-tasks included.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from leftoff.core.quantities import count
from leftoff.errors import NotFoundError, UsageError
from leftoff.projects.body import WHOLE_LINE

Mark = Literal["open", "done", "given_up"]
_BOX = re.compile(
    r"(?P<quote>(?:[ \t]*>)*)(?P<indent>[ \t]*)(?:[-+*]|\d{1,9}[.)])[ \t]+\[(?P<mark>[ xX-])\][ \t]+(?P<text>\S.*)"
)
_ITEM = re.compile(r"(?:(?:[ \t]*>)+ ?)?(?P<indent>[ \t]*)(?:[-+*]|\d{1,9}[.)])[ \t]")
_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})[ \t]+(?P<text>.*?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)?(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_NUMBERED = re.compile(
    r"(?:section|phase|part|step|stage|milestone)\s+(?P<number>\d{1,4})\b[\s:.\u2013\u2014-]*(?P<rest>.*)",
    re.IGNORECASE,
)
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_CODE_SPAN = re.compile(r"`[^`]*`")
_MARKS: dict[str, Mark] = {" ": "open", "x": "done", "X": "done", "-": "given_up"}
_CODE_INDENT = 4
_TASKS = re.compile(r"(\d{1,5})(?:\s*[-\u2013]\s*(\d{1,5}))?")


class Task(NamedTuple):
    """One check-box. ``at`` is the position of its mark in the text, ``depth`` how deep it is nested."""

    number: int
    text: str
    mark: Mark
    depth: int
    parent: int  # the number of the task that it is part of; 0 for none
    section: int  # the number of its section; 0 before the first section
    line: int  # 1-based
    at: int


class Section(NamedTuple):
    """A heading with tasks below it."""

    number: int
    name: str
    tasks: tuple[Task, ...]

    @property
    def counted(self) -> list[Task]:
        """The tasks that were not abandoned."""
        return [task for task in self.tasks if task.mark != "given_up"]

    @property
    def done(self) -> int:
        """The number of tasks that are done."""
        return sum(task.mark == "done" for task in self.tasks)

    @property
    def is_complete(self) -> bool:
        """Whether no task is open."""
        return all(task.mark != "open" for task in self.tasks)


class Steps(NamedTuple):
    """All tasks in order, and the sections that contain them."""

    tasks: tuple[Task, ...] = ()
    sections: tuple[Section, ...] = ()

    @property
    def total(self) -> int:
        """The number of tasks that were not abandoned."""
        return sum(task.mark != "given_up" for task in self.tasks)

    @property
    def done(self) -> int:
        """The number of tasks that are done."""
        return sum(task.mark == "done" for task in self.tasks)

    @property
    def percentage(self) -> int:
        """The share of tasks that are done, rounded down, so that 100 means finished."""
        return 100 * self.done // self.total if self.total else 0

    @property
    def next(self) -> Task | None:
        """The first open task of all."""
        return self.next_task(None)

    def next_task(self, section: int | None) -> Task | None:
        """Return the first open task of the section, else of all; for a task with open sub-tasks, the first of those."""
        parents: set[int] = set()  # tasks with an open sub-task
        for task in reversed(self.tasks):
            if task.parent and (task.mark == "open" or task.number in parents):
                parents.add(task.parent)
        open_tasks = [task for task in self.tasks if task.mark == "open" and task.number not in parents]
        first = next(iter(open_tasks), None)
        return next((task for task in open_tasks if task.section == section), first)

    def section(self, number: int) -> Section | None:
        """Return the section with that number; None if none exists."""
        return next((section for section in self.sections if section.number == number), None)

    def require_section(self, number: int) -> Section:
        """Return the section with that number; raise NotFoundError with those that exist."""
        section = self.section(number)
        if section is None:
            known = ", ".join(f"{each.number}: {each.name}" for each in self.sections)
            hint = (
                f"There are: {known}." if known else "steps.md has no sections yet: write them there first."
            )
            raise NotFoundError(f"There is no section {number}. {hint}")
        return section


def parse_steps(text: str) -> Steps:
    """Return the tasks of a document."""
    lines = [*_lines(text)]
    level = _section_level(lines)
    boxes: list[_Box] = []
    headings: list[str] = []  # of the sections, in order
    around: list[tuple[int, int]] = []  # the list items around the line: indent, and task number or 0
    for line in lines:
        if line.heading is not None:
            around = []
            if line.heading[0] == level:
                headings.append(line.heading[1])
            elif line.heading[0] < level:
                headings.append("")  # what follows is in no section of that level
        elif line.item is not None:
            around = [each for each in around if each[0] < line.item]
            number = 0
            if line.box is not None:
                number = len(boxes) + 1
                parent = next((task for _, task in reversed(around) if task), 0)
                boxes.append(_Box(line, line.box, len(around), parent, len(headings)))
            around.append((line.item, number))
    return _build_steps(boxes, headings)


def tick(text: str, numbers: Iterable[int]) -> str:
    """Return the text with these tasks and their sub-tasks ticked; abandoned ones stay abandoned."""
    found = parse_steps(text).tasks
    wanted = {*numbers}
    if unknown := sorted(wanted - {task.number for task in found}):
        raise NotFoundError(f"There is no task {unknown[0]}: the steps have {count(len(found), 'task')}.")
    for task in found:  # a sub-task comes after its parent
        if task.parent in wanted:
            wanted.add(task.number)
    marks = [task.at for task in found if task.number in wanted and task.mark == "open"]
    if not marks:
        return text
    pieces = [text[one:other] for one, other in pairwise([0, *(at + 1 for at in marks), len(text)])]
    return "".join([*(f"{piece[:-1]}x" for piece in pieces[:-1]), pieces[-1]])


def parse_task_numbers(selection: str) -> list[int]:
    """Return the numbers that a selection such as ``1-5,8`` names; raise UsageError for anything else."""
    found: list[int] = []
    for part in selection.split(","):
        match = _TASKS.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if match is None or first > last or first == 0:
            raise UsageError(f"{selection[:40]!r} names no tasks. Say for example: 3, 1-5 or 1-5,8.")
        found += range(first, last + 1)
    return found


def _build_steps(boxes: Sequence[_Box], headings: Sequence[str]) -> Steps:
    used = sorted({box.place for box in boxes if box.place and headings[box.place - 1]})
    numbered = {place: _NUMBERED.match(headings[place - 1]) for place in used}
    number_of = _section_numbers(numbered)
    tasks = [_task(box, number, number_of.get(box.place, 0)) for number, box in enumerate(boxes, 1)]
    tasks_of: dict[int, list[Task]] = {}
    for task, box in zip(tasks, boxes, strict=True):
        tasks_of.setdefault(box.place, []).append(task)
    sections = [
        Section(
            number=number_of[place],
            name=(match["rest"] if match and match["rest"] else headings[place - 1]),
            tasks=tuple(tasks_of[place]),
        )
        for place, match in numbered.items()
    ]
    return Steps(tasks=tuple(tasks), sections=tuple(sections))


def _section_numbers(numbered: Mapping[int, re.Match[str] | None]) -> dict[int, int]:
    """Return the number of each section: from its heading, else the next free one; by order if two are the same."""
    own = {place: int(match["number"]) for place, match in numbered.items() if match is not None}
    if len({*own.values()}) < len(own):
        own = {}
    free = itertools.count(max(own.values(), default=0) + 1)
    return {place: own[place] if place in own else next(free) for place in numbered}


class _Line(NamedTuple):
    """A line outside code and comments. ``item`` is the indent of a list item, None for other lines."""

    number: int
    start: int
    heading: tuple[int, str] | None = None
    item: int | None = None
    box: re.Match[str] | None = None


class _Box(NamedTuple):
    """A check-box with its surroundings; ``place`` is the number of section headings before it."""

    line: _Line
    match: re.Match[str]
    depth: int
    parent: int
    place: int


def _lines(text: str) -> Iterator[_Line]:
    """Yield headings and list items; an item indented like code counts only inside a list."""
    in_list, above = False, ""  # above: the line before, if it can be the text of an underlined heading
    for number, start, line in _outside_code(text):
        item = _ITEM.match(line)
        heading = _heading(line, above)
        above = "" if heading or item or in_list else line.strip()
        if heading is not None:
            in_list = False
            yield _Line(number=number, start=start, heading=heading)
        elif item and (in_list or len(item["indent"].expandtabs(_CODE_INDENT)) < _CODE_INDENT):
            in_list = True
            indent = len(item["indent"].expandtabs(_CODE_INDENT))
            yield _Line(number=number, start=start, item=indent, box=_BOX.match(line))
        elif line.strip() and not line[0].isspace():
            in_list, above = False, line.strip()


def _heading(line: str, above: str) -> tuple[int, str] | None:
    """Return the level and the text of a heading that ends with this line."""
    if match := _HEADING.match(line):
        return len(match["level"]), match["text"]
    if above and (underline := _UNDERLINE.fullmatch(line)):
        return (1 if underline[1][0] == "=" else 2), above
    return None


def _outside_code(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield each line that is in no code fence and no comment: its number, its position, its text."""
    fence, in_comment, at, is_quoted = "", False, 0, False
    for number, whole in enumerate(WHOLE_LINE.findall(text), 1):
        line, start = whole.rstrip("\r\n"), at
        at += len(whole)
        if fence and is_quoted and not line.lstrip().startswith(">"):
            fence = ""  # the end of a quote closes its fences
        if fence:
            fence = "" if _closes_fence(line, fence) else fence
        elif in_comment:
            in_comment = "-->" not in line
        elif found := _FENCE.match(line):
            fence, is_quoted = found["fence"], line.lstrip().startswith(">")
        else:
            in_comment = _opens_comment(line)
            if not line.lstrip().startswith("<!--") or not in_comment:
                yield number, start, line


def _opens_comment(line: str) -> bool:
    """Return whether a comment begins in the line and does not end in it; one inside a code span is no comment."""
    if "<!--" not in line:
        return False
    last = _CODE_SPAN.sub("", line).rpartition("<!--")
    return bool(last[1]) and "-->" not in last[2]


def _closes_fence(line: str, fence: str) -> bool:
    mark = line.strip(" \t>")
    return len(mark) >= len(fence) and not mark.strip(fence[0])


def _section_level(lines: Sequence[_Line]) -> int:
    """Return the heading level that divides the tasks: the highest with two headings, else the deepest with any."""
    owners: dict[int, set[int]] = {}
    path: dict[int, int] = {}
    for line in lines:
        if line.heading is not None:
            path = {level: at for level, at in path.items() if level < line.heading[0]}
            path[line.heading[0]] = line.number
        elif line.box is not None:
            for level, at in path.items():
                owners.setdefault(level, set()).add(at)
    divided = [level for level in sorted(owners) if len(owners[level]) > 1]
    return divided[0] if divided else max(owners, default=0)


def _task(box: _Box, number: int, section: int) -> Task:
    return Task(
        number=number,
        text=box.match["text"].strip(),
        mark=_MARKS[box.match["mark"]],
        depth=box.depth,
        parent=box.parent,
        section=section,
        line=box.line.number,
        at=box.line.start + box.match.start("mark"),
    )
