"""The archive: finished sessions kept compressed, so that an agent's own clean-up loses nothing.

One ``.tar.zst`` per session with its transcript and the files beside it, byte for byte, unredacted, readable by this user
alone; beside it a small ``.json`` that says what it is. The copy takes its name when it is whole. A session that went on is
archived anew. Restoring never overwrites, and checks what it restores.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from leftoff.errors import DocumentError, InvalidIdError, NotFoundError, StorageError
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS, upgraded
from leftoff.system import files, ids, reasons

_MODULES = ("compression.zstd", "backports.zstd")
_LEVEL = 3
_PACKED = ".tar.zst"
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedFile:
    """One file of an archived session, and where it stood."""

    path: str
    size_bytes: int
    modified_ns: int
    sha256: str
    mode: int = 0o600  # who may read and write it


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """A session in the archive. ``archived_at`` is RFC 3339; ``first_prompt`` is redacted, unlike the copy."""

    agent: str
    session_id: str
    project: str | None
    first_prompt: str | None
    archived_at: str
    files: tuple[ArchivedFile, ...]
    packed_bytes: int

    @property
    def transcript(self) -> str:
        """Where the session's own file stood."""
        return self.files[0].path


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """The archive in a folder."""

    folder: Path

    def keep(self, what: Archived, sources: Sequence[Path]) -> Archived:
        """Put a session in, in place of an older copy of it. ``files`` and ``packed_bytes`` of ``what`` are found out."""
        files.make_folder(self.folder)
        place = self._place(what.agent, what.session_id)
        partial = place.with_name(f".{place.name}.{os.getpid()}.tmp")
        try:
            kept = _packed(partial, sources)
            done = _with(what, files=kept, packed_bytes=partial.stat().st_size)
            Path(partial).replace(place)
        except OSError as error:
            raise StorageError(f"{place}: not archived: {reasons.words(error)}.", path=place) from error
        finally:
            partial.unlink(missing_ok=True)
        files.write_file(_facts(place), json.dumps({"schema": SCHEMAS["archived"]} | asdict(done)).encode())
        return done

    def sessions(self) -> list[Archived]:
        """All that can be read, newest first; a broken entry hides no other."""
        return sorted(self._all(), key=lambda each: each.archived_at, reverse=True)

    def restore(self, what: Archived) -> list[Path]:
        """Put its files back where they stood: those that are missing. StorageError where another stands in the place."""
        place = self._place(what.agent, what.session_id)
        standing = [each for each in what.files if os.path.lexists(each.path)]
        other = next((each.path for each in standing if _digest(Path(each.path)) != each.sha256), None)
        if other is not None:
            raise StorageError(
                f"{other}: another file stands there. Move it away, then try again.", path=other
            )
        missing = {str(number): each for number, each in enumerate(what.files) if each not in standing}
        return _unpacked(place, missing)

    def unpacked(self, what: Archived, folder: Path) -> Path:
        """The session's own file, unpacked into ``folder``."""
        first = what.files[0]
        there = replace(first, path=str(folder / Path(first.path).name))
        _unpacked(self._place(what.agent, what.session_id), {"0": there})
        return Path(there.path)

    def holds(self, what: Archived, needles: Sequence[bytes]) -> bool:
        """Whether any of the bytes stand in the copy."""
        place = self._place(what.agent, what.session_id)
        with _opened(place, "rb") as file:
            return contains(file, needles)

    def orphans(self) -> list[Path]:
        """What a killed process left behind: copies without a word of what they are, and halves of copies."""
        found = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        return [
            path
            for path in found
            if path.suffix == ".tmp" or (path.name.endswith(_PACKED) and not _facts(path).exists())
        ]

    def may_hold(self, orphan: Path, needles: Sequence[bytes]) -> bool:
        """Whether the bytes stand in such a file; one that is torn may hold anything."""
        torn = _errors()
        try:
            with _opened(orphan, "rb") as file:
                return contains(file, needles)
        except OSError:
            return True
        except torn:
            return True

    def remove(self, what: Archived) -> None:
        """Take a session out for good."""
        place = self._place(what.agent, what.session_id)
        for path in (_facts(place), place):
            path.unlink(missing_ok=True)

    def _all(self) -> Iterator[Archived]:
        for path in sorted(self.folder.glob("*.json")) if self.folder.is_dir() else ():
            with suppress(OSError, ValueError, LookupError, TypeError, DocumentError):
                said: dict[str, Any] = upgraded("archived", json.loads(path.read_bytes()), where=str(path))
                kept = tuple(ArchivedFile(**each) for each in said["files"])
                values = {name: value for name, value in said.items() if name != "schema"}
                if kept:
                    yield Archived(**(values | {"files": kept}))

    def _place(self, agent: str, session_id: str) -> Path:
        """Ids come from transcripts: one that cannot be a file's name is replaced by its hash."""
        try:
            name = ids.checked(session_id)
        except InvalidIdError:
            name = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
        return self.folder / f"{ids.checked(agent, what='agent id')}-{name}{_PACKED}"


