"""The resume state as a value: the groups of its front matter, typed and validated (001).

Promises: a known key of the wrong kind is named with its line and what it takes; unknown keys are nobody's business here,
they stay in the text. None means that the file does not say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, TypeAlias, cast, get_args

from leftoff.errors import DocumentError
from leftoff.model.wire import JsonObject
from leftoff.system import clock

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The file itself: how often it was gone on with, and how full the last window was."""

    resume_version: str | None = None
    last_updated: datetime | None = None
    compaction_count: int | None = None
    total_tokens_approx: int | None = None
    session_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Which project it is, and how far it has come."""

    project_id: str | None = None
    project_name: str | None = None
    project_status: Status | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where in the workflow the work stands."""

    current_phase: Phase | None = None
    current_skill: str | None = None
    current_workflow_step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Where in the steps: section and task are 1-based, as the document counts them."""

    current_section: int | None = None
    current_section_name: str | None = None
    next_task_number: int | None = None
    next_task_description: str | None = None
    progress_tasks_completed: int | None = None
    progress_tasks_total: int | None = None
    progress_percentage: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """Which documents of the plan are written."""

    research: bool | None = None
    overview: bool | None = None
    plan: bool | None = None
    steps: bool | None = None

    @property
    def first_open(self) -> Flag | None:
        """The document that comes next; None when all are written."""
        return next((flag for flag in FLAGS if not getattr(self, flag)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that the front matter says."""

    metadata: Metadata = Metadata()
    project: About = About()
    location: Location = Location()
    execution: Execution = Execution()
    planning: Planning = Planning()
    next_action: str | None = None
    files_to_load: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """Every key of the front matter, in its order; the flags as one mapping."""
        told: dict[str, Any] = {}
        for group in (self.metadata, self.project, self.location, self.execution):
            told |= {each.name: getattr(group, each.name) for each in fields(group)}
        if self.metadata.last_updated is not None:
            told["last_updated"] = clock.rfc3339(self.metadata.last_updated)
        told |= {"next_action": self.next_action, READS_KEY: [*self.files_to_load]}
        told[FLAGS_KEY] = {flag: getattr(self.planning, flag) for flag in FLAGS}
        return {key: told[key] for key in KEYS}


# Every key in the order of a new file, with what it takes.
_Reader: TypeAlias = "Callable[[Plain], object]"


def _text(value: Plain) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | list | dict) or value is None:
        raise ValueError("text")
    return str(value)  # a name that happens to be a number


def _count(value: Plain) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("a whole number, 0 or more")
    return value


def _moment(value: Plain) -> datetime:
    moment = clock.from_rfc3339(value) if isinstance(value, str) else None
    if moment is None:
        raise ValueError("a time such as 2026-01-03T15:30:00Z")
    return moment


def _one_of(words: Sequence[str]) -> _Reader:
    def read(value: Plain) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return value

    return read


def _texts(value: Plain) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("a list of paths")  # noqa: TRY004 - the words of all readers are caught alike
    return tuple(map(_text, value))


def _flags(value: Plain) -> Planning:
    """A list of single flags, as in 001, or one mapping of them."""
    parts = value if isinstance(value, list) else [value]
    told: dict[str, Plain] = {}
    for part in parts:
        if not isinstance(part, dict):
            raise ValueError("flags such as `- research: true`")  # noqa: TRY004
        told |= part
    if any(not isinstance(told.get(flag), bool | None) for flag in FLAGS):
        raise ValueError("true or false for each of " + ", ".join(FLAGS))
    return Planning(**{flag: cast("bool | None", told.get(flag)) for flag in FLAGS})


KEYS: Mapping[str, _Reader] = {
    "resume_version": _text,
    "last_updated": _moment,
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


def state_of(values: Mapping[str, Plain], *, where: str, lines: Mapping[str, int] | None = None) -> State:
    """The state that the front matter says; DocumentError names every known key that it cannot be."""
    read: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for key, reader in KEYS.items():
        value = values.get(key)
        if value is None:
            continue
        try:
            read[key] = reader(value)
        except ValueError as error:
            wrong[key] = f"{_line(lines, key)}{key} is {_shown(value)}, and takes {error}"
    if wrong:
        line = min((lines[key] for key in wrong if key in lines), default=None) if lines else None
        raise DocumentError(f"{where}: {'; '.join(wrong.values())}.", path=where, line=line)
    flags = read.pop(FLAGS_KEY, Planning())
    groups = {name: kind(**_own(kind, read)) for name, kind in _GROUPS.items()}
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


def changed(before: State, after: State) -> dict[str, Plain]:
    """The keys that differ, as they are to stand in the file; the flags as one mapping."""
    old, new = before.to_dict(), after.to_dict()
    return {key: new[key] for key in KEYS if new[key] != old[key]}


def _own(kind: Any, read: Mapping[str, Any]) -> dict[str, Any]:
    return {each.name: read[each.name] for each in fields(kind) if each.name in read}


def _line(lines: Mapping[str, int] | None, key: str) -> str:
    return f"line {lines[key]}: " if lines and key in lines else ""


def _shown(value: Plain) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:37]}…"
