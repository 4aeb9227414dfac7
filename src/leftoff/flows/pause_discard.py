"""Throw a running pause away: always possible, whatever its file holds; only that it happened is remembered."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from leftoff.errors import NothingToDoError, StorageError
from leftoff.flows.pause_homes import PauseHome
from leftoff.flows.pause_list import pick_running
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS
from leftoff.pauses.summary import PauseSummary, summarised
from leftoff.system import clock, files, paths

_LEDGER = "discarded-pauses.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discarded:
    """What was thrown away, in numbers."""

    summary: PauseSummary


def discard(home: PauseHome, at: datetime | None = None) -> Discarded | None:
    """The pause that was thrown away; None when none was running."""
    moment = at or clock.now()
    recorded = home.file.discard()
    if recorded is None:
        return None
    summary = summarised(recorded, moment)
    with suppress(StorageError):  # the pause is gone, as was wanted; statistics can do without it
        _remember(summary, home.project.root, moment)
    return Discarded(summary=summary)


def discard_here(words: str | None, working_folder: Path) -> Discarded:
    """Throw away the running pause that ``words`` name; without words the only one of this project."""
    discarded = discard(pick_running(words, working_folder).home)
    if discarded is None:
        raise NothingToDoError("Another process has just ended that pause. leftoff pause list shows it.")
    return discarded


def discarded_in(root: Path) -> int:
    """How many pauses of the project were thrown away on this machine."""
    return sum(_says(line, "project", str(root)) for line in _ledger())


def was_discarded(session_id: str) -> bool:
    """Whether the pause of that id was thrown away on this machine."""
    return any(_says(line, "session_id", session_id) for line in _ledger())


def _ledger() -> list[bytes]:
    try:
        return (paths.state_folder() / _LEDGER).read_bytes().splitlines()
    except OSError:
        return []


def _remember(summary: PauseSummary, root: Path, at: datetime) -> None:
    entry = {
        "schema": SCHEMAS["discarded_pause"],
        "session_id": summary.session_id,
        "project": str(root),
        "at": clock.rfc3339(at),
        "action_count": summary.action_count,
    }
    files.make_folder(paths.state_folder())
    files.append_lines(paths.state_folder() / _LEDGER, json.dumps(entry).encode() + b"\n")


def _says(line: bytes, name: str, value: str) -> bool:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and entry.get(name) == value
