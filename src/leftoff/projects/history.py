"""The session history of a resume state: one generated entry for each session, and what a session did for a project.

What was counted is stored with the entry (``tasks=8 compactions=1``), so that recording a session again counts it once, on any
machine. An entry that a person edits is theirs; only its numbers are updated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from leftoff.core.quantities import count
from leftoff.extraction.sections import render as render_sections
from leftoff.extraction.state import State as Extraction
from leftoff.projects import body, render
from leftoff.projects.body import Block
from leftoff.projects.document import Document
from leftoff.projects.layout import Home
from leftoff.projects.progress import Facts
from leftoff.projects.project_state import FLAGS, State
from leftoff.projects.render import NOTE
from leftoff.projects.steps import Steps
from leftoff.sessions.facts import extract_facts
from leftoff.workspace import SessionRef, Workspace

PREFIX = "session."
_HISTORY = re.compile(rf"## +{body.HISTORY}[ \t#]*")
_COPIES = {"trimmed", "forked"}  # derivations that repeat the records of the parent
_MOST_SECTIONS = 5
_CURRENT = re.compile(r"^(### Session \d+) \(Current\):")
_MOST_FILES = 40
_NONE: Mapping[str, Block] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionWork:
    """What one session did, according to its transcript. None means not known."""

    agent: str
    session_id: str
    used_tokens: int | None = None
    usable_tokens: int | None = None
    compactions: int | None = None
    decisions: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    is_over: bool = False
    copied_from: str | None = (
        None  # the session whose records it repeats: it is a trimmed copy or a fork of that
    )

    @property
    def block(self) -> str:
        """The name of its block in the history."""
        return f"{PREFIX}{self.agent}.{self.session_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """The state of the project when the session began to work on it, as its entry stores it."""

    number: int
    day: str
    task: str
    done: int
    sections: frozenset[str]
    flags: frozenset[str]
    compactions: int


def count_session(
    document: Document, state: State, work: SessionWork, moved: Mapping[str, Block] = _NONE
) -> State:
    """Return the state with this session and its compactions counted; what was counted before counts once.

    ``moved`` are entries in the history file. A copy repeats the compactions of the session that it was made from.
    """
    blocks = {**moved, **body.find_blocks(document.text)}
    known = blocks.get(work.block)
    counted = known or blocks.get(f"{PREFIX}{work.agent}.{work.copied_from}")
    before = _int_attribute(counted.attributes, "compactions") if counted is not None else 0
    more = max(0, (work.compactions or 0) - before)
    meta = state.metadata
    return state._replace(
        metadata=meta._replace(
            session_count=(meta.session_count or 0) + (known is None),
            compaction_count=(meta.compaction_count or 0) + more,
            total_tokens_approx=meta.total_tokens_approx if work.used_tokens is None else work.used_tokens,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """A change of the state: before, after, the facts, and when."""

    before: State
    after: State
    facts: Facts
    at: datetime


def record_session(
    document: Document,
    step: StateChange,
    work: SessionWork,
    notes: tuple[str, ...],
    moved: Mapping[str, Block] = _NONE,
) -> Document:
    """Add or update the entry of this session, and mark it alone as the current one; one that was moved comes back."""
    known = body.find_blocks(document.text).get(work.block)
    earlier = known or moved.get(work.block)
    start = _start_of(step) if earlier is None else _start_in_entry(earlier)
    attributes = _attributes(start, work)
    content = _entry(earlier, start, step, work, notes)
    document = end_sessions(document, except_block=work.block)
    if known is None:
        return _append_entry(document, work.block, content, attributes)
    if not known.content and known.is_unedited:
        content = ""  # a person removed the history; the entry holds only numbers
    if not known.is_unedited:
        return document.with_text(lambda text: body.replace_attributes(text, work.block, attributes))
    return document.with_block(work.block, content, attributes)


def notes_without_entry(document: Document, work: SessionWork | None, notes: tuple[str, ...]) -> list[str]:
    """Return the notes that the entry of the session does not hold: it has no entry, or a person has edited it."""
    entry = None if work is None else body.find_blocks(document.text).get(work.block)
    has_them = entry is not None and entry.is_unedited and bool(entry.content)
    return [] if has_them else [*notes]


def end_sessions(document: Document, except_block: str | None = None) -> Document:
    """Mark no session as the current one, apart from that of ``except_block``."""
    for name, block in body.find_blocks(document.text).items():
        if name.startswith(PREFIX) and name != except_block and block.is_unedited:
            document = document.with_block(name, as_ended(block.content))
    return document


def as_ended(entry: str) -> str:
    """Return an entry that is not marked as the current one."""
    return _CURRENT.sub(r"\1:", entry)


def has_session(document: Document, agent: str, session_id: str) -> bool:
    """Return whether the history has an entry for the session."""
    return f"{PREFIX}{agent}.{session_id}" in body.find_blocks(document.text)


def _start_of(step: StateChange) -> _Start:
    """Return the state before the change: often a session is recorded only after it has done something."""
    before, tasks = step.before, step.facts.steps
    number, section = before.execution.next_task_number, before.execution.current_section
    numbers = [each.number for each in tasks.sections]
    before_it = tasks.sections[: numbers.index(section)] if section in numbers else ()
    # After a jump, a section before the current one may still be open.
    earlier = (str(each.number) for each in before_it if each.is_complete)
    return _Start(
        number=step.after.metadata.session_count or 1,
        day=f"{step.at:%Y-%m-%d}",
        task=str(number) if number is not None else "none",
        done=before.execution.progress_tasks_completed or 0,
        sections=frozenset(earlier),
        flags=frozenset(flag for flag in FLAGS if getattr(before.planning, flag)),
        compactions=0,
    )


def _start_in_entry(known: Block) -> _Start:
    stored = known.attributes
    return _Start(
        number=_int_attribute(stored, "number") or 1,
        day=stored.get("day", ""),
        task=stored.get("task", "none"),
        done=_int_attribute(stored, "tasks"),
        sections=frozenset(stored.get("sections", "none").split(".")),
        flags=frozenset(stored.get("flags", "none").split(".")),
        compactions=_int_attribute(stored, "compactions"),
    )


def _attributes(start: _Start, work: SessionWork) -> dict[str, str]:
    return {
        "number": str(start.number),
        "day": start.day,
        "task": start.task,
        "tasks": str(start.done),
        "sections": ".".join(sorted(start.sections - {"none"})) or "none",
        "flags": ".".join(sorted(start.flags - {"none"})) or "none",
        "compactions": str(max(start.compactions, work.compactions or 0)),
    }


def _entry(
    known: Block | None, start: _Start, step: StateChange, work: SessionWork, notes: tuple[str, ...]
) -> str:
    kept = (
        [line.removeprefix("- ") for line in known.content.split("\n") if NOTE in line[:10]] if known else []
    )
    new = [f"{NOTE}{render.short_line(each)}" for each in notes]
    title = (step.after.location.current_phase or "research").capitalize()
    lines = [*_entry_lines(start, step.after, step.facts, work), *dict.fromkeys([*kept, *new])]
    return render.session_entry(start.number, title, start.day, lines, is_current=not work.is_over)


def _entry_lines(start: _Start, state: State, facts: Facts, work: SessionWork) -> Iterator[str]:
    if start.task != "none":
        yield f"{'Resumed' if start.number > 1 else 'Began'} at Task {start.task}"
    if new := [flag for flag in FLAGS if getattr(state.planning, flag) and flag not in start.flags]:
        yield f"Completed {', '.join(new)}"
    yield from _finished_lines(start, facts.steps)
    if work.compactions:
        yield f"The conversation was compacted {'once' if work.compactions == 1 else f'{work.compactions} times'}"
    if state.next_action:
        yield f"Next: {render.short_line(state.next_action)}"


def _finished_lines(start: _Start, tasks: Steps) -> Iterator[str]:
    if tasks.done > start.done:
        yield f"Completed {count(tasks.done - start.done, 'task')} ({tasks.done}/{tasks.total})"
    new = [each for each in tasks.sections if each.is_complete and str(each.number) not in start.sections]
    for section in new[:_MOST_SECTIONS]:
        yield f"Completed {render.section_line(section)} ({count(len(section.counted), 'task')})"
    if len(new) > _MOST_SECTIONS:
        yield f"Completed {count(len(new) - _MOST_SECTIONS, 'more section')}"


def _append_entry(document: Document, name: str, content: str, attributes: Mapping[str, str]) -> Document:
    """Add an entry to the history; only its numbers if a person removed that with all entries."""
    text, start = document.text, len(document.text) - len(document.body)
    is_removed = _end_of_history(text, start) is None and _end_of_entries(text) is None
    entry = body.render_block(name, "" if is_removed else content, attributes)
    return document.with_text(lambda whole: insert_entry(whole, start, entry))


def insert_entry(text: str, start: int, entry: str) -> str:
    """Insert a block at the end of the history, or after the last entry; without both, at the end of the text."""
    at = _end_of_history(text, start)
    place = at if at is not None else _end_of_entries(text)
    if place is None:
        return text + body.match_line_ends(text, f"\n{entry}")
    return text[:place].rstrip("\r\n") + body.match_line_ends(text, f"\n\n{entry}\n") + text[place:]


def _end_of_entries(text: str) -> int | None:
    return max(
        (block.end for name, block in body.find_blocks(text).items() if name.startswith(PREFIX)), default=None
    )


def _end_of_history(text: str, start: int) -> int | None:
    """Return where the history section ends; None if there is no such section. A rule in a code block does not end it."""
    is_inside = False
    for line in body.lines_outside_code(text, start):
        if is_inside and (line.text.rstrip() == "---" or line.text.startswith("## ")):
            return line.at
        is_inside = is_inside or _HISTORY.fullmatch(line.text) is not None
    return len(text) if is_inside else None


def _int_attribute(attributes: Mapping[str, str], key: str) -> int:
    text = attributes.get(key, "0")
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def session_work(
    session: SessionRef,
    home: Home,
    workspace: Workspace,
    *,
    used_tokens: int | None = None,
    usable_tokens: int | None = None,
    is_over: bool = False,
) -> SessionWork:
    """Return what the session did, without credentials."""
    state = extract_facts(session, workspace)
    created, modified = _files(state, home)
    parent = session.session.parent
    return SessionWork(
        agent=session.agent.id,
        session_id=session.session_id,
        used_tokens=used_tokens,
        usable_tokens=usable_tokens,
        compactions=state.compactions,
        decisions=tuple(_decision_text(entry) for entry in render_sections(state)["decisions"]),
        created=created,
        modified=modified,
        is_over=is_over,
        copied_from=parent.session_id if parent and parent.derivation in _COPIES else None,
    )


def touched_projects(session: SessionRef, homes: Sequence[Home], workspace: Workspace) -> list[Home]:
    """Return the projects that the session worked on: it changed one of their files, or one of its commands names them."""
    state = extract_facts(session, workspace)
    folder = Path(state.project or ".")
    edited = [Path(folder / file.path) for file in state.files.values() if file.edits]
    commands = [command.text for command in state.commands.values()]
    return [home for home in homes if _is_touched(home, edited) or _is_named(home, commands)]


def _is_touched(home: Home, edited: list[Path]) -> bool:
    own = home.folder if home.working is not None else home.planning
    return any(path.is_relative_to(own) for path in edited)


def _is_named(home: Home, commands: Iterable[str]) -> bool:
    """Return whether a command names the project: by its folder, or by number in a ``leftoff project`` command."""
    name = home.id if home.working is not None else str(home.planning.relative_to(home.root))
    pattern = rf"(?<![\w.-]){re.escape(name)}(?![\w.-])"
    if home.number is not None:
        pattern += (
            rf"|\bproject\s+(?:complete|save|close)\b[^\n;&|]*--project[ =][\"']?0*{home.number}(?![\w.-])"
        )
    return any(re.search(pattern, command) for command in commands)


def _files(state: Extraction, home: Home) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files that the session created and changed, relative to the project, else to the repository."""
    folder = Path(state.project or ".")
    created: list[str] = []
    changed: list[str] = []
    for file in sorted(state.files.values(), key=lambda file: file.edited_at)[-10 * _MOST_FILES :]:
        path = folder / file.path
        is_gone = file.last in {"deleted", "moved", "refused"}
        if not file.edits or is_gone or not path.is_relative_to(home.root) or path == home.state:
            continue
        name = home.relative(path) if path.is_relative_to(home.folder) else str(path.relative_to(home.root))
        (created if file.is_new else changed).append(name)
    return tuple(created[-_MOST_FILES:]), tuple(changed[-_MOST_FILES:])


def _decision_text(entry: dict[str, str]) -> str:
    reason = entry.get("rationale", "").strip()
    return f"{entry['decision'].strip()} - {reason}" if reason else entry["decision"].strip()
