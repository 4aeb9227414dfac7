"""Show and trust documents that this machine did not write: resume logs, saved chats, project states and others.

A document is shown with what leftoff would do with it and why it waits; trusting it remembers its exact content, so whatever comes from
elsewhere later waits again.
The settings of a project need no trust, because they can run nothing and send nothing; they are shown too. Links are skipped, and
a folder that leads elsewhere or cannot be read does not hide the others.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any

from leftoff.chat import chat_file
from leftoff.chat.saved_chats import trusted_part
from leftoff.config import load
from leftoff.config.settings import Settings
from leftoff.core.wire import JsonValue
from leftoff.errors import (
    LeftoffError,
    NotFoundError,
    NotTrustedError,
)
from leftoff.pause.folders import SESSIONS
from leftoff.pause.snapshot import LATEST_NAME
from leftoff.platform import clock, paths
from leftoff.platform.files import MAX_DOCUMENT_BYTES, read_regular_file
from leftoff.platform.paths import Project
from leftoff.platform.register import Judgement, Register, Standing
from leftoff.projects import layout
from leftoff.projects.find_project import load_projects
from leftoff.storage import file_store
from leftoff.workspace import Workspace, log_folder

_FIRST_LINES = 6
_PROJECT_LAYER = "project file"
_PAIRS = {".md": ".json", ".json": ".md"}
_SUFFIXES = {".md", ".json", ".yaml", ".jsonl", ".txt"}
# A project's settings may set only what is harmless anyway; the pointer to the last pause is not a document.
_NO_DOCUMENTS = {"configuration.yaml", LATEST_NAME}
_LOG = "a resume log: offered to the next session here"
_OLDER_LOG = f"a resume log that {file_store.CLAUDE_MPM} left: leftoff resume can continue from it"
_CHAT = "a saved chat: its summary is given to the agent that continues it"
_PAUSE = "a pause: leftoff pause list shows it"
_STATE = "the state of project {}: given, with its reading list, to an agent that continues the project"
_STEPS = "the steps of project {}: the next task that an agent is given is read from them"
_OTHER = "a document: used only where you name it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as it is now, and whether it is trusted. ``what`` says what it is and what leftoff would do with it."""

    path: Path
    size_bytes: int
    sha256: str
    first_lines: tuple[str, ...]
    standing: Standing
    why: str  # it waits; empty if it does not
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSetting:
    """A setting that the project's own file makes; ``line`` is 1-based, None if not known."""

    key: str
    value: JsonValue
    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What a project's files would make leftoff do: documents that wait for the user's trust, and settings in force.

    ``passed_over`` says which settings are invalid or not allowed in a project, and which documents cannot be used.
    """

    documents: tuple[Document, ...]
    settings_file: Path
    settings: tuple[ProjectSetting, ...]
    passed_over: tuple[str, ...]


def waiting(workspace: Workspace) -> Waiting:
    """Return everything in the project that waits for trust, and its settings. Nothing is trusted or created."""
    register, files = Register(folder=paths.data_folder()), ProjectFiles(workspace)
    readable: list[Document] = []
    config = workspace.config
    passed_over = [str(each) for each in config.mistakes if each.origin.layer == _PROJECT_LAYER]
    for path in files.all():
        try:
            readable.append(_document(path, register, files))
        except LeftoffError as error:
            passed_over.append(error.message)
    return Waiting(
        documents=tuple(document for document in readable if document.standing == "foreign"),
        settings_file=workspace.project.folder / load.FILE_NAME,
        settings=tuple(
            ProjectSetting(key=dotted, value=_value(config.settings, dotted), line=origin.line)
            for dotted, origin in config.origins.items()
            if origin.layer == _PROJECT_LAYER
        ),
        passed_over=tuple(passed_over),
    )


def documents(named: Iterable[Path], workspace: Workspace) -> list[Document]:
    """Return the documents in these files and folders, and the other file of each resume log's pair."""
    register, files = Register(folder=paths.data_folder()), ProjectFiles(workspace)
    wanted = dict.fromkeys(each for path in named for each in _expand(path))
    return [_document(path, register, files) for path in wanted]


def trust(shown: Iterable[Document]) -> list[Document]:
    """Trust the documents as they were shown; if one has changed since, refuse all of them."""
    register, now = Register(folder=paths.data_folder()), clock.now()
    new = [document for document in shown if document.standing == "foreign"]
    for document in new:
        if hashlib.sha256(_content(document.path)).hexdigest() != document.sha256:
            raise NotTrustedError(
                f"{document.path}: it has changed since it was shown; nothing was trusted. Read it again.",
                path=document.path,
            )
    for document in new:
        register.trust(_resolve_parent(document.path), now)  # edits of it are looked up by its path
    return new


def _expand(path: Path) -> Iterator[Path]:
    """Return the documents in a folder, or the file; of a resume log, Markdown and JSON, because both are used."""
    if path.is_dir() and not path.is_symlink():
        inside = [*_documents_in(path)]
        if not inside:
            raise NotFoundError(f"{path}: this folder has no documents.", path=path)
        yield from inside
        return
    yield path
    other = path.with_suffix(_PAIRS.get(path.suffix, ""))
    if path.name.startswith("session-") and path.suffix in _PAIRS and other.is_file():
        yield other


