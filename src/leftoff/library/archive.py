"""The archive: finished sessions kept compressed, so that an agent's own clean-up loses nothing.

One ``.tar.zst`` per session with its transcript and the files beside it, byte for byte, unredacted, readable by this user
alone; beside it a small ``.json`` that says what it is. The copy takes its name when it is whole. A session that went on is
archived anew; where its files no longer begin with what they were (cut short, written anew, gone), the older copy stays and the new
one gets a dated name. Until a new copy is known by its facts, the one that it replaces stays. Restoring never overwrites, and checks what it restores.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from io import BufferedReader
from itertools import chain, count
from pathlib import Path
from typing import IO, Any, cast

from leftoff.errors import DocumentError, InvalidIdError, NotFoundError, StorageError
from leftoff.library import zstd
from leftoff.model.values import dataclass
from leftoff.model.wire import SCHEMAS, upgraded
from leftoff.system import files, ids, reasons

_PACKED = ".tar.zst"
_ZSTD_SUFFIX = ".zst"
_CHUNK = 1024 * 1024
_DATED = "~"  # before the date in the name of a second copy; no id holds it


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
    name: str | None = None  # of its files in the archive, without their endings; None: it is not there yet

    @property
    def copy(self) -> str:
        """What tells it from other copies of the session: when it was made, as ``20260106T120000Z``."""
        return (self.name or "").partition(_DATED)[2] or _stamp(self.archived_at)

    @property
    def transcript(self) -> str:
        """Where the session's own file stood."""
        return self.files[0].path


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """The archive in a folder."""

    folder: Path

    def keep(self, what: Archived, sources: Sequence[Path]) -> Archived:
        """Put a session in; older copies go of which all stands in the new one. ``files`` and ``packed_bytes`` are found out."""
        files.make_folder(self.folder)
        base = _base(what.agent, what.session_id)
        older = self._copies(base)
        partial = self.folder / f".{base}{_PACKED}.{os.getpid()}.tmp"
        try:
            packed = _packed(partial, sources, older)
            contained = [each for each in older if _is_within(each, packed, sources[0])]
            name = self._free(base, what.archived_at, older)
            size = partial.stat().st_size
            Path(partial).replace(self.folder / f"{name}{_PACKED}")
        except OSError as error:
            raise StorageError(
                f"{sources[0]}: not archived: {reasons.words(error)}.", path=sources[0]
            ) from error
        finally:
            partial.unlink(missing_ok=True)
        done = replace(what, files=tuple(each for each, _ in packed), packed_bytes=size, name=name)
        self._note(done)
        for each in contained:
            self.remove(each)
        for half in self._without_facts(base) if older else ():
            with suppress(OSError):
                half.unlink()
        return self._renamed(done, contained[0].name) if contained else done

    def sessions(self) -> list[Archived]:
        """All that can be read, newest first; a broken entry hides no other."""
        return sorted(self._all(), key=lambda each: each.archived_at, reverse=True)

    def of_several_copies(self) -> list[Archived]:
        """Every copy of the sessions of which there are several; no others are looked at."""
        dated = self.folder.glob(f"*{_DATED}*.json") if self.folder.is_dir() else ()
        bases = {path.name.partition(_DATED)[0] for path in dated}
        return [each for base in sorted(bases) for each in self._copies(base) if self.place(each).exists()]

    def restore(self, what: Archived) -> list[Path]:
        """Put its files back where they stood: those that are missing. StorageError where another stands in the place."""
        standing = [each for each in what.files if os.path.lexists(each.path)]
        other = next((each.path for each in standing if _digest(Path(each.path)) != each.sha256), None)
        if other is not None:
            raise StorageError(
                f"{other}: another file stands there. Move it away, then try again.", path=other
            )
        missing = {str(number): each for number, each in enumerate(what.files) if each not in standing}
        return _unpacked(self.place(what), missing)

    def unpacked(self, what: Archived, folder: Path) -> Path:
        """The session's own file, unpacked into ``folder``."""
        first = what.files[0]
        there = replace(first, path=str(folder / Path(first.path).name))
        _unpacked(self.place(what), {"0": there})
        return Path(there.path)

    def place(self, what: Archived) -> Path:
        """Where the copy stands."""
        return self.folder / f"{what.name or _base(what.agent, what.session_id)}{_PACKED}"

    def orphans(self) -> list[Path]:
        """What nobody can list: copies without a readable word of what they are, and halves that a killed process left behind."""
        found = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        known = {self.place(each) for each in self._all()}
        return [
            path
            for path in found
            if path.suffix == ".tmp" or (path.name.endswith(_PACKED) and path not in known)
        ]

    def remove(self, what: Archived) -> None:
        """Take a copy out for good; where that fails, it is still listed."""
        place = self.place(what)
        try:
            for path in (place, _facts(place)):
                path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{place}: not removed: {reasons.words(error)}.", path=place) from error

    def _note(self, what: Archived) -> None:
        said = {key: value for key, value in asdict(what).items() if key != "name"}
        facts = json.dumps({"schema": SCHEMAS["archived"]} | said).encode()
        files.write_file(_facts(self.place(what)), facts)

    def _renamed(self, what: Archived, name: str | None) -> Archived:
        """The copy under the name of the one that it replaced; it has both until the new one is known, or where links are not."""
        done = replace(what, name=name)
        try:
            os.link(self.place(what), self.place(done))
        except OSError:
            return what
        self._note(done)
        self.remove(what)
        return done

    def _copies(self, base: str) -> list[Archived]:
        """Those that are told of a session. Only where there is a first are others looked for: the folder may hold very many."""
        first = self.folder / f"{base}.json"
        found = [first, *sorted(self.folder.glob(f"{base}{_DATED}*.json"))] if first.exists() else []
        return [each for each in map(_read, found) if each is not None]

    def _without_facts(self, base: str) -> list[Path]:
        """Other copies of a session of which a killed process said nothing yet."""
        found = self.folder.glob(f"{base}{_DATED}*{_PACKED}")
        return [path for path in found if not _facts(path).exists()]

    def _free(self, base: str, archived_at: str, older: Sequence[Archived]) -> str:
        """A name and a date that no other copy has, also none that cannot be read."""
        dates, date = {each.copy for each in older}, _stamp(archived_at)
        others = (f"{date}-{number}" for number in count(2))
        dated = (f"{base}{_DATED}{each}" for each in chain((date,), others) if each not in dates)
        return next(name for name in chain((base,), dated) if not (self.folder / f"{name}.json").exists())

    def _all(self) -> Iterator[Archived]:
        found = sorted(self.folder.glob("*.json")) if self.folder.is_dir() else ()
        return (each for each in map(_read, found) if each is not None)


