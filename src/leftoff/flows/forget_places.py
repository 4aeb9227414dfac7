"""Every file in which leftoff keeps something, looked at byte by byte; and taking words out of them.

The library, the archive and databases have their own ways; all else is text. Lines go that hold what is to be forgotten; the words are
masked where a line is no unit.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from leftoff.errors import StorageError
from leftoff.flows.library_documents import document_folders
from leftoff.flows.settings import settings_here
from leftoff.library.forgotten import MASK
from leftoff.library.forgotten import NAME as REMEMBERED
from leftoff.library.shelf import NAME as LIBRARY
from leftoff.model.values import dataclass
from leftoff.system import clock, files, ids, locks, patches, paths, reasons
from leftoff.system.register import Register

_LINES = {".jsonl", ".log", ".1"}
_PACKED = ".gz"
# How a database of SQLite begins, and its rollback journal, and its write-ahead log in either order of bytes.
_DATABASE = (
    b"SQLite format 3\0",
    b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",
    b"\x37\x7f\x06\x82",
    b"\x37\x7f\x06\x83",
)
_BEGINNING_BYTES = 16
_LOG_OF_DATABASE = re.compile(r"-(?:wal|shm|journal)\Z")
_DOCUMENTS = {".md", ".json", ".gz"}
# What stands beside a document: a change that was begun, what could not be put in, what a killed writer left.
_BESIDE = re.compile(r"\.?(?P<of>.+?)(?:\.patch|\.unsaved(?:-[0-9]+)?|\.[0-9a-f]{12}\.tmp)")
# What may stand around a whole id in a file: no part of another id. Before it, the prefix of a file's name, or an escape of JSON.
_BEFORE_ID = rb"(?:(?<![A-Za-z0-9_.-])|(?<=/session-)|(?<=\\[nrtbf]))"
_AFTER_ID = rb"(?![A-Za-z0-9_-]|\.[A-Za-z0-9_-]*[0-9])"


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """Bytes that are looked for; ``is_name`` where they count only as a whole, not as a part of a longer name."""

    words: bytes
    is_name: bool = False

    @property
    def pattern(self) -> re.Pattern[bytes]:
        """What finds them."""
        words = re.escape(self.words)
        return re.compile(_BEFORE_ID + words + _AFTER_ID if self.is_name else words)

    def is_in(self, content: bytes) -> bool:
        """Whether they stand there."""
        return self.words in content and self.pattern.search(content) is not None


def kept_files(projects: Sequence[str]) -> Iterator[Path]:
    """All files in the user's folders of ours, and in the folders of these projects."""
    folders = {paths.data_folder(), paths.state_folder()}
    for project in projects:
        root = Path(project)
        if root.is_absolute() and root.is_dir():
            folder = paths.project_of(root).folder
            if not folder.is_symlink():
                folders.add(folder)
    for folder in sorted(folders):
        for parent, _, names in os.walk(folder):
            yield from (Path(parent, name) for name in sorted(names))
    yield from _kept_elsewhere(projects, folders)


def _kept_elsewhere(projects: Sequence[str], folders: set[Path]) -> Iterator[Path]:
    """Logs and chats that the settings put into other folders of the projects."""
    settings = settings_here().settings
    named = document_folders(projects, settings.resume_logs.storage_dir, settings.chat.folder)
    for folder in sorted(Path(each) for each in named):
        if not any(folder.is_relative_to(each) for each in folders):
            yield from sorted(
                each for each in folder.iterdir() if document_of(each).suffix in _DOCUMENTS and each.is_file()
            )


def document_of(kept: Path) -> Path:
    """The document that a file stands beside; any other is one itself."""
    beside = _BESIDE.fullmatch(kept.name)
    return kept if beside is None else kept.with_name(beside["of"])


def settle(holders: Sequence[Path]) -> list[Path]:
    """Finish the changes that were begun: half a change cannot be masked. The files that may hold now what these held."""
    found = dict.fromkeys(holders)
    for kept in holders:
        if kept.suffix == ".patch" and (document := document_of(kept)) != kept:
            with (
                locks.held(kept.parent / files.LOCK_NAME),
                suppress(StorageError),
            ):  # what could not be put in is aside
                patches.settle(document)
            found |= dict.fromkeys(each for each in kept.parent.iterdir() if document_of(each) == document)
    return [kept for kept in found if kept.exists()]


def needles_of(words: str) -> tuple[Needle, ...]:
    """How a text stands in files: as it is, and as JSON writes it, with letters beyond ASCII escaped or not."""
    forms = {words, json.dumps(words)[1:-1], json.dumps(words, ensure_ascii=False)[1:-1]}
    encoded = sorted({form.encode("utf-8", "surrogatepass") for form in forms}, key=len, reverse=True)
    return tuple(Needle(words=form) for form in encoded)


def needles_of_id(session_id: str) -> tuple[Needle, ...]:
    """How a session id stands in files. A UUID is part of no other; ``session-1`` would be found in ``session-10``."""
    return (Needle(words=session_id.encode("utf-8", "surrogatepass"), is_name=not ids.is_uuid(session_id)),)


def holding(kept: Path, needles: Sequence[Needle]) -> bool:
    """Whether the file, or what is compressed in it, holds any of them; one that vanishes meanwhile holds nothing."""
    try:
        content = content_of(kept)
        return any(needle.is_in(content) for needle in needles)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StorageError(f"{kept}: cannot be read: {reasons.words(error)}.", path=kept) from error


def content_of(kept: Path) -> bytes:
    """The bytes, unpacked where they are packed."""
    data = b"" if kept.is_symlink() else kept.read_bytes()
    if kept.suffix == _PACKED:
        with suppress(OSError, EOFError, zlib.error):
            return gzip.decompress(data)
    return data


def is_text(kept: Path) -> bool:
    """Whether it is one that is worked on here: neither the library's, nor a store's, nor the archive's."""
    return (
        not kept.name.startswith(LIBRARY)
        and kept.name != REMEMBERED
        and kept.suffix != ".zst"
        and not _is_database(kept)
    )


def _is_database(kept: Path) -> bool:
    """Whether SQLite keeps it, whatever it is called, or a log of its beside such a file: one changed byte destroys it."""
    main = kept.with_name(_LOG_OF_DATABASE.sub("", kept.name))
    return main.suffix == ".sqlite" or any(_beginning(each).startswith(_DATABASE) for each in (kept, main))


def _beginning(path: Path) -> bytes:
    try:
        if path.is_symlink():
            return b""
        with path.open("rb") as file:
            return file.read(_BEGINNING_BYTES)
    except OSError:
        return b""


def drop_lines(kept: Path, needles: Sequence[Needle]) -> None:
    """Take out the lines of a list that hold any of them."""
    lines = kept.read_bytes().splitlines(keepends=True)
    rest = (line for line in lines if not any(needle.is_in(line) for needle in needles))
    files.write_file(kept, b"".join(rest))


def mask(kept: Path, needles: Sequence[Needle]) -> None:
    """Put a mask in their place; a document that this machine wrote stays one that it wrote."""
    register = Register(folder=paths.data_folder())
    was_written = kept.suffix in {".md", ".json", ".yaml"} and register.standing(kept) == "written"
    content = content_of(kept)
    for needle in needles:
        content = needle.pattern.sub(lambda _: MASK.encode(), content)
    files.write_file(kept, gzip.compress(content, mtime=0) if kept.suffix == _PACKED else content)
    if was_written:
        register.note_written(kept, kept.stem.removeprefix("session-"), clock.now())


def has_lines(kept: Path) -> bool:
    """Whether each line of the file stands for itself."""
    return kept.suffix in _LINES
