"""Which files of a project leftoff would use, wherever the settings let them stand, and what it would do with each.

Resume logs, saved chats, the states of projects, what a predecessor left, and whatever else is a document in ``.leftoff/``. Nothing
is created or decided here; links are passed over, and a folder that leads elsewhere or cannot be read hides no other.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from leftoff.errors import LeftoffError
from leftoff.flows.chat_sessions import handed_over, saved_at
from leftoff.flows.log_folder import log_folder
from leftoff.flows.pause_homes import SESSIONS
from leftoff.flows.project_homes import projects_here
from leftoff.flows.settings import settings_here
from leftoff.pauses.snapshot import LATEST_NAME
from leftoff.projects import layout
from leftoff.stores import log_files, predecessor
from leftoff.system import paths
from leftoff.system.paths import Project

_KINDS = {".md", ".json", ".yaml", ".jsonl", ".txt"}
# A project's settings may set only what is harmless anyway; the pointer to the last pause is no document.
_NO_DOCUMENTS = {"configuration.yaml", LATEST_NAME}
_LOG = "a resume log: offered to the next session here"
_OLDER_LOG = f"a resume log that {predecessor.NAME} left: leftoff resume can go on from it"
_CHAT = "a saved chat: its summary is handed to an agent that goes on from it"
_PAUSE = "a pause: leftoff pause list shows it"
_STATE = "the state of project {}: handed with its reading list to an agent that is to continue the project"
_OTHER = "a document: used only where you name it"


class ProjectFiles:
    """The files of the project that a folder belongs to, as far as leftoff would use them."""

    def __init__(self, working_folder: Path) -> None:
        self._project = paths.project_of(working_folder)
        settings = settings_here(working_folder).settings
        self._logs = _folder(self._project, settings.resume_logs.storage_dir)
        self._chats = _folder(self._project, settings.chat.folder)
        self._older = predecessor.folder_in(self._project.root)
        self._states = _states(working_folder)

    def all(self) -> list[Path]:
        """Each once: in the project's own folder, then wherever else."""
        found = dict.fromkeys(self._in_own_folder())
        for elsewhere in (self._states, _logs_in(self._logs), _chats_in(self._chats), _logs_in(self._older)):
            found |= dict.fromkeys(path for path in elsewhere if _is_plain(path))
        return [path for path in found if not self._is_chat(path) or used_part(path) is not None]

    def what(self, path: Path) -> str:
        """What it is, and what would be done with it."""
        where = _place(path)
        state = next((name for each, name in self._states.items() if _place(each) == where), None)
        if state is not None:
            return _STATE.format(state)
        kinds = {
            _OLDER_LOG: self._older,
            _LOG: self._logs,
            _CHAT: self._chats,
            _PAUSE: self._project.folder / SESSIONS,
        }
        there = (kind for kind, folder in kinds.items() if folder and where.parent == folder.resolve())
        return next(there, _OTHER)

    def used_part(self, path: Path) -> bytes | None:
        """All that is ever used of it, where that is known; None: the whole of it."""
        return used_part(path) if self._is_chat(path) else None

    def _is_chat(self, path: Path) -> bool:
        return self.what(path) == _CHAT

    def _in_own_folder(self) -> Iterator[Path]:
        folder = self._project.folder
        if folder.is_dir() and not folder.is_symlink():
            yield from in_folder(folder)


def in_folder(folder: Path) -> Iterator[Path]:
    """Documents at any depth."""
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix in _KINDS and path.name not in _NO_DOCUMENTS and not hidden and _is_plain(path):
            yield path


def used_part(chat: Path) -> bytes | None:
    """What an agent is told of a chat; None where there is nothing to be told."""
    try:
        saved = saved_at(chat)
    except LeftoffError:
        return None
    return None if saved.summary.text is None else handed_over(saved.header, saved.summary.text)


def _folder(project: Project, setting: str) -> Path | None:
    """The folder that a setting names; None where it leads out of the project, as a link may."""
    with suppress(LeftoffError):
        folder = log_folder(project, setting)
        if not (project.folder.is_symlink() and folder.is_relative_to(project.folder)):
            return folder
    return None


def _states(working_folder: Path) -> dict[Path, str]:
    """The states of the projects here, and whose each is."""
    found = {}
    with suppress(LeftoffError, OSError):
        for home in projects_here(working_folder).homes:
            with suppress(LeftoffError):  # a link: refused wherever it is used
                found[layout.checked(home).state] = home.id
    return found


def _logs_in(folder: Path | None) -> list[Path]:
    with suppress(LeftoffError):
        logs = [] if folder is None else log_files.found_in(folder)
        return sorted(path for log in logs for path in log.parts.values())
    return []


def _chats_in(folder: Path | None) -> list[Path]:
    if folder is None or folder.is_symlink():
        return []
    return sorted(folder.glob("*.md"))


def _place(path: Path) -> Path:
    return Path(os.path.realpath(path.parent), path.name)


def _is_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False
