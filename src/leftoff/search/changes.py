"""Find out whether the index is up to date by asking the file system only: no agent is loaded, no transcript opened.

A folder has news if its modification time differs or if it was absent before; a transcript if its size or time differs. In an
agent's home files change all the time, so there only the names of its folders count. All folders are checked each time, and
the newest transcripts, since those are written to. The others, perhaps a hundred thousand, are checked every ten minutes.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

BUILT = "built"
FOLDERS_NAMED = "folders named"
FULL_CHECK_FILE = "looked"  # beside the index; modified when all transcripts were last checked
_NEWEST_COUNT = 1000
_FULL_CHECK_SECONDS = 600
_MAX_CHANGED = 20
_MAX_EMPTY_FOLDERS = 500  # of an agent that has no session yet
_BY_NAMES = "/"  # at the end of a path: the names of the folders in it count, not its modification time
_ABSENT = 0


class Changes(NamedTuple):
    """What an update has to read: the known sources in ``changed``; or ``everywhere``, if it has to list all."""

    changed: tuple[str, ...] = ()
    everywhere: bool = False


def is_built(connection: sqlite3.Connection) -> bool:
    """Return whether the index was ever completed."""
    return connection.execute("SELECT value FROM facts WHERE name = ?", (BUILT,)).fetchone() is not None


def find_changes(connection: sqlite3.Connection, folder: str, variables: str, now: float) -> Changes:
    """Return what is new for the index in ``folder``; ``variables`` comes from ``folder_variables_digest``."""
    named = connection.execute("SELECT value FROM facts WHERE name = ?", (FOLDERS_NAMED,)).fetchone()
    if named is None or named[0] != variables:
        return Changes(everywhere=True)
    is_due = _is_full_check_due(folder, now)
    if any(_has_changed(*each) for each in connection.execute("SELECT path, modified_ns FROM folders")):
        return Changes(everywhere=True)
    try:
        changed = _changed_sources(connection, -1 if is_due else _NEWEST_COUNT)
    except OSError:  # a source was deleted
        return Changes(everywhere=True)
    if is_due and all(rank < _NEWEST_COUNT for rank in changed.values()):
        # Else check again until they are read.
        note_full_check(folder, now)
    return Changes(changed=tuple(changed), everywhere=len(changed) > _MAX_CHANGED)


def _changed_sources(connection: sqlite3.Connection, limit: int) -> dict[str, int]:
    """Return the sources that changed since they were read, each with the number of newer ones."""
    newest = "SELECT path, modified_ns, size_bytes, archived FROM sources ORDER BY modified_ns DESC LIMIT ?"
    stat, found = os.stat, {}
    for rank, (path, modified_ns, size_bytes, archived) in enumerate(connection.execute(newest, (limit,))):
        if archived and not os.path.exists(path):  # noqa: PTH110
            continue
        now = stat(path)
        if now.st_mtime_ns != modified_ns or now.st_size != size_bytes:
            found[path] = rank
    return found


def _is_full_check_due(folder: str, now: float) -> bool:
    """Return whether the last full check is too long ago, or in the future because the clock was set back."""
    try:
        return not 0 <= now - os.stat(f"{folder}/{FULL_CHECK_FILE}").st_mtime < _FULL_CHECK_SECONDS  # noqa: PTH116
    except OSError:
        return True


def note_full_check(folder: str, now: float) -> None:
    """Remember that all transcripts were checked; if that fails, the next search checks again."""
    path = f"{folder}/{FULL_CHECK_FILE}"
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        os.utime(path, (now, now))


def folder_variables_digest(environment: dict[str, str]) -> str:
    """Return a digest of the environment variables that name folders, such as an agent's home."""
    named = (f"{name}={value}" for name, value in environment.items() if name.endswith(("HOME", "_DIR")))
    return f"{zlib.crc32(chr(10).join(sorted(named)).encode('utf-8', 'surrogateescape')):08x}"


def _has_changed(folder: str, stamp: int) -> bool:
    if stamp == _ABSENT:  # as in most projects; access() takes half the time of stat()
        return os.access(folder, os.F_OK) and folder_stamp(folder) != _ABSENT
    return folder_stamp(folder) != stamp


def folder_stamp(folder: str) -> int:
    """Return a number that changes when the folder does; 0 if it is absent."""
    try:
        if folder.endswith(_BY_NAMES):
            return zlib.crc32("/".join(sorted(_folders_in(folder))).encode("utf-8", "surrogateescape"))
        return os.stat(folder).st_mtime_ns  # noqa: PTH116
    except OSError:
        return _ABSENT


def first_missing_folder(folder: str) -> str:
    """Return the topmost missing folder on the path to a missing one: it will be created first."""
    above = os.path.dirname(folder)  # noqa: PTH120
    return folder if above == folder or os.path.exists(above) else first_missing_folder(above)  # noqa: PTH110


def watched_folders(home: str, transcripts: Iterable[str]) -> dict[str, int]:
    """Return the folders where a new transcript of an agent may appear, each with its stamp.

    These are the home (by the names in it), the folders of its transcripts, those above, and their siblings.
    """
    holding, above = {os.path.dirname(each) for each in transcripts}, set[str]()  # noqa: PTH120
    for folder in holding:
        higher = os.path.dirname(folder)  # noqa: PTH120
        while higher not in above and higher != home and len(higher) > 1:
            above.add(higher)
            higher = os.path.dirname(higher)  # noqa: PTH120
    beside = {f"{folder}/{name}" for folder in above for name in _folders_in(folder)}
    empty = () if holding else _folders_below(home)
    folders = {*holding, *above, *beside, *empty} - {home}
    return {folder: folder_stamp(folder) for folder in (home + _BY_NAMES, *folders)}


def _folders_below(home: str) -> list[str]:
    """Return the folders below ``home``, nearest first, up to a limit."""
    found, pending = list[str](), deque([home])
    while pending and len(found) < _MAX_EMPTY_FOLDERS:
        folder = pending.popleft()
        below = [f"{folder}/{name}" for name in _folders_in(folder)]
        found += below
        pending += below
    return found[:_MAX_EMPTY_FOLDERS]


def _folders_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [each.name for each in entries if each.is_dir()]
    except OSError:
        return []
