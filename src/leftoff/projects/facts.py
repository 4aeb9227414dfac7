"""The facts of a project from where they live: tasks from ``steps.md``, purpose from ``overview.md``, what is written, what to read.

Nothing is written here, and nothing remembered: asked twice, the same files give the same facts.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from leftoff.model.values import dataclass
from leftoff.projects import layout, steps
from leftoff.projects.layout import PARTS, Home, Part
from leftoff.projects.steps import Steps
from leftoff.projects.values import FLAGS, Planning

TO_DO = "<!-- leftoff: to be written -->"
_MOST_WORKING_FILES = 5
_MOST_LOOKED_AT = 2000
_LEAST_CHARS = 40  # of a document that counts as written
_LONGEST_PURPOSE = 300
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_PURPOSE = re.compile(r"#{1,6}\s+.*\b(?:purpose|goal|what we're building|overview)\b", re.IGNORECASE)
_NO_TEXT = ("#", "<!--", "---", "```", "|", ">")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the files of a project say. ``purpose`` is None where the overview says none."""

    steps: Steps
    purpose: str | None
    planning: Planning
    reads: tuple[str, ...]
    """What to read, in order, relative to the project's folder: the state itself, the plan, work in progress."""
    working: tuple[str, ...] = ()


def gather(home: Home, steps_text: str | None = None) -> Facts:
    """Look at the files as they are now; ``steps_text`` is what the steps are about to be."""
    texts: dict[Part, str | None] = {
        part: layout.beginning(home, home.part(part)) for part in PARTS if part != "steps"
    }
    texts["steps"] = layout.content(home, home.part("steps")) if steps_text is None else steps_text
    tasks = steps.read(texts["steps"] or "")
    written = {part: is_written(texts[part]) for part in FLAGS}
    there = [home.relative(home.part(part)) for part in PARTS if texts[part] is not None]
    working = tuple(home.relative(path) for path in _working(home))
    return Facts(
        steps=tasks,
        purpose=_purpose(texts["overview"] or ""),
        planning=Planning(**(written | {"steps": bool(tasks.tasks) and written["steps"]})),
        reads=(home.relative(home.state), *there, *working),
        working=working,
    )


def is_written(text: str | None) -> bool:
    """Whether somebody has written the document: it is more than headings, and no longer what a new project has."""
    if text is None or TO_DO in text:
        return False
    words = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", "<!--"))
    ]
    return sum(map(len, words)) >= _LEAST_CHARS or any("[" in line for line in words)


def _working(home: Home) -> Iterator[Path]:
    """The files that were worked on last, by name: by time, every save would turn the list round. Links are not followed."""
    if home.working is None or layout.is_link(home.working):
        return
    found: list[tuple[float, str]] = []
    for folder, names, files in os.walk(home.working):
        names[:] = [name for name in names if not name.startswith(".")]
        for name in files:
            path = f"{folder}{os.sep}{name}"
            if not name.startswith(".") and (changed_at := _changed_at(path)) is not None:
                found.append((-changed_at, path))
        if len(found) > _MOST_LOOKED_AT:
            break
    yield from sorted(Path(path) for _, path in sorted(found)[:_MOST_WORKING_FILES])


def _changed_at(path: str) -> float | None:
    """When a regular file last changed; None for anything else, and for what is gone by now."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime if stat.S_ISREG(status.st_mode) else None


def _purpose(text: str) -> str | None:
    """One or two sentences: below a heading that speaks of the purpose, else the first paragraph."""
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[:1] == ["---"] and "---" in lines[1:]:
        lines = lines[lines.index("---", 1) + 1 :]
    starts = [number for number, line in enumerate(lines) if number and _PURPOSE.match(line)]
    for start in (*(each + 1 for each in starts), 0):
        if words := _paragraph(lines[start:], stops_at_heading=start > 0):
            sentences = _SENTENCE_END.split(words)
            return _short(" ".join(sentences[:2]))
    return None


def _paragraph(lines: list[str], *, stops_at_heading: bool) -> str:
    found: list[str] = []
    for line in lines:
        words = line.strip()
        if stops_at_heading and words.startswith("#"):
            break
        if words and not words.startswith(_NO_TEXT):
            found.append(words.lstrip("-* "))
        elif found:
            break
    return " ".join(found)


def _short(words: str) -> str:
    return words if len(words) <= _LONGEST_PURPOSE else f"{words[: _LONGEST_PURPOSE - 1]}…"