def contains(file: IO[bytes], needles: Sequence[bytes]) -> bool:
    """Whether any of the bytes stand in the file, read piece by piece."""
    longest, tail = max(map(len, needles), default=0), b""
    while chunk := file.read(_CHUNK):
        window = tail + chunk
        if any(needle in window for needle in needles):
            return True
        tail = window[-longest:]
    return False


def is_possible() -> bool:
    """Whether this Python can compress so."""
    try:
        _module()
    except StorageError:
        return False
    return True


def _with(what: Archived, *, files: tuple[ArchivedFile, ...], packed_bytes: int) -> Archived:
    return Archived(**(asdict(what) | {"files": files, "packed_bytes": packed_bytes}))


def _packed(partial: Path, sources: Sequence[Path]) -> tuple[ArchivedFile, ...]:
    """Read each file once: what goes in is what the digest is of, also when it grows meanwhile."""
    fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    kept = []
    with os.fdopen(fd, "wb") as raw:
        with _opened(raw, "wb") as file, tarfile.open(fileobj=file, mode="w|") as tar:
            for number, source in enumerate(sources):
                kept.append(_add(tar, str(number), source))
        raw.flush()
        os.fsync(raw.fileno())
    return tuple(kept)


def _add(tar: tarfile.TarFile, name: str, source: Path) -> ArchivedFile:
    with source.open("rb") as file:
        stat = os.fstat(file.fileno())
        facts = tarfile.TarInfo(name)
        facts.size, facts.mtime, facts.mode = stat.st_size, int(stat.st_mtime), 0o600
        reader = _Digesting(file, stat.st_size)
        tar.addfile(facts, reader)  # type: ignore[arg-type]  # it reads, which is all that is asked of it
    return ArchivedFile(
        path=str(source),
        size_bytes=stat.st_size,
        modified_ns=stat.st_mtime_ns,
        sha256=reader.digest.hexdigest(),
        mode=stat.st_mode & 0o777,
    )


class _Digesting:
    """Reads as much of a file as it held when it was opened, and digests what it reads."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left, self.digest = file, size, hashlib.sha256()

    def read(self, size: int) -> bytes:
        data = self._file.read(min(size, self._left))
        self._left -= len(data)
        self.digest.update(data)
        return data


def _unpacked(place: Path, missing: dict[str, ArchivedFile]) -> list[Path]:
    restored = []
    try:
        with _opened(place, "rb") as file, tarfile.open(fileobj=file, mode="r|") as tar:
            for member in tar:
                wanted, content = missing.get(member.name), tar.extractfile(member)
                if wanted is not None and content is not None:
                    restored.append(_put_back(wanted, content))
    except FileNotFoundError as error:
        raise NotFoundError(f"{place}: the copy is gone.", path=place) from error
    except _errors() as error:
        raise DocumentError(f"{place}: the copy is damaged: {error}.", path=place) from error
    return restored


def _put_back(wanted: ArchivedFile, content: IO[bytes]) -> Path:
    path = Path(wanted.path)
    files.make_folder(path.parent)
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    digest = hashlib.sha256()
    try:
        fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            while chunk := content.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
        if digest.hexdigest() != wanted.sha256:
            raise DocumentError(
                f"{path}: the copy in the archive is damaged; nothing was restored.", path=path
            )
        partial.chmod(wanted.mode & 0o777)
        os.utime(partial, ns=(wanted.modified_ns, wanted.modified_ns))
        os.link(partial, path)  # never over another
    except OSError as error:
        raise StorageError(f"{path}: not restored: {reasons.words(error)}.", path=path) from error
    finally:
        partial.unlink(missing_ok=True)
    return path


def _facts(place: Path) -> Path:
    return place.with_name(place.name.removesuffix(_PACKED) + ".json")


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def _opened(file: Path | IO[bytes], mode: str) -> IO[bytes]:
    zstd = _module()
    opened: IO[bytes] = zstd.ZstdFile(file, mode, level=_LEVEL) if mode == "wb" else zstd.ZstdFile(file, mode)
    return opened


def _errors() -> tuple[type[Exception], ...]:
    return (tarfile.TarError, EOFError, _module().ZstdError)


def _module() -> Any:
    for name in _MODULES:
        with suppress(ModuleNotFoundError):
            return import_module(name)
    raise StorageError(
        f"The archive needs zstd, which this Python lacks. Type: {sys.executable} -m pip install backports.zstd"
    )