def _value(settings: Settings, dotted: str) -> JsonValue:
    value: Any = reduce(getattr, dotted.split("."), settings)
    json_value: JsonValue = value  # what a project may set is a number, a text or a mapping of texts
    return json_value


def _document(path: Path, register: Register, files: ProjectFiles) -> Document:
    content, part = _content(path), files.used_part(path)
    judgement = files.judge(path, register) if part is None else register.judge_part(path, part)
    lines = content[:4000].decode("utf-8", "replace").splitlines()
    return Document(
        path=path,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        first_lines=tuple(islice((line for line in lines if line.strip()), _FIRST_LINES)),
        standing=judgement.standing,
        why=judgement.why,
        what=files.what(path),
    )


def _content(path: Path) -> bytes:
    try:
        return read_regular_file(path, MAX_DOCUMENT_BYTES, follow_links=False)
    except FileNotFoundError as error:
        raise NotFoundError(
            f"{path}: no such file. leftoff trust lists what waits here.", path=path
        ) from error


class ProjectFiles:
    """The files of a project that leftoff would use, wherever the settings say that they are."""

    def __init__(self, workspace: Workspace) -> None:
        self._project = workspace.project
        settings = workspace.settings
        self._logs = _folder_or_none(self._project, settings.resume_logs.storage_dir)
        self._chats = _folder_or_none(self._project, settings.chat.folder)
        self._older = file_store.claude_mpm_folder(self._project.root)
        self._states, self._steps = _project_documents(workspace)
        self._own = {_resolve_parent(path) for path in self._steps}

    def all(self) -> list[Path]:
        """Return each file once: those in the project's own folder, then those elsewhere."""
        own = self._project.folder
        found = dict.fromkeys(_documents_in(own) if own.is_dir() and not own.is_symlink() else ())
        for elsewhere in (
            self._states,
            self._steps,
            _logs_in(self._logs),
            _chats_in(self._chats),
            _logs_in(self._older),
        ):
            found |= dict.fromkeys(path for path in elsewhere if _is_regular_file(path))
        return [path for path in found if not self._is_chat(path) or _used_part(path) is not None]

    def what(self, path: Path) -> str:
        """Say what a document is, and what leftoff would do with it."""
        where = _resolve_parent(path)
        for kind, of_projects in ((_STATE, self._states), (_STEPS, self._steps)):
            project_id = next(
                (name for each, name in of_projects.items() if _resolve_parent(each) == where), None
            )
            if project_id is not None:
                return kind.format(project_id)
        kinds = {
            _OLDER_LOG: self._older,
            _LOG: self._logs,
            _CHAT: self._chats,
            _PAUSE: self._project.folder / SESSIONS,
        }
        there = (kind for kind, folder in kinds.items() if folder and where.parent == folder.resolve())
        return next(there, _OTHER)

    def judge(self, path: Path, register: Register) -> Judgement:
        """Judge a document; the steps of a project are the user's own."""
        return register.judge_own(path) if _resolve_parent(path) in self._own else register.judge(path)

    def used_part(self, path: Path) -> bytes | None:
        """Return the only part of a document that is ever used; None if that is all of it."""
        return _used_part(path) if self._is_chat(path) else None

    def _is_chat(self, path: Path) -> bool:
        return self.what(path) == _CHAT


def _documents_in(folder: Path) -> Iterator[Path]:
    """Return the documents at any depth, without hidden ones."""
    for path in sorted(folder.rglob("*")):
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        is_document = path.suffix in _SUFFIXES and path.name not in _NO_DOCUMENTS
        if is_document and not is_hidden and _is_regular_file(path):
            yield path


def _used_part(chat: Path) -> bytes | None:
    """Return what an agent is given of a chat; None if there is nothing to give."""
    try:
        saved = chat_file.load(chat)
    except LeftoffError:
        return None
    return None if saved.summary.text is None else trusted_part(saved.header, saved.summary.text)


def _folder_or_none(project: Project, setting: str) -> Path | None:
    """Return the folder that a setting names; None if it leads out of the project, as a link may."""
    with suppress(LeftoffError):
        folder = log_folder(project, setting)
        if not (project.folder.is_symlink() and folder.is_relative_to(project.folder)):
            return folder
    return None


def _project_documents(workspace: Workspace) -> tuple[dict[Path, str], dict[Path, str]]:
    """Return the state file of each project with the project's id, and the steps of those that have a state."""
    states, steps = dict[Path, str](), dict[Path, str]()
    with suppress(LeftoffError, OSError):
        for home in load_projects(workspace).homes:
            with suppress(LeftoffError):  # a link: refused wherever it is used
                states[layout.require_real_files(home).state] = home.id
                steps |= {home.part("steps"): home.id} if os.path.lexists(home.state) else {}
    return states, steps


def _logs_in(folder: Path | None) -> list[Path]:
    with suppress(LeftoffError):
        logs = [] if folder is None else file_store.list_log_files(folder)
        return sorted(path for log in logs for path in log.parts.values())
    return []


def _chats_in(folder: Path | None) -> list[Path]:
    if folder is None or folder.is_symlink():
        return []
    return sorted(folder.glob("*.md"))


def _resolve_parent(path: Path) -> Path:
    return Path(os.path.realpath(path.parent), path.name)


def _is_regular_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False
