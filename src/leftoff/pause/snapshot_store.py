"""The finished pauses of a folder: list, read and compress them. One pause counts once, whatever is left of it.

A snapshot is up to four files with one id: .json, .yaml, .md and the archive of its lines, which may be compressed. One bad
file hides no other; a folder that may not be read is an error and never an empty list.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from leftoff.core.wire import JsonObject, upgrade_document
from leftoff.errors import DocumentError, StorageError, describe_os_error
from leftoff.pause.journal import PauseAction, Recording, read_lines
from leftoff.pause.snapshot import ARCHIVE_SUFFIX, LATEST_NAME
from leftoff.platform import clock, file_sets, files

COMPRESSED_SUFFIX = ARCHIVE_SUFFIX + ".gz"
_SUFFIXES = (COMPRESSED_SUFFIX, ARCHIVE_SUFFIX, ".json", ".yaml", ".md")
_ID = re.compile(r"session-(\d{8}-\d{6})[\w.-]*", re.ASCII)
_LARGEST_POINTER_BYTES = 4096


class FinishedPause(NamedTuple):
    """A finished pause. ``files`` are by suffix; ``state`` is ``None`` if the JSON is gone or broken, and ``note`` says so."""

    session_id: str
    files: dict[str, Path]
    paused_at: datetime
    state: JsonObject | None
    note: str | None = None

    @property
    def message(self) -> str | None:
        """The note that the user gave when the pause was finished; None without one."""
        message = (self.state or {}).get("message")
        return message if isinstance(message, str) and message.strip() else None

    @property
    def is_manual(self) -> bool:
        """Whether it is a snapshot of a person's or a program's own pause; the pauses of hooks belong to an agent's session."""
        return self.state is not None and self.state.get("origin") is None

    @property
    def was_recorded(self) -> bool:
        """Whether a pause was recorded; a snapshot can be written without one."""
        pause = (self.state or {}).get("incremental_pause")
        return self.archive is not None or not isinstance(pause, dict) or pause.get("enabled") is not False

    @property
    def archive(self) -> Path | None:
        """The file of the recorded lines; None if it is gone."""
        return self.files.get(ARCHIVE_SUFFIX) or self.files.get(COMPRESSED_SUFFIX)

    @property
    def main(self) -> Path:
        """The file to open first."""
        order = (".md", ".json", ".yaml", ARCHIVE_SUFFIX, COMPRESSED_SUFFIX)
        return next(self.files[suffix] for suffix in order if suffix in self.files)


class CompressedArchive(NamedTuple):
    """A compressed archive, and how much smaller it is."""

    path: Path
    saved_bytes: int


def latest_manual(folder: Path) -> FinishedPause | None:
    """Return the newest snapshot of a pause that belongs to no agent's session, or None."""
    return next((pause for pause in list_finished(folder) if pause.is_manual), None)


def list_finished(folder: Path) -> list[FinishedPause]:
    """Return all finished pauses of the folder, newest first; none if there is no folder."""
    found: dict[str, dict[str, Path]] = {}
    try:
        with file_sets.consistent_set(folder):
            names = sorted(path.name for path in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StorageError(f"{folder}: cannot be read: {describe_os_error(error)}.", path=folder) from error
    for name in names:
        suffix = next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), None)
        if suffix and _ID.fullmatch(session_id := name.removesuffix(suffix)):
            found.setdefault(session_id, {})[suffix] = folder / name
    finished = [_load(session_id, by_suffix) for session_id, by_suffix in found.items()]
    return sorted(finished, key=lambda pause: (pause.paused_at, pause.session_id), reverse=True)


def latest_finished(folder: Path) -> FinishedPause | None:
    """Return the snapshot that the pointer file names; None without a pointer, or if its snapshot is gone."""
    try:
        named = files.read_regular_file(folder / LATEST_NAME, _LARGEST_POINTER_BYTES).decode().strip()
        if not _ID.fullmatch(named) or not (folder / f"{named}.json").is_file():
            return None
    except (OSError, ValueError):
        return None
    return _load(named, {".json": folder / f"{named}.json"})


