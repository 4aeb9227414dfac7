"""The session history of a resume state: one generated entry for each session, and the counts that follow from them.

What is counted stands with the entry (``tasks=8 compactions=1``), so that telling it twice counts it once, on any machine. An
entry that a person edits is theirs; its numbers are counted on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from leftoff.model.values import dataclass
from leftoff.projects import blocks, body, telling
from leftoff.projects.blocks import Block
from leftoff.projects.document import Document
from leftoff.projects.facts import Facts
from leftoff.projects.steps import Steps
from leftoff.projects.telling import NOTE
from leftoff.projects.values import FLAGS, State

PREFIX = "session."
_HISTORY = re.compile(rf"## +{body.HISTORY}[ \t#]*")
_MOST_DECISIONS = 5
_CURRENT = re.compile(r"^(### Session \d+) \(Current\):")


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """What one session did, as far as its transcript says; None where nobody knows."""

    agent: str
    session_id: str
    used_tokens: int | None = None
    usable_tokens: int | None = None
    compactions: int | None = None
    decisions: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    is_over: bool = False

    @property
    def block(self) -> str:
        """The name of its entry."""
        return f"{PREFIX}{self.agent}.{self.session_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """How the project stood when the session began to work on it, as its entry remembers."""

    number: int
    day: str
    task: str
    done: int
    sections: frozenset[str]
    flags: frozenset[str]
    compactions: int


def counted(document: Document, state: State, worked: Worked) -> State:
    """The counts with this session in them; a compaction that was counted before counts once."""
    known = blocks.found_in(document.text).get(worked.block)
    before = _whole(known.attributes, "compactions") if known is not None else 0
    more = max(0, (worked.compactions or 0) - before)
    meta = state.metadata
    return replace(
        state,
        metadata=replace(
            meta,
            session_count=(meta.session_count or 0) + (known is None),
            compaction_count=(meta.compaction_count or 0) + more,
            total_tokens_approx=meta.total_tokens_approx
            if worked.used_tokens is None
            else worked.used_tokens,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """From what the state said to what it says now, and when."""

    before: State
    after: State
    facts: Facts
    at: datetime


def told(document: Document, step: Step, worked: Worked, notes: tuple[str, ...]) -> Document:
    """The document with the entry of this session; it alone is called the current one."""
    found = blocks.found_in(document.text)
    known = found.get(worked.block)
    start = _started(step) if known is None else _remembered(known)
    attributes = _attributes(start, worked)
    content = _entry(known, start, step, worked, notes)
    for name, block in found.items():
        if name.startswith(PREFIX) and name != worked.block and block.is_ours:
            document = document.with_block(name, _CURRENT.sub(r"\1:", block.content))
    if known is None:
        return _appended(document, worked.block, content, attributes)
    if not known.content and known.is_ours:
        content = ""  # counted only: its place was taken out
    if not known.is_ours:  # the words are a person's, the numbers beside them are ours
        return document.with_text(lambda text: blocks.renumbered(text, worked.block, attributes))
    return document.with_block(worked.block, content, attributes)


def untold(document: Document, worked: Worked | None, notes: tuple[str, ...]) -> list[str]:
    """The notes that stand in no entry of the session: there is none, or a person has edited it."""
    entry = None if worked is None else blocks.found_in(document.text).get(worked.block)
    has_them = entry is not None and entry.is_ours and bool(entry.content)
    return [] if has_them else [*notes]


def ended(document: Document) -> Document:
    """The document in which no session is the current one any more."""
    for name, block in blocks.found_in(document.text).items():
        if name.startswith(PREFIX) and block.is_ours:
            document = document.with_block(name, _CURRENT.sub(r"\1:", block.content))
    return document


def knows(document: Document, agent: str, session_id: str) -> bool:
    """Whether a session has worked on this project."""
    return f"{PREFIX}{agent}.{session_id}" in blocks.found_in(document.text)


def _started(step: Step) -> _Start:
    """As the state stood before: what a session has done is often the first that we hear of it."""
    before, tasks = step.before, step.facts.steps
    number, section = before.execution.next_task_number, before.execution.current_section
    numbers = [each.number for each in tasks.sections]
    earlier = map(str, numbers[: numbers.index(section)] if section in numbers else [])
    return _Start(
        number=step.after.metadata.session_count or 1,
        day=f"{step.at:%Y-%m-%d}",
        task=str(number) if number is not None else "none",
        done=before.execution.progress_tasks_completed or 0,
        sections=frozenset(earlier),
        flags=frozenset(flag for flag in FLAGS if getattr(before.planning, flag)),
        compactions=0,
    )


def _remembered(known: Block) -> _Start:
    said = known.attributes
    return _Start(
        number=_whole(said, "number") or 1,
        day=said.get("day", ""),
        task=said.get("task", "none"),
        done=_whole(said, "tasks"),
        sections=frozenset(said.get("sections", "none").split(".")),
        flags=frozenset(said.get("flags", "none").split(".")),
        compactions=_whole(said, "compactions"),
    )


def _attributes(start: _Start, worked: Worked) -> dict[str, str]:
    return {
        "number": str(start.number),
        "day": start.day,
        "task": start.task,
        "tasks": str(start.done),
        "sections": ".".join(sorted(start.sections - {"none"})) or "none",
        "flags": ".".join(sorted(start.flags - {"none"})) or "none",
        "compactions": str(max(start.compactions, worked.compactions or 0)),
    }


def _entry(known: Block | None, start: _Start, step: Step, worked: Worked, notes: tuple[str, ...]) -> str:
    kept = (
        [line.removeprefix("- ") for line in known.content.split("\n") if NOTE in line[:10]] if known else []
    )
    new = [f"{NOTE}{telling.words(each)}" for each in notes]
    title = (step.after.location.current_phase or "research").capitalize()
    lines = [*_happened(start, step.after, step.facts, worked), *dict.fromkeys([*kept, *new])]
    return telling.session_entry(start.number, title, start.day, lines, is_current=not worked.is_over)


def _happened(start: _Start, state: State, facts: Facts, worked: Worked) -> Iterator[str]:
    if start.task != "none":
        yield f"{'Resumed' if start.number > 1 else 'Began'} at Task {start.task}"
    if new := [flag for flag in FLAGS if getattr(state.planning, flag) and flag not in start.flags]:
        yield f"Completed {', '.join(new)}"
    yield from _finished(start, facts.steps)
    for each in worked.decisions[:_MOST_DECISIONS]:
        yield f"Decided: {telling.words(each)}"
    if worked.compactions:
        yield f"The conversation was compacted {'once' if worked.compactions == 1 else f'{worked.compactions} times'}"
    if state.next_action:
        yield f"Next: {telling.words(state.next_action)}"


def _finished(start: _Start, tasks: Steps) -> Iterator[str]:
    if tasks.done > start.done:
        count = tasks.done - start.done
        yield f"Completed {count} task{'s' * (count != 1)} ({tasks.done}/{tasks.total})"
    for section in tasks.sections:
        if section.is_complete and str(section.number) not in start.sections:
            yield f"Completed {telling.section_line(section)} ({len(section.counted)} tasks)"


def _appended(document: Document, name: str, content: str, attributes: Mapping[str, str]) -> Document:
    """At the end of the session history, or behind the last entry; where a person took all of it out, only its numbers."""
    text = document.text
    at = _end_of_history(text, len(text) - len(document.body))
    last = [block.end for each, block in blocks.found_in(text).items() if each.startswith(PREFIX)]
    if at is None and not last:
        entry = blocks.in_line_ends_of(text, f"\n{blocks.written(name, '', attributes)}")
        return document.with_text(lambda whole: whole + entry)
    place = at if at is not None else max(last)
    entry = blocks.in_line_ends_of(text, f"\n\n{blocks.written(name, content, attributes)}\n")
    return document.with_text(lambda whole: whole[:place].rstrip("\r\n") + entry + whole[place:])


def _end_of_history(text: str, start: int) -> int | None:
    """Where the section ends, as a reader sees it: a rule in a code block is none. None where there is no such section."""
    is_inside = False
    for line in body.lines_outside_code(text, start):
        if is_inside and (line.text.rstrip() == "---" or line.text.startswith("## ")):
            return line.at
        is_inside = is_inside or _HISTORY.fullmatch(line.text) is not None
    return len(text) if is_inside else None


def _whole(attributes: Mapping[str, str], key: str) -> int:
    said = attributes.get(key, "0")
    return int(said) if said.isdecimal() and len(said) < 10 else 0
