"""What the library takes in of our own documents: resume logs, pauses and chats, heading by heading."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from leftoff.errors import LeftoffError
from leftoff.flows.capture import Capture
from leftoff.flows.library_pieces import clean_cut
from leftoff.flows.log_folder import log_folder
from leftoff.flows.own_documents import is_chosen, is_ours
from leftoff.flows.pause_homes import SESSIONS
from leftoff.library.pieces import Piece, PieceKind, Source, SourceType
from leftoff.system import paths
from leftoff.system.paths import Project
from leftoff.system.register import Register

_LARGEST_BYTES = 4 * 1024 * 1024  # of a document; one that is larger came from elsewhere
_HEADING = re.compile(rb"^#{1,6} ", re.MULTILINE)
_SESSION = re.compile(r"^(?:session-)?(.+)$")


def document_folders(
    projects: Iterable[str], storage_dir: str, chat_folder: str
) -> dict[str, tuple[SourceType, str]]:
    """Where documents of these projects stand: folder → what they are, and the project."""
    wanted = wanted_folders(projects, storage_dir, chat_folder)
    return {place: whose for place, whose in wanted.items() if is_folder(place)}


def wanted_folders(
    projects: Iterable[str], storage_dir: str, chat_folder: str
) -> dict[str, tuple[SourceType, str]]:
    """The same with those that are not there yet."""
    return {
        str(place): (kind, folder)
        for folder in projects
        for kind, place in _folders_of(folder, storage_dir, chat_folder)
    }


def is_folder(place: str) -> bool:
    """Whether documents can be read there: a link may lead anywhere."""
    return Path(place).is_dir() and not Path(place).is_symlink()


def documents(folder: str, kind: SourceType, project: str) -> Iterator[Source]:
    """The documents in a folder; links, what is too large, and in a folder that the user chose what is not ours are passed over."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    is_all_ours = not is_chosen(Path(folder))
    written = frozenset() if is_all_ours else Register(folder=paths.data_folder()).written_paths()
    for entry in entries:
        if not entry.name.endswith(".md") or not entry.is_file(follow_symlinks=False):
            continue
        stat = entry.stat(follow_symlinks=False)
        if stat.st_size > _LARGEST_BYTES or not (is_all_ours or is_ours(Path(entry.path), written)):
            continue
        named = _SESSION.match(entry.name.removesuffix(".md"))
        yield Source(
            type=kind,
            path=entry.path,
            agent=None,
            session_id=named[1] if named else None,
            project=project,
            title=None,
            modified_ns=stat.st_mtime_ns,
            size_bytes=stat.st_size,
        )


def pieces_of(source: Source, capture: Capture) -> list[Piece]:
    """One piece for each heading with what stands below it."""
    try:
        content = Path(source.path).read_bytes()
    except OSError:
        return []
    starts = [0, *(found.start() for found in _HEADING.finditer(content) if found.start()), len(content)]
    kind: PieceKind = source.type if source.type != "session" else "log"
    pieces, redactor = [], capture.redactor
    for start, end in pairwise(starts):
        text = content[start:end].decode("utf-8", "replace")
        if not text.strip():
            continue
        clean = clean_cut(text, (lambda whole: whole) if redactor is None else redactor.redact)
        at = source.modified_ns // 1_000_000_000
        pieces.append(
            Piece(kind=kind, text=clean, line=content.count(b"\n", 0, start) + 1, start=start, at=at)
        )
    return pieces


def _folders_of(folder: str, storage_dir: str, chat_folder: str) -> Iterator[tuple[SourceType, Path]]:
    project = _project_at(folder)
    if project is None:
        return
    with suppress(LeftoffError):  # a setting or a link that leads out of the project
        yield "log", log_folder(project, storage_dir)
    yield "pause", project.folder / SESSIONS
    with suppress(LeftoffError):
        yield "chat", log_folder(project, chat_folder)


def _project_at(folder: str) -> Project | None:
    root = Path(folder)
    try:
        return paths.project_of(root) if root.is_absolute() and root.is_dir() else None
    except (OSError, ValueError):
        return None