def is_id_free(folder: Path, recorded: Recording) -> bool:
    """Return whether the pause's id makes a valid snapshot name that no snapshot of another pause has."""
    session_id = recorded.session_id
    if not _ID.fullmatch(session_id):
        return False
    try:
        with file_sets.consistent_set(folder):
            present = {
                suffix: path
                for suffix in _SUFFIXES
                if os.path.lexists(path := folder / (session_id + suffix))
            }
        earlier = read_archive(_load(session_id, present)) if present else None
    except StorageError:
        return False
    return not present or (earlier is not None and _continues(earlier.actions, recorded.actions))


def _continues(earlier: Sequence[PauseAction], actions: Sequence[PauseAction]) -> bool:
    """Return whether ``actions`` begin with those of the earlier snapshot; texts may have been added since."""
    known = [action for action in earlier if action.type != "pause_finalized"]
    return len(known) <= len(actions) and all(
        (old.type, old.timestamp) == (new.type, new.timestamp) and new.data | old.data == new.data
        for old, new in zip(known, actions, strict=False)
    )


def read_archive(pause: FinishedPause) -> Recording | None:
    """Return the lines of a finished pause; None if its archive is gone. Raise StorageError if it cannot be read."""
    path = pause.archive
    if path is None:
        return None
    data = _read_file(path)
    if path.name.endswith(COMPRESSED_SUFFIX):
        data = _decompress(path, data)
    return Recording(lines=tuple(read_lines(data)), modified_at=pause.paused_at)


def compress(pause: FinishedPause) -> CompressedArchive | None:
    """Compress the archive; return None if none exists, or it is compressed already."""
    path = pause.files.get(ARCHIVE_SUFFIX)
    if path is None:
        return None
    data = _read_file(path)
    packed = gzip.compress(data, mtime=0)
    target = path.with_name(path.name + ".gz")
    files.write_file(target, packed)
    try:
        path.unlink()
    except OSError as error:
        raise StorageError(
            f"{path}: packed, but not removed: {describe_os_error(error)}.", path=path
        ) from error
    return CompressedArchive(path=target, saved_bytes=len(data) - len(packed))


def _load(session_id: str, by_suffix: dict[str, Path]) -> FinishedPause:
    state, note = None, None
    try:
        if path := by_suffix.get(".json"):
            state = upgrade_document("pause_snapshot", _parse_json(path), where=str(path))
        else:
            left = ", ".join(suffix.removeprefix(".").removeprefix("-") for suffix in by_suffix)
            note = f"only {left} is left"
    except StorageError as error:
        note = error.message
    text = state.get("paused_at") if state else None
    at = clock.parse_rfc3339(text) if isinstance(text, str) else None
    return FinishedPause(
        session_id=session_id,
        files=by_suffix,
        paused_at=at or _time_in_id(session_id),
        state=state,
        note=note,
    )


def _parse_json(path: Path) -> JsonObject:
    data = _read_file(path)
    try:
        parsed: JsonObject = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{path}: not JSON. The .md beside it may still be read.", path=path) from error
    return parsed


def _read_file(path: Path) -> bytes:
    try:
        return files.read_regular_file(path, files.MAX_DOCUMENT_BYTES, follow_links=False)
    except OSError as error:
        raise files.not_readable(path, error) from error


def _decompress(path: Path, data: bytes) -> bytes:
    """Return the decompressed data, at most as much as an archive may have: a small file can expand without end."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            return packed.read(files.MAX_DOCUMENT_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise DocumentError(f"{path}: not a compressed archive, or damaged.", path=path) from error


def _time_in_id(session_id: str) -> datetime:
    """Return the time that the id contains; the epoch if it is not a valid time."""
    match = _ID.fullmatch(session_id)
    assert match is not None
    try:
        return datetime.fromisoformat(match[1].replace("-", "T")).replace(tzinfo=UTC)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
