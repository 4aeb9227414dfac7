"""Whether the library has all there is, asked of the file system alone: no agent is loaded, no transcript opened.

A folder that was looked through has something new when its time of change is another, one that was absent when it is there; a
transcript when its size or time is. In an agent's home files change at every moment, so of it the names of its folders count. All
folders are looked at each time, and of the transcripts the newest, since those are written to. The others, of which there may be a
hundred thousand, are looked at when ten minutes ago nothing was new in them: what is appended to an old session is found that late
at the most, and at once when it ends or the library is updated. The agents' homes are known by the variables that name folders.
"""

from __future__ import annotations

import os
import zlib
from collections import deque
from collections.abc import Iterable
from contextlib import suppress

from leftoff.library.sqlite import sqlite3
from leftoff.model.tuples import NamedTuple

BUILT = "built"
FOLDERS_NAMED = "folders named"
LOOKED = "looked"  # a file beside the library; its time of change is when all transcripts were last looked at
_NEWEST = 1000
_LOOK_AGAIN_SECONDS = 600
_MOST_CHANGED = 20
_MOST_EMPTY = 500  # folders of an agent that has no session yet; somewhere among them the first will stand
_NAMES = "/"  # at the end of a folder's path: the names of the folders in it count, not its time of change
_ABSENT = 0


class News(NamedTuple):
    """What an update would find: ``changed`` of the sources that are known; or ``everywhere``, it has to look for itself."""

    changed: tuple[str, ...] = ()
    everywhere: bool = False


def is_built(shelf: sqlite3.Connection) -> bool:
    """Whether it was ever finished."""
    return shelf.execute("SELECT value FROM facts WHERE name = ?", (BUILT,)).fetchone() is not None


def news(shelf: sqlite3.Connection, folder: str, variables: str, now: float) -> News:
    """What is new for the library in ``folder``; ``variables`` are those of now, from ``folder_variables``."""
    named = shelf.execute("SELECT value FROM facts WHERE name = ?", (FOLDERS_NAMED,)).fetchone()
    if named is None or named[0] != variables:
        return News(everywhere=True)
    is_time = _is_time(folder, now)
    if any(_is_another(*each) for each in shelf.execute("SELECT path, modified_ns FROM folders")):
        return News(everywhere=True)
    try:
        changed = _changed(shelf, -1 if is_time else _NEWEST)
    except OSError:  # something is gone
        return News(everywhere=True)
    if is_time and all(rank < _NEWEST for rank in changed.values()):  # else again, until somebody has read it
        note_look(folder, now)
    return News(changed=tuple(changed), everywhere=len(changed) > _MOST_CHANGED)


def _changed(shelf: sqlite3.Connection, most: int) -> dict[str, int]:
    """The sources that are not as they were read, each with how many are newer."""
    newest = "SELECT path, modified_ns, size_bytes, archived FROM sources ORDER BY modified_ns DESC LIMIT ?"
    stat, found = os.stat, {}
    for rank, (path, modified_ns, size_bytes, archived) in enumerate(shelf.execute(newest, (most,))):
        if archived and not os.path.exists(path):  # noqa: PTH110
            continue
        now = stat(path)
        if now.st_mtime_ns != modified_ns or now.st_size != size_bytes:
            found[path] = rank
    return found


def _is_time(folder: str, now: float) -> bool:
    """Whether nobody has looked for long; a clock that was set back is no reason to wait."""
    try:
        return not 0 <= now - os.stat(f"{folder}/{LOOKED}").st_mtime < _LOOK_AGAIN_SECONDS  # noqa: PTH116
    except OSError:
        return True


def note_look(folder: str, now: float) -> None:
    """Remember that all transcripts were looked at; where that cannot be written, the next search looks again."""
    path = f"{folder}/{LOOKED}"
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        os.utime(path, (now, now))


def folder_variables(environment: dict[str, str]) -> str:
    """The variables that name folders, as a sum: another home of an agent makes it another. Nothing of them is kept in words."""
    named = (f"{name}={value}" for name, value in environment.items() if name.endswith(("HOME", "_DIR")))
    return f"{zlib.crc32(chr(10).join(sorted(named)).encode('utf-8', 'surrogateescape')):08x}"


def _is_another(folder: str, then: int) -> bool:
    if then == _ABSENT:  # as most projects' documents are; asking so takes half the time
        return os.access(folder, os.F_OK) and at(folder) != _ABSENT
    return at(folder) != then


def at(folder: str) -> int:
    """By what a change of the folder is known: another number than before."""
    try:
        if folder.endswith(_NAMES):
            return zlib.crc32("/".join(sorted(_folders_in(folder))).encode("utf-8", "surrogateescape"))
        return os.stat(folder).st_mtime_ns  # noqa: PTH116
    except OSError:
        return _ABSENT


def missing(folder: str) -> str:
    """The topmost folder on the way to an absent one that is absent itself: what will come first."""
    above = os.path.dirname(folder)  # noqa: PTH120
    return folder if above == folder or os.path.exists(above) else missing(above)  # noqa: PTH110


def folders_of(home: str, transcripts: Iterable[str]) -> dict[str, int]:
    """Where a new transcript of an agent would stand or begin a folder: the home by the names in it, there or not; the folders of
    its transcripts and those above them; and the folders beside these, in which there is none yet."""
    holding, above = {os.path.dirname(each) for each in transcripts}, set[str]()  # noqa: PTH120
    for folder in holding:
        higher = os.path.dirname(folder)  # noqa: PTH120
        while higher not in above and higher != home and len(higher) > 1:
            above.add(higher)
            higher = os.path.dirname(higher)  # noqa: PTH120
    beside = {f"{folder}/{name}" for folder in above for name in _folders_in(folder)}
    empty = () if holding else _folders_below(home)
    wanted = {*holding, *above, *beside, *empty} - {home}
    return {folder: at(folder) for folder in (home + _NAMES, *wanted)}


def _folders_below(home: str) -> list[str]:
    """The nearest come first, and of very many no more are looked for."""
    found, to_see = list[str](), deque([home])
    while to_see and len(found) < _MOST_EMPTY:
        folder = to_see.popleft()
        below = [f"{folder}/{name}" for name in _folders_in(folder)]
        found += below
        to_see += below
    return found[:_MOST_EMPTY]


def _folders_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [each.name for each in entries if each.is_dir()]
    except OSError:
        return []
