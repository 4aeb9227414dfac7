"""Resume logs as files of one folder, read only: which there are, and what each says.

``session-{id}.md`` with ``session-{id}.json`` beside it, each perhaps compressed (``.gz``). Half of a pair is still listed;
links, folders and names that are no id are passed over; one bad file hides no other (L20). Nothing is locked, written or
left behind, so that folders of others can be read too.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from leftoff.errors import DocumentError, InvalidIdError, OutsideFolderError, StorageError
from leftoff.model.resume_log import ResumeLog
from leftoff.model.values import dataclass
from leftoff.system import ids, reasons

Part = Literal[".md", ".json", ".md.gz", ".json.gz"]
PREFIX = "session-"
PARTS: tuple[Part, ...] = (".md.gz", ".json.gz", ".md", ".json")  # the longer endings first
_LARGEST_BYTES = 64 * 1024 * 1024  # of a compressed log when unpacked; a thousand times what a long one takes


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFiles:
    """The files of one log. ``saved_ns`` is when it was last saved, in nanoseconds since 1970."""

    session_id: str
    parts: Mapping[Part, Path]
    saved_ns: int
    size_bytes: int

    @property
    def markdown(self) -> Path | None:
        """The Markdown; None where only the JSON is left."""
        return self.parts.get(".md", self.parts.get(".md.gz"))

    @property
    def json(self) -> Path | None:
        """The JSON; None where only the Markdown is left."""
        return self.parts.get(".json", self.parts.get(".json.gz"))

    @property
    def path(self) -> Path:
        """The one to name when one is named."""
        path = self.markdown or self.json
        assert path is not None, "a log has at least one file"
        return path

    @property
    def is_compressed(self) -> bool:
        """Whether everything that is read of it must be unpacked first."""
        return self.path.suffix == ".gz"

    def log(self) -> ResumeLog:
        """What it says; DocumentError, which names the file, where that cannot be read."""
        if self.json is None:
            raise DocumentError(
                f"{self.path}: only the text of this log is left, its JSON is gone. "
                f"leftoff log show {self.session_id} prints the text.",
                path=self.path,
            )
        return parsed(self.json, content(self.json))

    def text(self, max_tokens: int | None = None) -> str:
        """The Markdown as it stands in its file; made from the JSON where that is all there is."""
        if self.markdown is None:
            return self.log().to_markdown(max_tokens)
        return content(self.markdown).decode("utf-8", "replace")


def found_in(folder: Path) -> list[LogFiles]:
    """The logs of a folder, newest first; none where there is no folder."""
    parts: dict[str, dict[Part, os.DirEntry[str]]] = {}
    for entry in _entries(folder):
        named = session_of(entry.name)
        if named is not None and entry.is_file(follow_symlinks=False):
            parts.setdefault(named[0], {})[named[1]] = entry
    logs = [log for session_id, each in parts.items() if (log := _log_files(session_id, each)) is not None]
    return sorted(logs, key=lambda log: (-log.saved_ns, log.session_id))


def session_of(name: str) -> tuple[str, Part] | None:
    """The session id and the part that a file's name tells; None for a name that is none of ours."""
    part = next((each for each in PARTS if name.endswith(each)), None)
    if part is None or not name.startswith(PREFIX):
        return None
    try:
        return ids.checked(name[len(PREFIX) : -len(part)]), part
    except InvalidIdError:
        return None


def parsed(path: Path, data: bytes) -> ResumeLog:
    """The log that ``data`` holds; ``path`` names it in errors."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{path}: not JSON, or torn: {error}.", path=path) from error
    return ResumeLog.from_dict(value, where=str(path))


def content(path: Path) -> bytes:
    """What a file holds, unpacked where it is compressed."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {reasons.words(error)}.", path=path) from error
    return unpacked(path, data) if path.suffix == ".gz" else data


def unpacked(path: Path, data: bytes) -> bytes:
    """The content of a compressed file; ``path`` names it in errors."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            plain = file.read(_LARGEST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DocumentError(f"{path}: cannot be unpacked: {error}.", path=path) from error
    if len(plain) > _LARGEST_BYTES:
        raise DocumentError(
            f"{path}: unpacks to more than {_LARGEST_BYTES // 2**20} MB; no log does.", path=path
        )
    return plain


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    if folder.is_symlink():
        raise OutsideFolderError(
            f"{folder}: this is a symbolic link; leftoff reads logs only from a real folder. Remove the link.",
            path=folder,
        )
    try:
        with os.scandir(folder) as entries:
            return [*entries]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"{folder}: cannot be read: {reasons.words(error)}.", path=folder) from error


def _log_files(session_id: str, entries: Mapping[Part, os.DirEntry[str]]) -> LogFiles | None:
    """None where all files of it vanished while we looked. The JSON tells the time: a person may touch the Markdown."""
    stats: dict[Part, os.stat_result] = {}
    for part, entry in entries.items():
        try:
            stats[part] = entry.stat(follow_symlinks=False)
        except OSError:
            continue
    if not stats:
        return None
    telling = next(part for part in (".json", ".json.gz", ".md", ".md.gz") if part in stats)
    return LogFiles(
        session_id=session_id,
        parts={part: Path(entries[part].path) for part in stats},
        saved_ns=stats[telling].st_mtime_ns,
        size_bytes=sum(stat.st_size for stat in stats.values()),
    )
