"""The resume state as a value: the keys of its front matter, grouped, typed and validated.

A known key with a wrong value is reported with its line and what it takes. Unknown keys are ignored here and stay in the
text. None means that the file does not say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias, cast, get_args

from leftoff.core.wire import JsonObject
from leftoff.errors import DocumentError
from leftoff.platform import clock

Status = Literal["RESEARCH", "PLANNING", "IN_PROGRESS", "COMPLETE"]
Phase = Literal["research", "planning", "execution", "testing", "deployment"]
Flag = Literal["research", "overview", "plan", "steps"]
STATUSES: tuple[Status, ...] = get_args(Status)
PHASES: tuple[Phase, ...] = get_args(Phase)
FLAGS: tuple[Flag, ...] = get_args(Flag)
VERSION = "1.0"
FLAGS_KEY = "planning_completed"
READS_KEY = "files_to_load"

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"


class Metadata(NamedTuple):
    """The file itself: its version, its sessions and compactions, and the tokens of the last session."""

    resume_version: str | None = None
    last_updated: datetime | None = None
    compaction_count: int | None = None
    total_tokens_approx: int | None = None
    session_count: int | None = None


class About(NamedTuple):
    """Which project it is, and its status."""

    project_id: str | None = None
    project_name: str | None = None
    project_status: Status | None = None


class Location(NamedTuple):
    """The current place in the workflow."""

    current_phase: Phase | None = None
    current_skill: str | None = None
    current_workflow_step: int | None = None


class Execution(NamedTuple):
    """The current place in the steps. Sections and tasks are numbered from 1."""

    current_section: int | None = None
    current_section_name: str | None = None
    next_task_number: int | None = None
    next_task_description: str | None = None
    progress_tasks_completed: int | None = None
    progress_tasks_total: int | None = None
    progress_percentage: int | None = None


class Planning(NamedTuple):
    """Which planning documents are written."""

    research: bool | None = None
    overview: bool | None = None
    plan: bool | None = None
    steps: bool | None = None

    @property
    def first_open(self) -> Flag | None:
        """The document to write next; None if all are written."""
        return next((flag for flag in FLAGS if not getattr(self, flag)), None)


class State(NamedTuple):
    """All known keys of the front matter."""

    metadata: Metadata = Metadata()
    project: About = About()
    location: Location = Location()
    execution: Execution = Execution()
    planning: Planning = Planning()
    next_action: str | None = None
    files_to_load: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """Return every known key, in the order of a new file; the flags as one mapping."""
        values: dict[str, Any] = {}
        for group in (self.metadata, self.project, self.location, self.execution):
            values |= group._asdict()
        if self.metadata.last_updated is not None:
            values["last_updated"] = clock.format_rfc3339(self.metadata.last_updated)
        values |= {"next_action": self.next_action, READS_KEY: [*self.files_to_load]}
        values[FLAGS_KEY] = {flag: getattr(self.planning, flag) for flag in FLAGS}
        return {key: values[key] for key in KEYS}


# Converts the value of a key; raises ValueError with what the key takes.
_Reader: TypeAlias = "Callable[[Plain], object]"


def _text(value: Plain) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | list | dict) or value is None:
        raise ValueError("text")
    return str(value)  # a name that looks like a number


def _count(value: Plain) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a whole number, 0 or more")
    return value


def _time(value: Plain) -> datetime:
    time = clock.parse_rfc3339(value) if isinstance(value, str) else None
    if time is None:
        raise ValueError("a time such as 2026-01-03T15:30:00Z")
    return time


def _one_of(words: Sequence[str]) -> _Reader:
    def read(value: Plain) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return value

    return read


def _texts(value: Plain) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("a list of paths")  # noqa: TRY004 - readers raise ValueError only
    return tuple(map(_text, value))


def _flags(value: Plain) -> Planning:
    """Read a list of single flags, or one mapping of them."""
    parts = value if isinstance(value, list) else [value]
    flags: dict[str, Plain] = {}
    for part in parts:
        if not isinstance(part, dict):
            raise ValueError("flags such as `- research: true`")  # noqa: TRY004
        flags |= part
    if any(not isinstance(flags.get(flag), bool | None) for flag in FLAGS):
        raise ValueError("true or false for each of " + ", ".join(FLAGS))
    return Planning(**{flag: cast("bool | None", flags.get(flag)) for flag in FLAGS})


# Every known key, in the order of a new file.
KEYS: Mapping[str, _Reader] = {
    "resume_version": _text,
    "last_updated": _time,
    "compaction_count": _count,
    "total_tokens_approx": _count,
    "session_count": _count,
    "project_id": _text,
    "project_name": _text,
    "project_status": _one_of(STATUSES),
    "next_action": _text,
    READS_KEY: _texts,
    "current_phase": _one_of(PHASES),
    "current_skill": _text,
    "current_workflow_step": _count,
    "current_section": _count,
    "current_section_name": _text,
    "next_task_number": _count,
    "next_task_description": _text,
    "progress_tasks_completed": _count,
    "progress_tasks_total": _count,
    "progress_percentage": _count,
    FLAGS_KEY: _flags,
}


def parse_state(values: Mapping[str, Plain], *, where: str, lines: Mapping[str, int] | None = None) -> State:
    """Return the state of these values; raise DocumentError that names every known key with a wrong value."""
    read: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for key, reader in KEYS.items():
        value = values.get(key)
        if value is None:
            continue
        try:
            read[key] = reader(value)
        except ValueError as error:
            line = f"line {lines[key]}: " if lines and key in lines else ""
            shown = repr(value) if len(repr(value)) <= 40 else f"{repr(value)[:37]}…"
            wrong[key] = f"{line}{key} is {shown}, and takes {error}"
    if wrong:
        first_line = min((lines[key] for key in wrong if key in lines), default=None) if lines else None
        raise DocumentError(f"{where}: {'; '.join(wrong.values())}.", path=where, line=first_line)
    flags = read.pop(FLAGS_KEY, Planning())
    groups = {
        name: kind(**{key: read[key] for key in kind._fields if key in read})
        for name, kind in _GROUPS.items()
    }
    return State(
        planning=flags,
        next_action=read.get("next_action"),
        files_to_load=read.get(READS_KEY, ()),
        **groups,
    )


_GROUPS: Mapping[str, Any] = {
    "metadata": Metadata,
    "project": About,
    "location": Location,
    "execution": Execution,
}


def changed_keys(before: State, after: State) -> dict[str, Plain]:
    """Return the keys that differ with their new values; the flags as one mapping."""
    old, new = before.to_dict(), after.to_dict()
    return {key: new[key] for key in KEYS if new[key] != old[key]}
