"""Let documents be used that this machine did not write: show what they are first, then remember their very content."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from leftoff.errors import NotFoundError, NotTrustedError, StorageError, UsageError
from leftoff.model.values import dataclass
from leftoff.system import clock, paths, reasons
from leftoff.system.register import Register, Standing

_FIRST_LINES = 6
_LARGEST_BYTES = 64 * 1024 * 1024
_KINDS = {".md", ".json", ".yaml", ".jsonl", ".txt"}
_PAIRS = {".md": ".json", ".json": ".md"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as it stands now, and what it is to this machine."""

    path: Path
    size_bytes: int
    sha256: str
    first_lines: tuple[str, ...]
    standing: Standing


def documents(named: Iterable[Path], working_folder: Path) -> list[Document]:
    """The documents named, with the other half of a resume log's pair; without any name all foreign ones of this project."""
    register = Register(folder=paths.data_folder())
    if wanted := [*dict.fromkeys(each for path in named for each in _meant(path))]:
        return [_document(path, register) for path in wanted]
    found = (_document(path, register) for path in _of_project(working_folder))
    return [document for document in found if document.standing == "foreign"]


def trust(shown: Iterable[Document]) -> list[Document]:
    """Remember the documents as they were shown; one that has changed since is refused, and nothing is remembered."""
    register, now = Register(folder=paths.data_folder()), clock.now()
    new = [document for document in shown if document.standing == "foreign"]
    for document in new:
        if _document(document.path, register).sha256 != document.sha256:
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
        found = [*_in_folder(path)]
        if not found:
            raise NotFoundError(f"{path}: there are no documents in this folder.", path=path)
        yield from found
        return
    yield path
    other = path.with_suffix(_PAIRS.get(path.suffix, ""))
    if path.name.startswith("session-") and path.suffix in _PAIRS and other.is_file():
        yield other


def _of_project(working_folder: Path) -> Iterator[Path]:
    folder = paths.project_of(working_folder).folder
    if folder.is_dir() and not folder.is_symlink():
        yield from _in_folder(folder)


def _in_folder(folder: Path) -> Iterator[Path]:
    """Documents at any depth. Settings are not among them: a project's file may set only what is harmless anyway."""
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix in _KINDS and path.name != "configuration.yaml" and not hidden and _is_plain(path):
            yield path


def _is_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _document(path: Path, register: Register) -> Document:
    content = _content(path)
    lines = content[:4000].decode("utf-8", "replace").splitlines()
    return Document(
        path=path,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        first_lines=tuple(islice((line for line in lines if line.strip()), _FIRST_LINES)),
        standing=register.standing(path),
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
