"""Find out whether the index is up to date by asking the file system only: no agent is loaded, no transcript opened.

A folder has news if its modification time differs or if it was absent before; a transcript if its size or time differs. In an
agent's home files change all the time, so there only the names of its folders count.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections import deque
from collections.abc import Collection, Iterable
from typing import NamedTuple

BUILT = "built"
FOLDERS_NAMED = "folders named"
EXCLUDED_TOOLS = "excluded tools"
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


def was_made_without(connection: sqlite3.Connection, tools: Collection[str]) -> bool:
    """Return whether the index was made without exactly these tools."""
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (EXCLUDED_TOOLS,)).fetchone()
    return (row[0] if row else "") == tools_as_fact(tools)


def tools_as_fact(tools: Collection[str]) -> str:
    """Return tools that the user excluded as the index remembers them."""
    return ", ".join(sorted(tools))


def find_changes(connection: sqlite3.Connection, variables: str) -> Changes:
    """Return what is new for the index; ``variables`` comes from ``folder_variables_digest``."""
    named = connection.execute("SELECT value FROM facts WHERE name = ?", (FOLDERS_NAMED,)).fetchone()
    if named is None or named[0] != variables:
        return Changes(everywhere=True)
    if any(_has_changed(*each) for each in connection.execute("SELECT path, modified_ns FROM folders")):
        return Changes(everywhere=True)
    changed, stat = [], os.stat
    known = connection.execute("SELECT path, modified_ns, size_bytes, archived FROM sources")
    for path, modified_ns, size_bytes, archived in known:
        try:
            now = stat(path)
        except OSError:
            if archived:
                continue
            return Changes(everywhere=True)  # it was deleted
        if now.st_mtime_ns != modified_ns or now.st_size != size_bytes:
            changed.append(path)
    return Changes(changed=tuple(changed), everywhere=len(changed) > _MAX_CHANGED)


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
