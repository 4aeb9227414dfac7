"""The files of the archive: compressed copies of finished sessions, kept for when an agent deletes its own.

Each session has a ``.tar.zst`` with its transcript and the files beside it, byte for byte, unredacted and readable by this
user only, and a ``.json`` that describes it. A copy gets its name when it is complete. A session that continued replaces its
copy; if its files no longer begin with the archived content, the older copy stays and the new one gets a dated name. A
replaced copy is removed only after the new one is described. Restoring never overwrites, and verifies what it restores.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from io import BufferedReader
from itertools import chain, count
from pathlib import Path
from typing import IO, Any, cast

from leftoff.core.wire import SCHEMAS, upgrade_document
from leftoff.errors import DocumentError, InvalidIdError, NotFoundError, StorageError, describe_os_error
from leftoff.platform import clock, files, zstd

_COPY_SUFFIX = ".tar.zst"
_ZSTD_SUFFIX = ".zst"
_CHUNK = 1024 * 1024
_MAX_INFO_BYTES = 64 * 1024 * 1024
_DATE_SEPARATOR = "~"  # before the date in the name of a second copy; no id holds it


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedFile:
    """One file of an archived session and its original path."""

    path: str
    size_bytes: int
    modified_ns: int
    sha256: str
    mode: int = 0o600  # who may read and write it


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """An archived session. ``archived_at`` is RFC 3339; ``first_prompt`` is redacted, unlike the copy."""

    agent: str
    session_id: str
    project: str | None
    first_prompt: str | None
    archived_at: str
    files: tuple[ArchivedFile, ...]
    packed_bytes: int
    name: str | None = None  # of its files in the archive, without their endings; None: it is not there yet

    @property
    def copy(self) -> str:
        """The name of this copy among several: when it was made, such as ``20260106T120000Z``."""
        return (self.name or "").partition(_DATE_SEPARATOR)[2] or _stamp(self.archived_at)

    @property
    def transcript(self) -> str:
        """The original path of the transcript."""
        return self.files[0].path


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """The archive in a folder."""

    folder: Path

    def add(self, what: Archived, sources: Sequence[Path]) -> Archived:
        """Archive a session and remove older copies contained in the new one. Fills in ``files`` and ``packed_bytes``."""
        files.make_folder(self.folder)
        base = _base(what.agent, what.session_id)
        older = self._copies(base)
        partial = self.folder / f".{base}{_COPY_SUFFIX}.{os.getpid()}.tmp"
        try:
            packed = _pack(partial, sources, older)
            contained = [each for each in older if _is_contained(each, packed, sources[0])]
            name = self._free_name(base, what.archived_at, older)
            size = partial.stat().st_size
            Path(partial).replace(self.folder / f"{name}{_COPY_SUFFIX}")
        except OSError as error:
            raise StorageError(
                f"{sources[0]}: not archived: {describe_os_error(error)}.", path=sources[0]
            ) from error
        finally:
            partial.unlink(missing_ok=True)
        done = replace(what, files=tuple(each for each, _ in packed), packed_bytes=size, name=name)
        self._write_info(done)
        for each in contained:
            self.remove(each)
        for half in self._copies_without_info(base) if older else ():
            with suppress(OSError):
                half.unlink()
        return self._take_name(done, contained[0].name) if contained else done

    def sessions(self) -> list[Archived]:
        """Return all readable entries, newest first."""
        return sorted(self._all_copies(), key=lambda each: each.archived_at, reverse=True)

    def sessions_with_several_copies(self) -> list[Archived]:
        """Return every copy of the sessions that have several, without reading the others."""
        dated = self.folder.glob(f"*{_DATE_SEPARATOR}*.json") if self.folder.is_dir() else ()
        bases = {path.name.partition(_DATE_SEPARATOR)[0] for path in dated}
        return [
            each for base in sorted(bases) for each in self._copies(base) if self.copy_path(each).exists()
        ]

    def restore(self, what: Archived) -> list[Path]:
        """Restore the files that are missing. Raise StorageError if another file is in the place of one."""
        standing = [each for each in what.files if os.path.lexists(each.path)]
        other = next((each.path for each in standing if _digest(Path(each.path)) != each.sha256), None)
        if other is not None:
            raise StorageError(f"{other}: another file is there. Move it away, then try again.", path=other)
        missing = {str(number): each for number, each in enumerate(what.files) if each not in standing}
        return _unpack(self.copy_path(what), missing)

    def unpack(self, what: Archived, folder: Path) -> Path:
        """Unpack the transcript into ``folder``."""
        first = what.files[0]
        there = replace(first, path=str(folder / Path(first.path).name))
        _unpack(self.copy_path(what), {"0": there})
        return Path(there.path)

    def copy_path(self, what: Archived) -> Path:
        """Return the path of the copy."""
        return self.folder / f"{what.name or _base(what.agent, what.session_id)}{_COPY_SUFFIX}"

    def orphans(self) -> list[Path]:
        """Return copies without a readable description, and partial files of killed processes."""
        found = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        known = {self.copy_path(each) for each in self._all_copies()}
        return [
            path
            for path in found
            if path.suffix == ".tmp" or (path.name.endswith(_COPY_SUFFIX) and path not in known)
        ]

    def remove(self, what: Archived) -> None:
        """Delete a copy; if that fails, it is still listed."""
        place = self.copy_path(what)
        try:
            for path in (place, _info_path(place)):
                path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{place}: not removed: {describe_os_error(error)}.", path=place) from error

    def _write_info(self, what: Archived) -> None:
        said = {key: value for key, value in asdict(what).items() if key != "name"}
        facts = json.dumps({"schema": SCHEMAS["archived"]} | said).encode()
        files.write_file(_info_path(self.copy_path(what)), facts)

    def _take_name(self, what: Archived, name: str | None) -> Archived:
        """Rename the copy to the name of the one it replaced, with a link, so that it never has no name."""
        done = replace(what, name=name)
        try:
            os.link(self.copy_path(what), self.copy_path(done))
        except OSError:
            return what
        self._write_info(done)
        self.remove(what)
        return done

    def _copies(self, base: str) -> list[Archived]:
        """Return the copies of a session. Dated ones are looked up only if there is a first: the folder may be large."""
        first = self.folder / f"{base}.json"
        found = [first, *sorted(self.folder.glob(f"{base}{_DATE_SEPARATOR}*.json"))] if first.exists() else []
        return [each for each in map(_read_info, found) if each is not None]

    def _copies_without_info(self, base: str) -> list[Path]:
        """Return copies of a session that a killed process did not describe."""
        found = self.folder.glob(f"{base}{_DATE_SEPARATOR}*{_COPY_SUFFIX}")
        return [path for path in found if not _info_path(path).exists()]

    def _free_name(self, base: str, archived_at: str, older: Sequence[Archived]) -> str:
        """Return a name and date that no other copy has, readable or not."""
        dates, date = {each.copy for each in older}, _stamp(archived_at)
        others = (f"{date}-{number}" for number in count(2))
        dated = (f"{base}{_DATE_SEPARATOR}{each}" for each in chain((date,), others) if each not in dates)
        return next(name for name in chain((base,), dated) if not (self.folder / f"{name}.json").exists())

    def _all_copies(self) -> Iterator[Archived]:
        found = sorted(self.folder.glob("*.json")) if self.folder.is_dir() else ()
        return (each for each in map(_read_info, found) if each is not None)


def any_file_in_copy(copy: Path, is_it: Callable[[BufferedReader], bool]) -> bool:
    """Return whether ``is_it`` accepts any file of a copy. Raise an error if the copy cannot be read."""
    with _open_copy(copy) as tar:
        contents = (content for member in tar if (content := tar.extractfile(member)) is not None)
        return any(is_it(cast("BufferedReader", content)) for content in contents)


def _base(agent: str, session_id: str) -> str:
    """Return the name of the first copy. An id that cannot be a file name is replaced by its hash."""
    try:
        name = clock.check_id(session_id)
    except InvalidIdError:
        name = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{clock.check_id(agent, what='agent id')}-{name}"


def _stamp(archived_at: str) -> str:
    return re.sub(r"[^0-9A-Za-z]", "", archived_at)


def _read_info(facts: Path) -> Archived | None:
    """Read the description of a copy; None if that fails."""
    with suppress(OSError, ValueError, LookupError, TypeError, StorageError):
        content = files.read_regular_file(facts, _MAX_INFO_BYTES)
        said: dict[str, Any] = upgrade_document("archived", json.loads(content), where=str(facts))
        kept = tuple(ArchivedFile(**each) for each in said["files"])
        values = {name: value for name, value in said.items() if name != "schema"}
        if kept:
            return Archived(**(values | {"files": kept, "name": facts.name.removesuffix(".json")}))
    return None


_PackedFile = tuple[ArchivedFile, Mapping[int, str]]  # with the digests of its beginnings, by their size


def _pack(partial: Path, sources: Sequence[Path], older: Sequence[Archived]) -> list[_PackedFile]:
    """Pack the files, reading each once, so that the digests match the packed content even if a file grows meanwhile."""
    sizes = {each.size_bytes for copy in older for each in copy.files}
    fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    kept = []
    with os.fdopen(fd, "wb") as raw:
        with zstd.open_zstd(raw, "wb") as file, tarfile.open(fileobj=file, mode="w|") as tar:
            for number, source in enumerate(sources):
                kept.append(_add(tar, str(number), source, sizes))
        raw.flush()
        os.fsync(raw.fileno())
    return kept


def _is_contained(older: Archived, packed: Sequence[_PackedFile], transcript: Path) -> bool:
    """Return whether each file of an older copy is the beginning of a packed file, in place or moved with its session."""
    prefix_digests = {each.path: digests for each, digests in packed}
    is_packed = transcript.suffix == _ZSTD_SUFFIX and not older.transcript.endswith(_ZSTD_SUFFIX)
    name = transcript.with_suffix("") if is_packed else transcript
    was, now = str(Path(older.transcript).with_suffix("")), str(name.with_suffix(""))
    if older.transcript != str(transcript) and os.path.lexists(older.transcript):
        return False  # another session of the same id
    if is_packed:  # by its agent, since
        size = older.files[0].size_bytes
        prefix_digests[str(name)] = {size: zstd.digest_plain(transcript, size) or ""}
    return all(
        prefix_digests.get(now + each.path.removeprefix(was), {}).get(each.size_bytes) == each.sha256
        for each in older.files
    )


def _add(tar: tarfile.TarFile, name: str, source: Path, sizes: Iterable[int]) -> _PackedFile:
    with source.open("rb") as file:
        stat = os.fstat(file.fileno())
        facts = tarfile.TarInfo(name)
        facts.size, facts.mtime, facts.mode = stat.st_size, int(stat.st_mtime), 0o600
        reader = _DigestingReader(file, stat.st_size, sizes)
        tar.addfile(facts, reader)  # type: ignore[arg-type]  # it reads, which is all that is asked of it
    kept = ArchivedFile(
        path=str(source),
        size_bytes=stat.st_size,
        modified_ns=stat.st_mtime_ns,
        sha256=reader.digest.hexdigest(),
        mode=stat.st_mode & 0o777,
    )
    return kept, reader.prefix_digests


class _DigestingReader:
    """Reads a file up to its size at opening, and digests all of it as well as its beginnings of the given sizes."""

    def __init__(self, file: IO[bytes], size: int, sizes: Iterable[int]) -> None:
        self._file, self._size, self._done, self.digest = file, size, 0, hashlib.sha256()
        self._sizes = sorted(each for each in sizes if 0 < each <= size)
        self.prefix_digests = {0: self.digest.hexdigest()}

    def read(self, size: int) -> bytes:
        data = self._file.read(min(size, self._size - self._done))
        at = 0
        while self._sizes and self._sizes[0] <= self._done + len(data):
            begun = self._sizes.pop(0)
            self.digest.update(data[at : begun - self._done])
            at = begun - self._done
            self.prefix_digests[begun] = self.digest.hexdigest()
        self.digest.update(data[at:])
        self._done += len(data)
        return data


@contextmanager
def _open_copy(copy: Path) -> Iterator[tarfile.TarFile]:
    """Open a copy for reading, turning errors into ours."""
    torn: tuple[type[Exception], ...] = (tarfile.TarError, *zstd.decode_errors())
    if copy.exists() and not copy.is_file():  # reading from a pipe or device might never end
        raise StorageError(f"{copy}: the copy cannot be read: it is not a file.", path=copy)
    try:
        with zstd.open_zstd(copy, "rb") as file, tarfile.open(fileobj=file, mode="r|") as tar:
            yield tar
    except FileNotFoundError as error:
        raise NotFoundError(f"{copy}: the copy is gone.", path=copy) from error
    except OSError as error:
        raise StorageError(
            f"{copy}: the copy cannot be read: {describe_os_error(error)}.", path=copy
        ) from error
    except torn as error:
        raise DocumentError(f"{copy}: the copy is damaged: {error}.", path=copy) from error


def _unpack(place: Path, missing: dict[str, ArchivedFile]) -> list[Path]:
    restored = []
    with _open_copy(place) as tar:
        for member in tar:
            wanted, content = missing.get(member.name), tar.extractfile(member)
            if wanted is not None and content is not None:
                restored.append(_restore_file(wanted, content))
    return restored


def _restore_file(wanted: ArchivedFile, content: IO[bytes]) -> Path:
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
        raise StorageError(f"{path}: not restored: {describe_os_error(error)}.", path=path) from error
    finally:
        partial.unlink(missing_ok=True)
    return path


def _info_path(place: Path) -> Path:
    return place.with_name(place.name.removesuffix(_COPY_SUFFIX) + ".json")


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