def looked_into(copy: Path, is_it: Callable[[BufferedReader], bool]) -> bool:
    """Whether any of the files in a copy is such a one. NotFoundError, StorageError or DocumentError where nobody can tell."""
    with _reading(copy) as tar:
        contents = (content for member in tar if (content := tar.extractfile(member)) is not None)
        return any(is_it(cast("BufferedReader", content)) for content in contents)


def contains(file: IO[bytes], needles: Sequence[bytes]) -> bool:
    """Whether any of the bytes stand in the file, read piece by piece."""
    longest, tail = max(map(len, needles), default=0), b""
    while chunk := file.read(_CHUNK):
        window = tail + chunk
        if any(needle in window for needle in needles):
            return True
        tail = window[-longest:]
    return False


def _base(agent: str, session_id: str) -> str:
    """What the first copy is called. Ids come from transcripts: one that cannot be a file's name is replaced by its hash."""
    try:
        name = ids.checked(session_id)
    except InvalidIdError:
        name = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{ids.checked(agent, what='agent id')}-{name}"


def _stamp(archived_at: str) -> str:
    return re.sub(r"[^0-9A-Za-z]", "", archived_at)


def _read(facts: Path) -> Archived | None:
    """What stands beside a copy; None where that cannot be read."""
    with suppress(OSError, ValueError, LookupError, TypeError, DocumentError):
        said: dict[str, Any] = upgraded("archived", json.loads(facts.read_bytes()), where=str(facts))
        kept = tuple(ArchivedFile(**each) for each in said["files"])
        values = {name: value for name, value in said.items() if name != "schema"}
        if kept:
            return Archived(**(values | {"files": kept, "name": facts.name.removesuffix(".json")}))
    return None


_Packed = tuple[ArchivedFile, Mapping[int, str]]  # with the digests of its beginnings, by their size


