"""The finished pauses of a folder: listed, read, compressed; one pause counts once, whatever is left of it.

A snapshot is up to four files with one id: .json, .yaml, .md and the archive of its lines, which may be compressed. One bad
file hides no other; a folder that may not be read is an error and never "none".
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import stat
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from leftoff.errors import DocumentError, StorageError
from leftoff.model.pause_action import PauseAction
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonObject, upgraded
from leftoff.pauses.journal import Recorded, read_lines
from leftoff.pauses.snapshot import ARCHIVE_END, LATEST_NAME
from leftoff.system import clock, files, reasons

COMPRESSED_END = ARCHIVE_END + ".gz"
_ENDS = (COMPRESSED_END, ARCHIVE_END, ".json", ".yaml", ".md")
_ID = re.compile(r"session-(\d{8}-\d{6})[\w.-]*", re.ASCII)
_LARGEST_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A finished pause. ``files`` are by ending; ``state`` is None where the JSON is gone or broken, as ``note`` then says."""

    session_id: str
    files: dict[str, Path]
    paused_at: datetime
    state: JsonObject | None
    note: str | None = None

    @property
    def was_recorded(self) -> bool:
        """Whether a pause stands behind it; a snapshot can be made without one."""
        told = (self.state or {}).get("incremental_pause")
        return self.archive is not None or not isinstance(told, dict) or told.get("enabled") is not False

    @property
    def archive(self) -> Path | None:
        """The file with its lines."""
        return self.files.get(ARCHIVE_END) or self.files.get(COMPRESSED_END)

    @property
    def main(self) -> Path:
        """The file to open first."""
        best = (self.files.get(end) for end in (".md", ".json", ".yaml", ARCHIVE_END, COMPRESSED_END))
        return next(file for file in best if file is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A compressed archive, and how much smaller it is."""

    path: Path
    saved_bytes: int


def kept_in(folder: Path) -> list[Kept]:
    """All finished pauses of the folder, newest first; none where there is no folder."""
    found: dict[str, dict[str, Path]] = {}
    try:
        with files.settled(folder):
            names = sorted(each.name for each in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StorageError(f"{folder}: cannot be read: {reasons.words(error)}.", path=folder) from error
    for name in names:
        end = next((end for end in _ENDS if name.endswith(end)), None)
        if end and _ID.fullmatch(session_id := name.removesuffix(end)):
            found.setdefault(session_id, {})[end] = folder / name
    kept = [_kept(session_id, its) for session_id, its in found.items()]
    return sorted(kept, key=lambda each: (each.paused_at, each.session_id), reverse=True)


def latest_in(folder: Path) -> Kept | None:
    """The snapshot that the pointer names; None where there is no pointer, or it leads nowhere."""
    try:
        named = (folder / LATEST_NAME).read_text(encoding="utf-8").strip()
        if not _ID.fullmatch(named) or not (folder / f"{named}.json").is_file():
            return None
    except (OSError, ValueError):
        return None
    return _kept(named, {".json": folder / f"{named}.json"})


def can_be_kept(folder: Path, recorded: Recorded) -> bool:
    """Whether a snapshot of the pause under its own id would be found again, and replace nobody else's."""
    session_id = recorded.session_id
    if not _ID.fullmatch(session_id):
        return False
    try:
        with files.settled(folder):
            its = {end: path for end in _ENDS if os.path.lexists(path := folder / (session_id + end))}
        earlier = lines_of(_kept(session_id, its)) if its else None
    except StorageError:
        return False
    return not its or (earlier is not None and _goes_on(earlier.actions, recorded.actions))


def _goes_on(earlier: Sequence[PauseAction], actions: Sequence[PauseAction]) -> bool:
    """Whether every action of the earlier snapshot is among these, in the same order; words may have been found since."""
    known = [action for action in earlier if action.type != "pause_finalized"]
    return len(known) <= len(actions) and all(
        (old.type, old.timestamp) == (new.type, new.timestamp) and new.data | old.data == new.data
        for old, new in zip(known, actions, strict=False)
    )


def lines_of(kept: Kept) -> Recorded | None:
    """The actions of a finished pause; None where its archive is gone. DocumentError when that cannot be read."""
    path = kept.archive
    if path is None:
        return None
    data = _content(path)
    if path.name.endswith(COMPRESSED_END):
        data = _unpacked(path, data)
    return Recorded(lines=tuple(read_lines(data)), modified_at=kept.paused_at)


def compress(kept: Kept) -> Packed | None:
    """Pack the archive; None where there is none that is not packed yet."""
    path = kept.files.get(ARCHIVE_END)
    if path is None:
        return None
    data = _content(path)
    packed = gzip.compress(data, mtime=0)
    target = path.with_name(path.name + ".gz")
    files.write_file(target, packed)
    try:
        path.unlink()
    except OSError as error:
        raise StorageError(f"{path}: packed, but not removed: {reasons.words(error)}.", path=path) from error
    return Packed(path=target, saved_bytes=len(data) - len(packed))


def _kept(session_id: str, its: dict[str, Path]) -> Kept:
    state, note = None, None
    try:
        if ".json" in its:
            state = upgraded("pause_snapshot", _parsed(its[".json"]), where=str(its[".json"]))
        else:
            ends = ", ".join(end.removeprefix(".").removeprefix("-") for end in its)
            note = f"only {ends} is left"
    except StorageError as error:
        note = error.message
    told = state.get("paused_at") if state else None
    at = clock.from_rfc3339(told) if isinstance(told, str) else None
    return Kept(session_id=session_id, files=its, paused_at=at or _named(session_id), state=state, note=note)


def _parsed(path: Path) -> JsonObject:
    data = _content(path)
    try:
        parsed: JsonObject = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{path}: not JSON. The .md beside it may still be read.", path=path) from error
    return parsed


def _content(path: Path) -> bytes:
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            raise DocumentError(f"{path}: a symbolic link; it was not followed.", path=path)
        if not stat.S_ISREG(status.st_mode):  # a pipe would keep us waiting for ever
            raise DocumentError(f"{path}: not a file; it was not read.", path=path)
        if status.st_size > _LARGEST_BYTES:
            raise DocumentError(
                f"{path}: larger than {_LARGEST_BYTES // 2**20} MB; it was not read.", path=path
            )
        return path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {reasons.words(error)}.", path=path) from error


def _unpacked(path: Path, data: bytes) -> bytes:
    """A small file may claim to hold the world: no more than any archive may have is taken out of it."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            return packed.read(_LARGEST_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise DocumentError(f"{path}: not a compressed archive, or damaged.", path=path) from error


def _named(session_id: str) -> datetime:
    """The time in the name; the beginning of time for one that is none."""
    found = _ID.fullmatch(session_id)
    assert found is not None
    try:
        return datetime.fromisoformat(found[1].replace("-", "T")).replace(tzinfo=UTC)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
