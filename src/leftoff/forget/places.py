"""The files in which leftoff keeps something: in the user's folders, in projects, and where the settings put documents.

A folder that the user chose may contain files of others: there only documents of ours count, and what was left beside them.
Links are never followed. The names of our files are taken apart here, because a session's files are found by their names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from leftoff.archive.archive import NAME as ARCHIVE
from leftoff.catalogue.forgotten import MASK, letters_only
from leftoff.chat.chat_file import SUFFIX
from leftoff.chat.saved_chats import last_list_folder
from leftoff.config.load import FILE_NAME as SETTINGS
from leftoff.errors import StorageError, describe_os_error
from leftoff.forget.matcher import Matcher
from leftoff.live.installed import REGISTRY_NAME, is_program
from leftoff.pause.usage_state import FOLDER as USAGE
from leftoff.platform import clock, files, large_files, locks, paths
from leftoff.platform.paths import Project
from leftoff.platform.register import Register
from leftoff.search.documents import (
    document_folders,
    has_generated_name,
    is_chat,
    is_folder,
    is_ours,
    is_pause,
)
from leftoff.sessions.learned_windows import WINDOWS_FOLDER as WINDOWS
from leftoff.sessions.live_state import FOLDER as STATES
from leftoff.storage.file_store import PREFIX, parse_file_name
from leftoff.workspace import Workspace

_DOCUMENTS = {".md", ".json", ".gz"}
_SHARED = {SETTINGS, "project", ".gitignore"}  # in a project's folder: for all who work on it
_MAX_IGNORE_BYTES = 64 * 1024
# Files beside a document: an unfinished change, a version that was put aside, and what a killed writer left.
_BESIDE = re.compile(
    r"\.?(?P<of>.+?)(?:\.patch|\.unsaved(?:-[0-9]+)?|\.mine|\.before-remote-[0-9]+|\.[0-9a-f]{12}\.tmp)"
)
_OF_AGENT = re.compile(r"[^-]+-(?P<id>.+?)(?:\.[a-z]+)+")
# How the files of each folder are named after a session.
_NAMES: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys((STATES, WINDOWS, "extractions", "pauses"), _OF_AGENT),
    ARCHIVE: re.compile(r"[^-]+-(?P<id>[^~]+?)(?:~[0-9A-Z-]+)?\.(?:json|tar\.zst(?:\.[0-9]+\.tmp)?)"),
    "outbox": re.compile(r"[0-9a-f]{12}\.(?P<id>.+?)(?:\.[0-9]{20}\.json|\.last)"),
    USAGE: re.compile(r"(?P<id>.+?)(?:\.[a-z]+)+"),
}
_LOG_NAME = re.compile(rf"{PREFIX}(?P<id>.+?)(?:\.(?:md|json|gz))+")
_CHAT_NAME = re.compile(rf"(?P<id>.+?)(?:_session_[0-9_]+)?{re.escape(SUFFIX)}")


def list_files(projects: Sequence[str], workspace: Workspace) -> Iterator[Path]:
    """Yield all documents of ours: in the user's folders and in those of these projects, but not what the user wrote for us."""
    folders = {paths.data_folder(), paths.state_folder(), *_project_folders(projects)}
    not_ours = {*settings_files(projects), *_ignore_files(projects)}
    for folder in sorted(folders):
        for parent, _, names in os.walk(folder):
            inner = (Path(parent, name) for name in sorted(names))
            yield from (each for each in inner if each not in not_ours and not is_program(each))
    yield from _files_elsewhere(projects, folders, workspace)


def files_below(place: Path) -> Iterator[Path]:
    """Yield the files in a folder, or the file itself. A link counts as a file, because what it points to is not ours."""
    if place.is_symlink() or not place.is_dir():
        yield from [place] if os.path.lexists(place) else []
        return
    for parent, folders, names in os.walk(place):
        inner = (Path(parent, name) for name in folders)
        yield from (each for each in inner if each.is_symlink())
        yield from (Path(parent, name) for name in names)


def settings_files(projects: Sequence[str]) -> Iterator[Path]:
    """Yield what the user wrote for leftoff here and in these projects, and what says where leftoff is installed."""
    named = {folder / SETTINGS for folder in {paths.config_folder(), *_project_folders(projects)}}
    # Without it, leftoff could not be uninstalled without a trace.
    named.add(paths.data_folder() / REGISTRY_NAME)
    ignoring = (each for each in _ignore_files(projects) if each.is_file() and not each.is_symlink())
    changed = {each for each in ignoring if files.read_small_file(each, _MAX_IGNORE_BYTES) != paths.GITIGNORE}
    return (each for each in sorted(named | changed) if each.is_file())


def _ignore_files(projects: Sequence[str]) -> set[Path]:
    return {folder / ".gitignore" for folder in _project_folders(projects)}


def _project_folders(projects: Sequence[str]) -> set[Path]:
    """Return the folders of ours in these projects, as far as they exist and are not links."""
    roots = (Path(project) for project in projects)
    found = {paths.find_project(root).folder for root in roots if root.is_absolute() and root.is_dir()}
    return {folder for folder in found if not folder.is_symlink()}


