"""The documents that leftoff itself writes (resume logs, pauses, chats): which files they are, and what is indexed of them.

In ``.leftoff`` and in leftoff's own folders every file counts. In a folder that the user chose, a file counts only if it
starts like a chat, has the name and form of a resume log, or is in the register of what this machine wrote.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from leftoff.chat.chat_file import SUFFIX
from leftoff.chat.page import looks_like_id
from leftoff.chat.saved_chats import INDEX_FILE as INDEX
from leftoff.errors import LeftoffError
from leftoff.pause.folders import SESSIONS
from leftoff.platform import clock, paths
from leftoff.platform.files import open_regular_file, read_regular_file
from leftoff.platform.paths import Project
from leftoff.platform.register import Register
from leftoff.search.pieces import Piece, PieceKind, Source, SourceType, redact_and_shorten
from leftoff.storage.file_store import PARTS, parse_file_name
from leftoff.workspace import Capture, log_folder

_MAX_BYTES = 4 * 1024 * 1024  # of a document; one that is larger came from elsewhere
_HEADING = re.compile(rb"^#{1,6} ", re.MULTILINE)
_SESSION = re.compile(r"^(?:session-)?(.+)$")
_HEADER_BYTES = 4096
_MAX_JSON_BYTES = 16 * 1024 * 1024
# How a chat starts: a renamed one is still recognised, one quoted further below is not.
_CHAT_START = re.compile(rb"# .* Conversation\n\n\*\*Session ID:\*\* \S+\n\*\*Date:\*\* ")
_LOG_TITLE = b"# Session Resume Log: "
_LOG_KEYS = {"session_id", "context_metrics"}
_INDEX_KEYS = {"schema", "chats"}


def document_folders(
    projects: Iterable[str], storage_dir: str, chat_folder: str
) -> dict[str, tuple[SourceType, str]]:
    """Return the existing folders with documents of these projects, each with their kind and the project."""
    wanted = expected_folders(projects, storage_dir, chat_folder)
    return {place: whose for place, whose in wanted.items() if is_folder(place)}


def expected_folders(
    projects: Iterable[str], storage_dir: str, chat_folder: str
) -> dict[str, tuple[SourceType, str]]:
    """Return the same including folders that do not exist yet."""
    return {
        str(place): (kind, folder)
        for folder in projects
        for kind, place in _folders_of(folder, storage_dir, chat_folder)
    }


def is_folder(place: str) -> bool:
    """Return whether documents may be read there; a link may lead anywhere."""
    return Path(place).is_dir() and not Path(place).is_symlink()


def find_documents(folder: str, kind: SourceType, project: str) -> Iterator[Source]:
    """Yield the documents in a folder, without links, very large files, and files that are not leftoff's."""
    try:
        folder.encode()
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except (OSError, UnicodeEncodeError):  # a name that is not UTF-8 cannot be stored
        return
    is_all_ours = not is_user_folder(Path(folder))
    written = frozenset() if is_all_ours else Register(folder=paths.data_folder()).written_paths()
    for entry in entries:
        if not entry.name.endswith(".md") or not entry.is_file(follow_symlinks=False):
            continue
        stat = entry.stat(follow_symlinks=False)
        if stat.st_size > _MAX_BYTES or not (is_all_ours or is_ours(Path(entry.path), written)):
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


def document_pieces(source: Source, capture: Capture) -> list[Piece]:
    """Return one piece per heading with the text below it."""
    try:
        content = read_regular_file(Path(source.path), _MAX_BYTES, follow_links=False)
    except OSError:
        return []
    starts = [0, *(found.start() for found in _HEADING.finditer(content) if found.start()), len(content)]
    kind: PieceKind = source.type if source.type != "session" else "log"
    pieces, redactor = [], capture.redactor
    for start, end in pairwise(starts):
        text = content[start:end].decode("utf-8", "replace")
        if not text.strip():
            continue
        clean = redact_and_shorten(text, (lambda whole: whole) if redactor is None else redactor.redact)
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
        return paths.find_project(root) if root.is_absolute() and root.is_dir() else None
    except (OSError, ValueError):
        return None


def is_user_folder(folder: Path) -> bool:
    """Return whether a folder may contain files of others, because it is not one of leftoff's own."""
    own = (paths.data_folder(), paths.state_folder())
    return paths.PROJECT_FOLDER not in folder.parts and not any(folder.is_relative_to(each) for each in own)


def is_ours(path: Path, written: Collection[str]) -> bool:
    """Return whether leftoff wrote a file; ``written`` are the paths in the register."""
    return str(path) in written or is_chat(path) or is_log(path) or _is_index(path)


def has_generated_name(name: str) -> bool:
    """Return whether a file name contains a generated id, as only leftoff's documents do."""
    if (named := parse_file_name(name)) is not None:
        return clock.is_uuid(named[0]) or looks_like_id(named[0])
    return name.endswith(SUFFIX) and looks_like_id(name.removesuffix(SUFFIX))


def is_chat(path: Path) -> bool:
    """Return whether a file is a saved chat: it starts like one, or with its own name as session id."""
    top = _read_top(path) if path.suffix == SUFFIX else b""
    return (
        f"**Session ID:** {path.stem}\n".encode("utf-8", "surrogateescape") in top
        or _CHAT_START.match(top) is not None
    )


def is_log(path: Path) -> bool:
    """Return whether a file is a resume log or part of one; the other part may be damaged."""
    named = parse_file_name(path.name)
    if named is None:
        return False
    beside = (path.with_name(path.name.removesuffix(named[1]) + part) for part in PARTS)
    return any(_looks_like_log(each) for each in (path, *beside))


def is_pause(path: Path) -> bool:
    """Return whether a file is among the pauses of a project, and not in a folder that the user named so."""
    return path.parent.name == SESSIONS and not is_user_folder(path.parent)


def _looks_like_log(path: Path) -> bool:
    plain = path.name.removesuffix(".gz")
    if plain.endswith(".md"):
        return _read_top(path).startswith(_LOG_TITLE)
    return _has_keys(path, _LOG_KEYS)


def _is_index(path: Path) -> bool:
    """Return whether a file is the index of a chat folder."""
    return path.name == INDEX and _has_keys(path, _INDEX_KEYS)


def _has_keys(path: Path, keys: set[str]) -> bool:
    try:
        said = json.loads(_read(path, _MAX_JSON_BYTES))
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and keys <= said.keys()


def _read(path: Path, size_bytes: int = _MAX_BYTES) -> bytes:
    """Return the beginning of a file, uncompressed; empty if it cannot be read or is a link."""
    try:
        with open_regular_file(path, follow_links=False) as file:
            return (gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file).read(size_bytes)
    except (OSError, EOFError, zlib.error):
        return b""


def _read_top(path: Path) -> bytes:
    return _read(path, _HEADER_BYTES)
