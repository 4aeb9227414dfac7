"""Let documents be used that this machine did not write: show what they are first, then remember their very content.

What a project's own settings do is told too: they are in force without a word, because they can run nothing and send nothing.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any

from leftoff.config import layers
from leftoff.config.settings import Settings
from leftoff.errors import LeftoffError, NotFoundError, NotTrustedError, StorageError, UsageError
from leftoff.flows.settings import settings_here
from leftoff.flows.trust_places import ProjectFiles, in_folder
from leftoff.model.values import dataclass
from leftoff.model.wire import JsonValue
from leftoff.system import clock, paths, reasons
from leftoff.system.register import Register, Standing

_FIRST_LINES = 6
_LARGEST_BYTES = 64 * 1024 * 1024
_OF_PROJECT = "project file"
_PAIRS = {".md": ".json", ".json": ".md"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as it stands now, and what it is to this machine."""

    path: Path
    size_bytes: int
    sha256: str
    first_lines: tuple[str, ...]
    standing: Standing
    what: str  # and what would be done with it


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectSetting:
    """A setting that the project's own file has put in force; ``line`` is 1-based, None where it is not known."""

    key: str
    value: JsonValue
    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What this project's files would make leftoff do: documents that wait for a word, and settings that need none.

    ``passed_over`` tells of settings that no project may make, or that are none, and of documents that cannot be used.
    """

    documents: tuple[Document, ...]
    settings_file: Path
    settings: tuple[ProjectSetting, ...]
    passed_over: tuple[str, ...]


def waiting(working_folder: Path) -> Waiting:
    """Everything of the project that the folder belongs to. Nothing is trusted or created."""
    register, files = Register(folder=paths.data_folder()), ProjectFiles(working_folder)
    found: list[Document] = []
    config = settings_here(working_folder)
    passed_over = [str(each) for each in config.mistakes if each.origin.layer == _OF_PROJECT]
    for path in files.all():
        try:
            found.append(_document(path, register, files))
        except LeftoffError as error:  # one that cannot be read hides no other
            passed_over.append(error.message)
    return Waiting(
        documents=tuple(document for document in found if document.standing == "foreign"),
        settings_file=paths.project_of(working_folder).folder / layers.FILE_NAME,
        settings=tuple(
            ProjectSetting(key=dotted, value=_value(config.settings, dotted), line=origin.line)
            for dotted, origin in config.origins.items()
            if origin.layer == _OF_PROJECT
        ),
        passed_over=tuple(passed_over),
    )


def documents(named: Iterable[Path], working_folder: Path) -> list[Document]:
    """The documents named, with the other half of a resume log's pair."""
    register, files = Register(folder=paths.data_folder()), ProjectFiles(working_folder)
    wanted = dict.fromkeys(each for path in named for each in _meant(path))
    return [_document(path, register, files) for path in wanted]


def trust(shown: Iterable[Document]) -> list[Document]:
    """Remember the documents as they were shown; one that has changed since is refused, and nothing is remembered."""
    register, now = Register(folder=paths.data_folder()), clock.now()
    new = [document for document in shown if document.standing == "foreign"]
    for document in new:
        if hashlib.sha256(_content(document.path)).hexdigest() != document.sha256:
            raise NotTrustedError(
                f"{document.path}: it has changed since it was shown; nothing was trusted. Read it again.",
                path=document.path,
            )
    for document in new:
        register.trust(document.path, now)
    return new


def _meant(path: Path) -> Iterator[Path]:
    """The file, or the documents in the folder; a resume log is Markdown and JSON, and both are read."""
    if path.is_dir() and not path.is_symlink():
        found = [*in_folder(path)]
        if not found:
            raise NotFoundError(f"{path}: there are no documents in this folder.", path=path)
        yield from found
        return
    yield path
    other = path.with_suffix(_PAIRS.get(path.suffix, ""))
    if path.name.startswith("session-") and path.suffix in _PAIRS and other.is_file():
        yield other


def _value(settings: Settings, dotted: str) -> JsonValue:
    value: Any = reduce(getattr, dotted.split("."), settings)
    named: JsonValue = value  # what a project may set is a number, a word or a mapping of words
    return named


def _document(path: Path, register: Register, files: ProjectFiles) -> Document:
    content, part = _content(path), files.used_part(path)
    lines = content[:4000].decode("utf-8", "replace").splitlines()
    return Document(
        path=path,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        first_lines=tuple(islice((line for line in lines if line.strip()), _FIRST_LINES)),
        standing=register.standing(path) if part is None else register.standing_of_part(path, part),
        what=files.what(path),
    )


def _content(path: Path) -> bytes:
    try:
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= _LARGEST_BYTES:
            return path.read_bytes()
    except FileNotFoundError as error:
        raise NotFoundError(
            f"{path}: no such file. leftoff trust lists what waits here.", path=path
        ) from error
    except (OSError, ValueError) as error:
        reason = reasons.words(error) if isinstance(error, OSError) else "no file can be called so"
        raise StorageError(f"{path}: cannot be read: {reason}.", path=path) from error
    if stat.S_ISREG(status.st_mode):
        raise UsageError(f"{path}: too large to be a document of leftoff.", path=path)
    raise UsageError(f"{path}: only a file can be trusted, no link, folder or device.", path=path)
