"""Where rollouts stand under Codex's home: ``sessions/YYYY/MM/DD/`` as a rule, and ``archived_sessions/``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from leftoff.agents.codex.meta import rollout_id, thread_id

_FOLDERS = ("sessions", "archived_sessions")
_ENDINGS = (".jsonl", ".jsonl.zst")
_HEAD_BYTES = 4096  # the source stands before the long instructions
_SUBAGENT = re.compile(rb'"source": ?\{"subagent"|"thread_source": ?"subagent"')
_ID = re.compile(r"[0-9A-Za-z-]+")
_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def transcripts(home: Path) -> Iterator[Path]:
    """The rollout of each thread: the newest, where reverting made several. Subagents' are left out."""
    newest: dict[str, Path] = {}
    for path in _rollouts(home):
        thread = thread_id(path)
        if thread not in newest or newest[thread].name < path.name:
            newest[thread] = path
    return (path for path in newest.values() if not _is_subagents(path))


def rollout(wanted: str, home: Path, *, near: Path) -> Path | None:
    """The rollout of that id: beside the one that names it, where its own time would have put it, or anywhere."""
    if not _ID.fullmatch(wanted):  # it comes out of a file, and goes into a pattern
        return None
    for folder in (near.parent, *_likely_folders(wanted, home)):
        for path in sorted(folder.glob(f"rollout-*{wanted}.jsonl*")):
            if rollout_id(path) == wanted:
                return path
    return next((path for path in _rollouts(home) if rollout_id(path) == wanted), None)


def _likely_folders(wanted: str, home: Path) -> Iterator[Path]:
    made = _UUID7.fullmatch(wanted)
    if made:
        with suppress(OverflowError, ValueError):  # a time that no calendar has
            moment = datetime.fromtimestamp(int(made[1] + made[2], 16) / 1000, UTC)
            for days in (0, -1, 1):  # the folder goes by the user's own clock
                yield home / "sessions" / f"{moment + timedelta(days=days):%Y/%m/%d}"


def _rollouts(home: Path) -> Iterator[Path]:
    for folder in _FOLDERS:
        for parent, _, names in os.walk(home / folder):
            for name in names:
                if name.startswith("rollout-") and name.endswith(_ENDINGS):
                    yield Path(parent, name)


def _is_subagents(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _SUBAGENT.search(file.read(_HEAD_BYTES)) is not None
    except OSError:  # whoever reads it will say so
        return False
