"""The older forms of a resume state, read: ``_resume.md`` of the first template and its ``resume-context.md``."""

from __future__ import annotations

from collections.abc import Mapping

from leftoff.errors import DocumentError
from leftoff.projects import values
from leftoff.projects.document import Document
from leftoff.projects.values import Plain

# What a key was called → what it is called in 001.
_RENAMED: Mapping[str, str] = {
    "phase": "current_phase",
    "last_skill": "current_skill",
    "build_id": "project_id",
    "build_name": "project_name",
    "current_task": "next_task_number",
    "total_tasks": "progress_tasks_total",
    "tasks_completed": "progress_tasks_completed",
}
# What its phases are in 001, where they differ.
_PHASES: Mapping[str, str] = {
    "discovery": "research",
    "ideation": "research",
    "documentation": "execution",
    "implementation": "execution",
    "build": "execution",
    "complete": "deployment",
}


def front_of(document: Document) -> dict[str, Plain]:
    """What it says, by the keys of 001; what fits none of them, or none of their kinds, is left out."""
    said = document.values
    read = {_RENAMED.get(key, key): value for key, value in said.items() if value is not None}
    phase = read.get("current_phase")
    if isinstance(phase, str):
        read["current_phase"] = _PHASES.get(phase.lower(), phase.lower())
    ids = said.get("session_ids")
    if isinstance(ids, list) and "session_count" not in read:
        read["session_count"] = len(ids)
    return {key: value for key, value in read.items() if key in values.KEYS and _is_sound(key, value)}


def unknown_keys(document: Document) -> list[str]:
    """The keys that 001 has no name for: nobody's business here, and kept."""
    taken = front_of(document)
    return [key for key in document.values if key not in values.KEYS and _RENAMED.get(key) not in taken]


def _is_sound(key: str, value: Plain) -> bool:
    try:
        values.state_of({key: value}, where="")
    except DocumentError:
        return False
    return True