def _packed(partial: Path, sources: Sequence[Path], older: Sequence[Archived]) -> list[_Packed]:
    """Read each file once: what goes in is what the digests are of, also when it grows meanwhile."""
    sizes = {each.size_bytes for copy in older for each in copy.files}
    fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    kept = []
    with os.fdopen(fd, "wb") as raw:
        with zstd.opened(raw, "wb") as file, tarfile.open(fileobj=file, mode="w|") as tar:
            for number, source in enumerate(sources):
                kept.append(_add(tar, str(number), source, sizes))
        raw.flush()
        os.fsync(raw.fileno())
    return kept


def _is_within(older: Archived, packed: Sequence[_Packed], transcript: Path) -> bool:
    """Whether each file of an older copy is the beginning of one that was packed now: the same, or moved with its session."""
    begins = {each.path: digests for each, digests in packed}
    is_packed = transcript.suffix == _ZSTD_SUFFIX and not older.transcript.endswith(_ZSTD_SUFFIX)
    name = transcript.with_suffix("") if is_packed else transcript
    was, now = str(Path(older.transcript).with_suffix("")), str(name.with_suffix(""))
    if older.transcript != str(transcript) and os.path.lexists(older.transcript):
        return False  # another session of the same id
    if is_packed:  # by its agent, since
        size = older.files[0].size_bytes
        begins[str(name)] = {size: zstd.plain_digest(transcript, size) or ""}
    return all(
        begins.get(now + each.path.removeprefix(was), {}).get(each.size_bytes) == each.sha256
        for each in older.files
    )


def _add(tar: tarfile.TarFile, name: str, source: Path, sizes: Iterable[int]) -> _Packed:
    with source.open("rb") as file:
        stat = os.fstat(file.fileno())
        facts = tarfile.TarInfo(name)
        facts.size, facts.mtime, facts.mode = stat.st_size, int(stat.st_mtime), 0o600
        reader = _Digesting(file, stat.st_size, sizes)
        tar.addfile(facts, reader)  # type: ignore[arg-type]  # it reads, which is all that is asked of it
    kept = ArchivedFile(
        path=str(source),
        size_bytes=stat.st_size,
        modified_ns=stat.st_mtime_ns,
        sha256=reader.digest.hexdigest(),
        mode=stat.st_mode & 0o777,
    )
    return kept, reader.begins


class _Digesting:
    """Reads as much of a file as it held when it was opened, and digests what it reads: all, and its beginnings of these sizes."""

    def __init__(self, file: IO[bytes], size: int, sizes: Iterable[int]) -> None:
        self._file, self._size, self._done, self.digest = file, size, 0, hashlib.sha256()
        self._sizes = sorted(each for each in sizes if 0 < each <= size)
        self.begins = {0: self.digest.hexdigest()}

    def read(self, size: int) -> bytes:
        data = self._file.read(min(size, self._size - self._done))
        at = 0
        while self._sizes and self._sizes[0] <= self._done + len(data):
            begun = self._sizes.pop(0)
            self.digest.update(data[at : begun - self._done])
            at = begun - self._done
            self.begins[begun] = self.digest.hexdigest()
        self.digest.update(data[at:])
        self._done += len(data)
        return data


@contextmanager
def _reading(copy: Path) -> Iterator[tarfile.TarFile]:
    """A copy that is read from its beginning; whatever is wrong with it is said in a sentence."""
    torn: tuple[type[Exception], ...] = (tarfile.TarError, *zstd.errors())
    try:
        with zstd.opened(copy, "rb") as file, tarfile.open(fileobj=file, mode="r|") as tar:
            yield tar
    except FileNotFoundError as error:
        raise NotFoundError(f"{copy}: the copy is gone.", path=copy) from error
    except OSError as error:
        raise StorageError(f"{copy}: the copy cannot be read: {reasons.words(error)}.", path=copy) from error
    except torn as error:
        raise DocumentError(f"{copy}: the copy is damaged: {error}.", path=copy) from error


def _unpacked(place: Path, missing: dict[str, ArchivedFile]) -> list[Path]:
    restored = []
    with _reading(place) as tar:
        for member in tar:
            wanted, content = missing.get(member.name), tar.extractfile(member)
            if wanted is not None and content is not None:
                restored.append(_put_back(wanted, content))
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
