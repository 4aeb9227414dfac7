"""Whether the library has all there is, asked of the file system alone: no agent is loaded, no transcript opened.

A folder that was looked through has something new when its time of change is another; a transcript when its size or time is.
Looked at are all of them, the newest first, since those change most; a hundred thousand take a fraction of a second. The agents'
homes are known by the variables that name folders.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable

BUILT = "built"
FOLDERS_NAMED = "folders named"


def is_built(shelf: sqlite3.Connection) -> bool:
    """Whether it was ever finished."""
    return shelf.execute("SELECT value FROM facts WHERE name = ?", (BUILT,)).fetchone() is not None


def is_stale(shelf: sqlite3.Connection, variables: str) -> bool:
    """Whether an update would find something; ``variables`` are those of now, from ``folder_variables``."""
    named = shelf.execute("SELECT value FROM facts WHERE name = ?", (FOLDERS_NAMED,)).fetchone()
    if named is None or named[0] != variables:
        return True
    stat = os.stat
    try:
        for path, modified_ns in shelf.execute("SELECT path, modified_ns FROM folders"):
            if stat(path).st_mtime_ns != modified_ns:
                return True
        newest = "SELECT path, modified_ns, size_bytes, archived FROM sources ORDER BY modified_ns DESC"
        for path, modified_ns, size_bytes, archived in shelf.execute(newest):
            if archived and not os.path.exists(path):  # noqa: PTH110
                continue
            now = stat(path)
            if now.st_mtime_ns != modified_ns or now.st_size != size_bytes:
                return True
    except OSError:
        return True
    return False


def folder_variables(environment: dict[str, str]) -> str:
    """The variables that name folders, as one text: another home of an agent makes it another."""
    named = (f"{name}={value}" for name, value in environment.items() if name.endswith(("HOME", "_DIR")))
    return "\n".join(sorted(named))


def folders_above(transcripts: Iterable[str], homes: Iterable[str]) -> dict[str, int]:
    """The folders of the transcripts, and those above them up to the agent's home, with their times of change."""
    ends, found = {*homes}, dict[str, int]()
    for transcript in transcripts:
        folder = os.path.dirname(transcript)  # noqa: PTH120
        while folder not in found and folder not in ends and len(folder) > 1:
            try:
                found[folder] = os.stat(folder).st_mtime_ns  # noqa: PTH116
            except OSError:
                break
            folder = os.path.dirname(folder)  # noqa: PTH120
    return found
