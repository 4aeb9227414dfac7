"""A list of sessions as lines that fit the terminal: number, age, agent, project, first prompt and gauge."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from leftoff.cli import gauge, output
from leftoff.core.metrics import Level
from leftoff.core.quantities import age
from leftoff.core.session import SessionEntry, short_id
from leftoff.sessions.grouping import group_copies
from leftoff.sessions.status import ListedSession

_COPIES = {"trimmed": "trimmed copy", "continued": "continued in a fresh session", "forked": "fork"}
_GAP = "  "
_LEAST_PROMPT = 10
_SHARE = 5  # columns of "101 %"


class SessionRow(NamedTuple):
    """One line of the list: its text without the gauge, the gauge, and the level that colours it."""

    text: str
    gauge: str
    level: Level | None


class _Columns(NamedTuple):
    number: int
    age: int
    agent: int
    project: int
    prompt: int
    bar: int


def group_sessions(listed: Sequence[ListedSession]) -> list[tuple[ListedSession, bool]]:
    """Return the sessions with copies after their originals, and whether each is such a copy."""
    return group_copies(listed, lambda each: each.entry.session_id, _parent_id)


def _parent_id(each: ListedSession) -> str | None:
    parent = each.entry.parent
    return parent.session_id if parent is not None and parent.derivation in _COPIES else None


def session_rows(
    grouped: Sequence[tuple[ListedSession, bool]], now: datetime, width: int, first: int = 1
) -> list[SessionRow]:
    """Return the lines for a terminal of that width, numbered from ``first``."""
    cells = _cells(grouped, now, first)
    columns = _columns(cells, width)
    return [
        SessionRow(_line(row, columns), _gauge(each, columns.bar), each.status.level)
        for row, (each, _) in zip(cells, grouped, strict=True)
    ]


def headings(grouped: Sequence[tuple[ListedSession, bool]], now: datetime, width: int, first: int = 1) -> str:
    """Return the line above the list."""
    line = _line(
        ("#", "age", "agent", "project", "first prompt"), _columns(_cells(grouped, now, first), width)
    )
    return f"{line}{_GAP} used"


def _cells(
    grouped: Sequence[tuple[ListedSession, bool]], now: datetime, first: int
) -> list[tuple[str, str, str, str, str]]:
    return [
        (
            str(number),
            age(now, each.entry.modified_at),
            each.entry.agent,
            _project(each),
            _prompt(each, is_copy=is_copy),
        )
        for number, (each, is_copy) in enumerate(grouped, start=first)
    ]


def first_words(entry: SessionEntry) -> str:
    """Return the first prompt; of a fresh session without one, which session it continues."""
    if entry.first_prompt is None and entry.parent is not None and entry.parent.session_id is not None:
        return f"(continues {short_id(entry.parent.session_id)})"
    return entry.first_prompt or "(no prompt yet)"


def _project(each: ListedSession) -> str:
    return Path(each.entry.project).name if each.entry.project else "-"


def _prompt(each: ListedSession, *, is_copy: bool) -> str:
    parent = each.entry.parent
    return f"└ {_COPIES[parent.derivation]}" if is_copy and parent is not None else first_words(each.entry)


def _columns(cells: Sequence[tuple[str, str, str, str, str]], width: int) -> _Columns:
    """Return the widths: the prompt gets what the others leave; on a narrow terminal some are smaller or left out (0)."""
    number, since, agent, project = (
        max([len(heading), *(output.columns_of(row[at]) for row in cells)])
        for at, heading in enumerate(("#", "age", "agent", "project"))
    )
    bar = 10 if width >= 100 else 5 if width >= 70 else 0
    project = min(project, 20 if width >= 110 else 14) if width >= 60 else 0
    agent = agent if width >= 50 else 0
    shown = [each for each in (number, since, agent, project) if each]
    share = _SHARE + (bar + 1 if bar else 0)
    rest = width - 1 - sum(shown) - share - len(_GAP) * (len(shown) + 1)
    return _Columns(number, since, agent, project, max(_LEAST_PROMPT, rest), bar)


def _line(cells: tuple[str, str, str, str, str], columns: _Columns) -> str:
    number, since, *others = cells
    wide = zip(others, (columns.agent, columns.project, columns.prompt), strict=True)
    padded = (output.pad(output.one_line(cell, room), room) for cell, room in wide if room)
    return _GAP.join([number.rjust(columns.number), since.rjust(columns.age), *padded])


def _gauge(each: ListedSession, bar: int) -> str:
    metrics = each.status.metrics
    if metrics.shown_percentage is None:
        return "    -"
    share = f"{int(metrics.shown_percentage):3} %"
    return f"{share} {gauge.bar(metrics, each.status.thresholds, bar)}" if bar else share
