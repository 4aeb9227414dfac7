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
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from leftoff.config.layers import FILE_NAME as SETTINGS
from leftoff.errors import StorageError
from leftoff.flows.chat_sessions import last_folder
from leftoff.flows.library_documents import document_folders, is_folder
from leftoff.flows.own_documents import is_called_as_ours, is_ours, is_pause
from leftoff.flows.pause_homes import PAUSES
from leftoff.flows.settings import settings_here
from leftoff.library.forgotten import MASK
from leftoff.library.normal import writings
from leftoff.library.shelf import NAME as LIBRARY
from leftoff.library.shelf import REMEMBERED
from leftoff.model.values import dataclass
from leftoff.stores.log_files import session_of
from leftoff.system import clock, files, ids, locks, patches, paths, reasons
from leftoff.system.paths import Project
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
ASIDE = ".mine"  # what the user called one's own log, as told, to make room for that of another machine
# What stands beside a document: a change that was begun, what could not be put in or was put aside, what a killed writer left.
_BESIDE = re.compile(
    rf"\.?(?P<of>.+?)(?:\.patch|\.unsaved(?:-[0-9]+)?|{re.escape(ASIDE)}|\.before-remote-[0-9]+|\.[0-9a-f]{{12}}\.tmp)"
)
# What may stand around a whole id in a file: no part of another id. Before it, the prefix of a file's name, or an escape of JSON.
_BEFORE_ID = rb"(?:(?<![A-Za-z0-9_.-])|(?<=/session-)|(?<=\\[nrtbf]))"
_AFTER_ID = rb"(?![A-Za-z0-9_-]|\.[A-Za-z0-9_-]*[0-9])"
# An id that is a mere word, as programs give them, names a session only where ids stand: as the value of such a key, in the names of
# transcripts and logs, at the top of a document, or by itself. In a sentence it is the word.
_WORD_AS_ID = (
    rb"""(?:(?<=_id": ")|(?<=_id":")|(?<="id": ")|(?<="id":"))%b(?=")"""
    rb"|(?<=_id: )%b(?=\s)|(?<=Session ID:\*\* )%b(?=\s)|(?<=Resume Log: )%b(?=\s)"
    rb"|(?<=/session-)%b(?=\.(?:md|json)\b)|(?<=/)%b(?=\.jsonl\b)|\A%b(?=\s*\Z)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """Bytes that are looked for; ``is_name`` where they count only as a whole, not as a part of a longer name."""

    words: bytes
    is_name: bool = False

    @property
    def pattern(self) -> re.Pattern[bytes]:
        """What finds them."""
        words = re.escape(self.words)
        if not self.is_name:
            return re.compile(words)
        if self.words.isalpha():
            return re.compile(_WORD_AS_ID.replace(b"%b", words))
        return re.compile(_BEFORE_ID + words + _AFTER_ID)

    def is_in(self, content: bytes) -> bool:
        """Whether they stand there."""
        return self.words in content and self.pattern.search(content) is not None


def kept_files(projects: Sequence[str]) -> Iterator[Path]:
    """All files in the user's folders of ours, and in the folders of these projects; what the user set is not among them."""
    folders = {paths.data_folder(), paths.state_folder(), *project_folders(projects)}
    settings = {*settings_files(projects), *_ignoring(projects)}
    for folder in sorted(folders):
        for parent, _, names in os.walk(folder):
            inner = (Path(parent, name) for name in sorted(names))
            yield from (each for each in inner if each not in settings)
    yield from _kept_elsewhere(projects, folders)


def files_below(place: Path) -> Iterator[Path]:
    """The files in a folder, or the one that it is. A link is a file itself: where it leads is not ours."""
    if place.is_symlink() or not place.is_dir():
        yield from [place] if os.path.lexists(place) else []
        return
    for parent, folders, names in os.walk(place):
        inner = (Path(parent, name) for name in folders)
        yield from (each for each in inner if each.is_symlink())
        yield from (Path(parent, name) for name in names)


def settings_files(projects: Sequence[str]) -> Iterator[Path]:
    """What the user wrote for us, here and in these projects, or into what we tell git: theirs to change."""
    named = {folder / SETTINGS for folder in {paths.config_folder(), *project_folders(projects)}}
    changed = {each for each in _ignoring(projects) if content_of(each) != paths.GITIGNORE}
    return (each for each in sorted(named | changed) if each.is_file())


def _ignoring(projects: Sequence[str]) -> set[Path]:
    """What tells git to leave our documents alone; the words are ours and nobody's content."""
    return {folder / ".gitignore" for folder in project_folders(projects)}


def project_folders(projects: Sequence[str]) -> set[Path]:
    """Where these projects have their documents, as far as they are there."""
    roots = (Path(project) for project in projects)
    found = {paths.project_of(root).folder for root in roots if root.is_absolute() and root.is_dir()}
    return {folder for folder in found if not folder.is_symlink()}


def _kept_elsewhere(projects: Sequence[str], folders: set[Path]) -> Iterator[Path]:
    """Documents of ours in other folders: where the settings put them, and where anything of ours knows that they were put."""
    settings = settings_here().settings
    written = Register(folder=paths.data_folder()).written_paths()
    noted = {str(Path(each).parent) for each in written if Path(each).is_absolute()}
    named = {*document_folders(projects, settings.resume_logs.storage_dir, settings.chat.folder)}
    for folder in sorted(Path(each) for each in named | {*filter(is_folder, noted | last_folder())}):
        if not any(folder.is_relative_to(each) for each in folders):
            yield from documents_in(folder, written)


def documents_of(project: Project) -> list[Path]:
    """Logs and chats of the project in folders of it that the user chose, and what stands beside them; not what people write in."""
    written = Register(folder=paths.data_folder()).written_paths()
    gone = {each for each in written if not os.path.lexists(each)}
    found = (each for each in _kept_elsewhere([str(project.root)], {project.folder}) if _is_kept(each, gone))
    return [each for each in found if paths.project_of(each.parent).root == project.root]


def documents_in(folder: Path, written: Collection[str]) -> list[Path]:
    """The files in a folder that the user chose which are ours, or stand beside one of ours."""
    try:
        return sorted(each for each in folder.iterdir() if each.is_file() and _is_kept(each, written))
    except OSError as error:
        raise StorageError(f"{folder}: cannot be listed: {reasons.words(error)}.", path=folder) from error


def _is_kept(each: Path, written: Collection[str]) -> bool:
    document = document_of(each)
    if document.suffix not in _DOCUMENTS:
        return False
    return is_ours(document, written) or _is_left_of_ours(each, document)


def _is_left_of_ours(each: Path, document: Path) -> bool:
    """Whether it stood beside a document of ours that is gone and that nobody knows: what a killed writer left, or by an id that
    a program drew. The user's own may be called as a log is.
    """
    if document == each or os.path.lexists(document):
        return False
    is_half = each.suffix == ".tmp" and session_of(document.name) is not None
    return is_half or is_called_as_ours(document.name)


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
    forms = {
        form
        for each, _ in writings(words)
        for form in (each, json.dumps(each)[1:-1], json.dumps(each, ensure_ascii=False)[1:-1])
    }
    encoded = sorted({form.encode("utf-8", "surrogatepass") for form in forms}, key=len, reverse=True)
    return tuple(Needle(words=form) for form in encoded)


def needles_of_id(session_id: str) -> tuple[Needle, ...]:
    """How a session id stands in files. A UUID is part of no other; ``session-1`` would be found in ``session-10``."""
    return (Needle(words=session_id.encode("utf-8", "surrogatepass"), is_name=not ids.is_uuid(session_id)),)


def holding(kept: Path, needles: Sequence[Needle]) -> bool:
    """Whether the file, or what is compressed in it, holds any of them; one that vanishes meanwhile holds nothing."""
    content = content_of(kept)
    return any(needle.is_in(content) for needle in needles)


def content_of(kept: Path) -> bytes:
    """The bytes, unpacked where they are packed; none of what is gone or is a link."""
    try:
        data = b"" if kept.is_symlink() else kept.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StorageError(f"{kept}: cannot be read: {reasons.words(error)}.", path=kept) from error
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
        and not is_database(kept)
    )


