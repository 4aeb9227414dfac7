"""Rollout files: where they are, how they are opened, what their first line says, and which of them make up a session.

Rollouts are in ``sessions/YYYY/MM/DD/`` and ``archived_sessions/`` under Codex' home. Compressed ones (``.jsonl.zst``) are opened
like any other; places in them are bytes of the decompressed text. Python decompresses them from 3.14 on, before that the package
``backports.zstd``. A rollout whose first line is broken or missing gets its session id from the file's name.

A session that was forked or reverted continues another rollout: ``history_base`` names it and where in it the new one begins. The
chain is followed to its beginning, or to the first rollout that is missing, unreadable or repeated; what is missing is reported.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leftoff.agents import jsonl
from leftoff.agents.codex.records import is_plain_event, read_record
from leftoff.agents.jsonl import JsonLines, Piece, count, table, text
from leftoff.core.records import Place, Record, RecordKind
from leftoff.core.session import DERIVED_BY, Parent
from leftoff.core.wire import JsonObject
from leftoff.errors import TranscriptError
from leftoff.platform.files import open_regular_file
from leftoff.platform.zstd import MODULES

if TYPE_CHECKING:
    from typing import IO, Any

_FOLDERS = ("sessions", "archived_sessions")
_ENDINGS = (".jsonl", ".jsonl.zst")
_HEAD_BYTES = 4096  # the source is named before the long instructions
_SUBAGENT = re.compile(rb'"source": ?\{"subagent"|"thread_source": ?"subagent"')
_ID = re.compile(r"[0-9A-Za-z-]+")
_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_DECOMPRESSED_HEAD_BYTES = 64 * 1024
# rollout-2026-11-15T19-46-07-<thread>.jsonl; a reverted thread continues in another file, <thread>_<rollout>.
_NAME = re.compile(
    r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(?P<thread>[0-9A-Za-z-]+)(?:_(?P<rollout>[0-9A-Za-z-]+))?\.jsonl(?:\.zst)?"
)
_FIRST_PIECES = 8  # a header further down belongs to another session


def transcripts(home: Path) -> Iterator[Path]:
    """Find the rollout of each thread: the newest if reverting made several. Those of subagents are left out."""
    newest: dict[str, Path] = {}
    for path in _rollouts(home):
        thread = thread_id(path)
        if thread not in newest or newest[thread].name < path.name:
            newest[thread] = path
    return (path for path in newest.values() if not _is_of_subagent(path))


def find_rollout(wanted_id: str, home: Path, *, near: Path) -> Path | None:
    """Find the rollout of that id: beside ``near``, in the folder of the time that the id contains, or anywhere."""
    if not _ID.fullmatch(wanted_id):  # it comes from a file and becomes part of a pattern
        return None
    for folder in (near.parent, *_likely_folders(wanted_id, home)):
        for path in sorted(folder.glob(f"rollout-*{wanted_id}.jsonl*")):
            if rollout_id(path) == wanted_id:
                return path
    return next((path for path in _rollouts(home) if rollout_id(path) == wanted_id), None)


def _likely_folders(wanted_id: str, home: Path) -> Iterator[Path]:
    uuid = _UUID7.fullmatch(wanted_id)
    if uuid:
        with suppress(OverflowError, ValueError):  # a time that no calendar has
            moment = datetime.fromtimestamp(int(uuid[1] + uuid[2], 16) / 1000, UTC)
            for days in (0, -1, 1):  # the folder's date is in the user's time zone
                yield home / "sessions" / f"{moment + timedelta(days=days):%Y/%m/%d}"


def _rollouts(home: Path) -> Iterator[Path]:
    for folder in _FOLDERS:
        for parent, _, names in os.walk(home / folder):
            for name in names:
                if name.startswith("rollout-") and name.endswith(_ENDINGS):
                    yield Path(parent, name)


def _is_of_subagent(path: Path) -> bool:
    try:
        with open_regular_file(path) as file:
            return _SUBAGENT.search(file.read(_HEAD_BYTES)) is not None
    except OSError:  # reported when it is read
        return False


if sys.platform == "win32":
    from pathlib import WindowsPath as _NativePath
else:
    from pathlib import PosixPath as _NativePath


def readable(transcript: Path) -> Path:
    """Return the path, or for a compressed file one that opens as plain text. TranscriptError if it cannot be decompressed."""
    if transcript.suffix != ".zst" or isinstance(transcript, _CompressedPath):
        return transcript
    try:
        _zstd_module()
    except LookupError as error:
        raise TranscriptError(
            f"{transcript}: compressed with zstd, which this Python cannot read. "
            f"Type: {sys.executable} -m pip install backports.zstd",
            path=transcript,
        ) from error
    return _CompressedPath(transcript)


def decompress_head(head: bytes) -> bytes | None:
    """Decompress the beginning of a file; None if this Python cannot."""
    try:
        zstd = import_module(_zstd_module())
    except LookupError:
        return None
    try:
        text: bytes = zstd.ZstdDecompressor().decompress(head, _DECOMPRESSED_HEAD_BYTES)
    except zstd.ZstdError:
        return b""
    return text


def _zstd_module() -> str:
    """Return the name of the module that decompresses; LookupError when none is installed."""
    for name in MODULES:
        with suppress(ModuleNotFoundError):
            import_module(name)
            return name
    raise LookupError(MODULES)


class _CompressedPath(_NativePath):
    """A path whose ``open`` gives the decompressed text; everything else is that of the file."""

    def open(self, *_how: Any, buffering: int = -1) -> IO[bytes]:  # type: ignore[override]  # noqa: ARG002 - transcripts are only read as bytes
        """Open the decompressed text, as bytes."""
        return io.BufferedReader(_DecompressedFile(self))


class _DecompressedFile(io.RawIOBase):
    """The decompressed bytes of a file. Damage raises TranscriptError."""

    def __init__(self, path: Path) -> None:
        zstd = import_module(_zstd_module())
        self._path = path
        self._errors: tuple[type[Exception], ...] = (zstd.ZstdError, EOFError)
        self._file: IO[bytes] = zstd.ZstdFile(str(path))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._reporting_damage():
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with self._reporting_damage():  # seeking reads everything before the position
            return self._file.seek(offset, whence)

    @contextmanager
    def _reporting_damage(self) -> Iterator[None]:
        try:
            yield
        except self._errors as error:
            raise TranscriptError(f"{self._path}: damaged: {error}.", path=self._path) from error

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()
        super().close()


class Base(NamedTuple):
    """The rollout that another one continues, and where in it that one begins."""

    rollout_id: str
    end_ordinal: int | None
    end_bytes: int | None


class Meta(NamedTuple):
    """The first line of a rollout. None means that it does not say."""

    session_id: str
    project: str | None = None
    client_version: str | None = None
    model_provider: str | None = None
    base: Base | None = None
    parent: Parent | None = None


def find_header(head: Iterable[Piece]) -> Piece | None:
    """Return the line that describes the session; None if it is broken or missing."""
    for piece in islice(head, _FIRST_PIECES):
        line = piece.value or {}
        if line.get("type") == "session_meta" and isinstance(line.get("payload"), dict):
            return piece
        if "type" not in line and text(line, "id") and text(line, "timestamp"):  # until August 2025
            return piece
    return None


def _read_meta(lines: JsonLines) -> Meta:
    header = find_header(lines.oldest_first())
    if header is None or header.value is None:
        return Meta(session_id=thread_id(lines.path))
    line = header.value
    fields = table(line, "payload") if "type" in line else line
    return Meta(
        session_id=text(fields, "id") or text(fields, "session_id") or thread_id(lines.path),
        project=text(fields, "cwd"),
        client_version=text(fields, "cli_version"),
        model_provider=text(fields, "model_provider"),
        base=_base(fields),
        parent=_parent(line, fields),
    )


def thread_id(transcript: Path) -> str:
    """Return the session's id from the file's name; the name itself if it has another form."""
    name = _NAME.fullmatch(transcript.name)
    return name["thread"] if name else transcript.name.partition(".jsonl")[0]


def rollout_id(transcript: Path) -> str | None:
    """Return the id by which other rollouts refer to this one."""
    name = _NAME.fullmatch(transcript.name)
    return (name["rollout"] or name["thread"]) if name else None


def _base(fields: JsonObject) -> Base | None:
    base = table(fields, "history_base")
    source = text(base, "thread_id")
    if source is None:
        return None
    return Base(
        rollout_id=source,
        end_ordinal=count(base, "end_ordinal_exclusive"),
        end_bytes=count(base, "end_byte_offset"),
    )


def _parent(line: JsonObject, fields: JsonObject) -> Parent | None:
    """Return the session that this one was made from.

    The note of a trim or rollover counts, unless the client has forked the session since and kept the note of the original.
    """
    origin = text(fields, "forked_from_id") or text(table(fields, "history_base"), "thread_id")
    for key, derivation in DERIVED_BY.items():
        note = table(fields, key) or table(line, key)
        parent_id = text(note, "parent_session_id") or origin
        if note and origin in {None, parent_id}:
            file = text(note, "parent_file") or text(note, "parent_session_file")
            return Parent(
                session_id=parent_id,
                transcript=file,
                derivation=derivation,
                is_untrimmed="untrimmed_from" in note,
            )
    return Parent(session_id=origin, transcript=None, derivation="forked") if origin else None


class Segment(NamedTuple):
    """One rollout of a session; ``end`` is where the next one takes over, None for the last."""

    path: Path
    meta: Meta
    end: Base | None = None


def open_rollout(transcript: Path) -> JsonLines:
    """Open a rollout, compressed or not, for reading from both ends."""
    return JsonLines(readable(transcript))


def lineage(transcript: Path, home: Path) -> tuple[Segment, ...]:
    """Return the rollouts that make up a session, oldest first; the last is the transcript itself."""
    with open_rollout(transcript) as lines:
        return lineage_of(lines, home)


def lineage_of(lines: JsonLines, home: Path) -> tuple[Segment, ...]:
    """Return the same for a rollout that is open already."""
    segments = [Segment(path=lines.path, meta=_read_meta(lines))]
    visited = {rollout_id(lines.path)}
    while (base := segments[-1].meta.base) and base.rollout_id not in visited:
        visited.add(base.rollout_id)
        path = find_rollout(base.rollout_id, home, near=segments[-1].path)
        if path is None:
            break
        try:
            with open_rollout(path) as inherited:
                segments.append(Segment(path=inherited.path, meta=_read_meta(inherited), end=base))
        except TranscriptError:  # the fork itself can be read, which is better than nothing
            break
    return tuple(reversed(segments))


def missing(segments: tuple[Segment, ...], home: Path) -> str | None:
    """Describe the rollout that the session continues and that cannot be read; None when nothing is missing."""
    base = segments[0].meta.base
    if base is None or base.rollout_id in {rollout_id(segment.path) for segment in segments}:
        return None
    path = find_rollout(base.rollout_id, home, near=segments[0].path)
    why = "is not here" if path is None else f"cannot be read ({path})"
    return f"continues {base.rollout_id[:60]}, which {why}: what it inherits is missing"


def oldest_first(
    segments: tuple[Segment, ...], *, unparsed: Callable[[bytes], bool] | None = None
) -> Iterator[Piece]:
    """Read all pieces of the session, each with its place in its own rollout; see ``jsonl.pieces`` for ``unparsed``."""
    for segment in segments:
        # Where another rollout continues, the numbers in the lines may say so.
        found = jsonl.pieces(segment.path, unparsed=unparsed if segment.end is None else None)
        if segment.end is not None:
            found = takewhile(lambda piece: _is_before(piece, segment.end), found)  # noqa: B023
        yield from found


def newest_first(lines: JsonLines, segments: tuple[Segment, ...]) -> Iterator[Piece]:
    """Read all pieces from the end; ``lines`` is the last of the segments. Lines are numbered as by ``JsonLines.newest_first``."""
    yield from lines.newest_first()
    for segment in reversed(segments[:-1]):
        end_bytes = segment.end.end_bytes if segment.end else None
        yield from (
            piece for piece in jsonl.newest_first(segment.path, end_bytes) if _is_before(piece, segment.end)
        )


def _is_before(piece: Piece, end: Base | None) -> bool:
    if end is None:
        return True
    if end.end_bytes is not None and piece.place.start >= end.end_bytes:
        return False
    ordinal = count(piece.value, "ordinal") if piece.value and end.end_ordinal is not None else None
    return ordinal is None or end.end_ordinal is None or ordinal < end.end_ordinal


@dataclass(frozen=True, slots=True)
class RecordsOfSegments:
    """The records of a session, read again on every iteration. A first record without bytes says that the beginning is missing."""

    segments: tuple[Segment, ...]
    home: Path

    def __iter__(self) -> Iterator[Record]:
        note = missing(self.segments, self.home)
        if note:
            place = Place(str(self.segments[0].path), 0, 0, 0)
            yield Record(place=place, kind=RecordKind.BROKEN, type="missing", raw=b"", note=note)
        yield from map(read_record, oldest_first(self.segments, unparsed=is_plain_event))