def _files_elsewhere(projects: Sequence[str], folders: set[Path], workspace: Workspace) -> Iterator[Path]:
    """Yield our documents in other folders: those of the settings, of the register, and of the last list of chats."""
    settings = workspace.settings
    written = Register(folder=paths.data_folder()).written_paths()
    noted = {str(Path(each).parent) for each in written if Path(each).is_absolute()}
    named = {*document_folders(projects, settings.resume_logs.storage_dir, settings.chat.folder)}
    for folder in sorted(Path(each) for each in named | {*filter(is_folder, noted | last_list_folder())}):
        if not any(folder.is_relative_to(each) for each in folders):
            yield from documents_in(folder, written)


def documents_of_folder(project: Project) -> list[Path]:
    """Return what is in the folder that leftoff keeps for a project, without what is shared with others."""
    if project.folder.is_symlink() or not project.folder.is_dir():
        return []
    return sorted(each for each in project.folder.iterdir() if each.name not in _SHARED)


def users_documents(project: Project) -> list[Path]:
    """Return the user's own documents in the project that leftoff wrote into or may use, such as a resume state."""
    noted = map(Path, Register(folder=paths.data_folder()).noted_paths())
    ours = documents_of_folder(project)
    return sorted(
        each
        for each in noted
        if each.is_relative_to(project.root) and each.is_file() and not is_below(each, ours)
    )


def is_below(path: Path, places: Collection[Path]) -> bool:
    """Whether a path is one of these places, or inside of one."""
    return any(each in places for each in (path, *path.parents))


def documents_of(project: Project, workspace: Workspace) -> list[Path]:
    """Return the project's logs and chats in folders that the user chose, with what is left beside them."""
    written = Register(folder=paths.data_folder()).written_paths()
    # A written file that still exists may be one that people edit, as a project's state: it stays.
    gone = {each for each in written if not os.path.lexists(each)}
    found = _files_elsewhere([str(project.root)], {project.folder}, workspace)
    return [
        each
        for each in found
        if _is_ours(each, gone) and paths.find_project(each.parent).root == project.root
    ]


def documents_in(folder: Path, written: Collection[str]) -> list[Path]:
    """Return the files in a folder of the user's choice that are ours, or were left beside one of ours."""
    try:
        return sorted(each for each in folder.iterdir() if each.is_file() and _is_ours(each, written))
    except OSError as error:
        raise StorageError(f"{folder}: cannot be listed: {describe_os_error(error)}.", path=folder) from error


def _is_ours(path: Path, written: Collection[str]) -> bool:
    document = document_of(path)
    if document.suffix not in _DOCUMENTS:
        return False
    if is_ours(document, written):
        return True
    if document == path or os.path.lexists(document):
        return False
    # Left beside a document that is gone: ours if a writer was killed, or if the id is one that a program generates.
    is_half = path.suffix == ".tmp" and parse_file_name(document.name) is not None
    return is_half or has_generated_name(document.name)


def document_of(path: Path) -> Path:
    """Return the document that a file was left beside; any other path unchanged."""
    beside = _BESIDE.fullmatch(path.name)
    return path if beside is None else path.with_name(beside["of"])


def finish_changes(paths_of_matches: Iterable[Path]) -> list[Path]:
    """Finish changes that were begun, because half a change cannot be masked; return the files that may hold a match now."""
    found = dict.fromkeys(paths_of_matches)
    for path in [*found]:
        if path.suffix == ".patch" and (document := document_of(path)) != path:
            # A change that no longer fits raises an error and is kept beside the document.
            with locks.hold(path.parent / files.LOCK_NAME), suppress(StorageError):
                large_files.finish_patch(document)
            found |= dict.fromkeys(each for each in path.parent.iterdir() if document_of(each) == document)
    return [path for path in found if path.exists()]


def is_named_after(path: Path, session_id: str) -> bool:
    """Whether a file belongs to a session by its name. Only a UUID counts anywhere in the name; other ids may be words."""
    if clock.is_uuid(session_id):
        return session_id in path.name
    named = document_of(path).stem if _name_form(path) is _CHAT_NAME else _id_in_name(path)
    return named == session_id


def is_named_by(path: Path, matcher: Matcher) -> bool:
    """Whether the id in a file's name holds a match; the rest of the name is ours."""
    return matcher.is_in(_id_in_name(path))


def must_be_deleted(path: Path, matcher: Matcher) -> bool:
    """Whether a file must be deleted because its name holds a match; a part of a generated id is a coincidence."""
    named = _id_in_name(path)
    if named is None or not matcher.is_in(named):
        return False
    return not clock.is_uuid(named) or not letters_only(matcher.mask(named).replace(MASK, ""))


def _id_in_name(path: Path) -> str | None:
    form = _name_form(path)
    found = form and form.fullmatch(document_of(path).name.removeprefix(".").removesuffix(".lock"))
    return found["id"] if found else None


def _name_form(path: Path) -> re.Pattern[str] | None:
    """Return how such a file is named after a session; None where its name is all ours, as that of a pause."""
    document = document_of(path)
    if is_pause(path):
        return None
    if path.parent.parent in {paths.data_folder(), paths.state_folder()} and path.parent.name in _NAMES:
        return _NAMES[path.parent.name]
    if document.name.startswith(PREFIX):
        return _LOG_NAME
    is_left_beside = document != path and not document.exists()
    return _CHAT_NAME if document.suffix == SUFFIX and (is_chat(document) or is_left_beside) else None