def is_database(kept: Path) -> bool:
    """Whether SQLite keeps it, whatever it is called, or a log of its beside such a file: one changed byte destroys it."""
    main = database_of(kept)
    return main.suffix == ".sqlite" or any(_beginning(each).startswith(_DATABASE) for each in (kept, main))


def database_of(kept: Path) -> Path:
    """The database that a file is, or is a log of."""
    return kept.with_name(_LOG_OF_DATABASE.sub("", kept.name))


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
    """Put a mask in their place."""
    content = content_of(kept)
    for needle in needles:
        content = needle.pattern.sub(lambda _: MASK.encode(), content)
    write_again(kept, content)


def write_again(kept: Path, content: bytes) -> None:
    """Other content for a file; a document that this machine wrote, or that the user trusts, stays one."""
    register = Register(folder=paths.data_folder())
    standing = register.standing(kept) if kept.suffix in {".md", ".json", ".yaml"} else "foreign"
    files.write_file(kept, packed(kept, content))
    if standing == "written":
        register.note_written(kept, kept.stem.removeprefix("session-"), clock.now())
    elif standing == "trusted":
        register.trust(kept, clock.now())


def packed(kept: Path, content: bytes) -> bytes:
    """The bytes as they stand in the file."""
    return gzip.compress(content, mtime=0) if kept.suffix == _PACKED else content


def has_lines(kept: Path) -> bool:
    """Whether each line of the file stands for itself; those of a pause are one story."""
    return kept.suffix in _LINES and not is_pause(kept) and kept.parent != paths.state_folder() / PAUSES
