"""Writing so that a crash, a full disk or a second writer never leaves half of anything.

One file: written beside its place, synced, renamed. A *set* of files that belong together (L15): all written and synced
first, then a journal names the renames to do; from that moment on the set counts as written, and whoever comes next
finishes the renames if we did not live to. Readers of a set go through ``settled``. Lines: appended whole, in one write,
under the lock, after mending a torn end (L11, L12). Temporaries of writers that were killed are swept up by later ones.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from leftoff.errors import OutsideFolderError, StorageError
from leftoff.model.quick_json import loads
from leftoff.system import clock, locks, reasons

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all this
if TYPE_CHECKING:
    from typing import IO

LOCK_NAME = ".lock"
JOURNAL_NAME = ".journal"
HEAD_BYTES = 512
_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700
_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{12}\.tmp", re.DOTALL)
_LARGEST_JOURNAL_BYTES = 1024 * 1024
_STALE_SECONDS = 3600  # nobody takes so long to write one file
_APPENDING = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_LOOKING = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_CREATING = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_DRAFT_BUFFER_BYTES = 1024 * 1024
_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def make_folder(folder: Path) -> None:
    """The folder and those missing above it, for this user alone; one that is there already stays as it is."""
    try:
        if not folder.parent.exists():
            make_folder(folder.parent)
        folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
    except OSError as error:
        raise _trouble(folder, error) from error


def write_file(path: Path, data: bytes) -> None:
    """Put ``data`` at ``path``: readers see the old file or the new one, and after a crash too."""
    make_folder(path.parent)
    temporary = _temporary(path)
    try:
        _write_synced(temporary, data)
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        _discard([temporary])
        raise _trouble(path, error) from error


def create_file(path: Path, data: bytes) -> bool:
    """Put ``data`` at ``path`` only if nothing is there; False when something is. Never overwrites (L13)."""
    make_folder(path.parent)
    temporary = _temporary(path)
    try:
        _write_synced(temporary, data)
        _link(temporary, path, data)
        _sync_folder(path.parent)
    except FileExistsError:
        return False
    except OSError as error:
        raise _trouble(path, error) from error
    finally:
        _discard([temporary])
    return True


@contextmanager
def drafted(path: Path) -> Iterator[IO[bytes]]:
    """A large file, written piece by piece under a name that nobody looks at; it takes its own when the block ends well.

    On any trouble nothing is left; what a killed writer left is removed by the next one in that folder.
    """
    make_folder(path.parent)
    sweep_killed(path.parent)
    temporary = _temporary(path)
    try:
        fd = os.open(temporary, _CREATING, _PRIVATE_FILE)
        with os.fdopen(fd, "w+b", buffering=_DRAFT_BUFFER_BYTES) as file:
            yield file
            file.flush()
            os.fsync(fd)
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise _trouble(path, error) from error
    finally:
        _discard([temporary])


def _link(temporary: Path, path: Path, data: bytes) -> None:
    """Give the file its name; unlike a rename, this fails when the name is taken."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        _write_in_place(path, data)


def _write_in_place(path: Path, data: bytes) -> None:
    """On a stick or a share: the name is still taken exclusively, only a crash may leave the file half written."""
    try:
        _write_synced(path, data)
    except FileExistsError:
        raise
    except OSError:
        _discard([path])
        raise


def write_set(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put all of ``files`` (name → content) into ``folder``: readers through ``settled`` see all of them or none."""
    _require_names(files)
    if folder.is_symlink():
        raise OutsideFolderError(
            f"{folder}: this is a symbolic link; leftoff writes only into a real folder.", path=folder
        )
    make_folder(folder)
    with locks.held(folder / LOCK_NAME):
        _finish(folder)
        sweep_killed(folder)
        temporaries = {name: _temporary(folder / name) for name in files}
        try:
            for name, data in files.items():
                _refuse_folder(folder / name)
                _write_synced(temporaries[name], data)
            _write_journal(folder, {name: temporary.name for name, temporary in temporaries.items()})
        except OSError as error:
            # The journal first: it must not name half a set.
            _discard([folder / JOURNAL_NAME, *temporaries.values()])
            raise _trouble(folder, error) from error
        _finish(folder)


@contextmanager
def settled(folder: Path) -> Iterator[None]:
    """While the block runs, no set in ``folder`` is half written: one that was left so is finished first."""
    if not folder.is_dir():
        yield
        return
    while True:
        with locks.held(folder / LOCK_NAME, shared=True):
            # Looked for under the lock: without it, a writer could die between our look and our reading.
            if not _is_plain(folder / JOURNAL_NAME):
                yield
                return
        with locks.held(folder / LOCK_NAME):
            _finish(folder)


def read_set(folder: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Those of the named files that exist, all of the same writing. Links and folders of such a name are passed over."""
    wanted = [*names]
    _require_names(wanted)
    with settled(folder):
        return {name: _content(folder / name) for name in wanted if _is_plain(folder / name)}


def read_plain(path: Path, most_bytes: int) -> bytes | None:
    """What stands in a small file of ours; None where there is none, or a link, a folder, a device, or more than that."""
    try:
        fd = os.open(path, _LOOKING)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most_bytes:
            return None
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(most_bytes)
    except OSError:
        return None
    finally:
        os.close(fd)


def sweep_killed(folder: Path) -> None:
    """Remove what writers left in ``folder`` who were killed long ago, before their journal stood."""
    _discard(_stale(folder))


def left_by_killed(folder: Path) -> list[Path]:
    """What writers in ``folder`` did not come to name, who were killed long ago; the next one there removes their drafts."""
    named = (_TEMPORARY.fullmatch(path.name) for path in _stale(folder))
    return [folder / each[1] for each in named if each is not None]


def discard_temporaries(path: Path) -> None:
    """Remove whatever a killed writer left of this very file. The caller holds the lock under which it is written."""
    with suppress(OSError), os.scandir(path.parent) as entries:
        _discard([path.parent / entry.name for entry in entries if _is_temporary_of(path.name, entry.name)])


def append_lines(path: Path, lines: bytes, *, lock: Path | None = None, sync: bool = False) -> None:
    """Add whole lines at the end, in one write. ``lock`` defaults to the folder's; writers must agree on it.

    A file whose last line was torn by a crash gets a line end first, so that the damage stays in that one line. A write
    that the disk takes only in part is taken back.
    """
    if not lines.endswith(b"\n"):
        raise ValueError("append_lines takes whole lines: the last byte must be a line end.")
    # Said with text: building a Path takes longer than the write.
    with locks.held(lock or f"{os.path.dirname(path) or os.curdir}{os.sep}{LOCK_NAME}"):
        try:
            _append(os.open(path, _APPENDING | os.O_CREAT, _PRIVATE_FILE), lines, sync=sync)
        except OSError as error:
            raise _trouble(path, error) from error


def extend_file(path: Path, lines_after: Callable[[bytes], bytes], *, sync: bool = False) -> bool:
    """Add whole lines to a file that is there, as ``append_lines`` does; False when it is not. The caller holds its lock.

    ``lines_after`` makes them from the file's first bytes, which may say what the lines have to agree with.
    """
    try:
        fd = os.open(path, _APPENDING)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _trouble(path, error) from error
    try:
        _append(fd, lines_after(os.pread(fd, HEAD_BYTES, 0)), sync=sync)
    except OSError as error:
        raise _trouble(path, error) from error
    return True


def _append(fd: int, lines: bytes, *, sync: bool) -> None:
    """Write the lines and close the file, whatever happens."""
    try:
        size = os.lseek(fd, 0, os.SEEK_END)
        if size and os.pread(fd, 1, size - 1) != b"\n":
            lines = b"\n" + lines
        written = 0
        try:
            written = os.write(fd, lines)
        finally:
            if written != len(lines):
                with suppress(OSError):  # then the torn end stays, and the next writer mends it
                    os.ftruncate(fd, size)  # we hold the lock, so nobody has written behind us
        if written != len(lines):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def _write_journal(folder: Path, renames: Mapping[str, str]) -> None:
    """From here on the set counts as written. The journal itself appears whole or not at all."""
    import json  # noqa: PLC0415 - sets of files are written seldom

    temporary = _temporary(folder / JOURNAL_NAME)
    try:
        _write_synced(temporary, json.dumps(renames).encode())
        os.replace(temporary, folder / JOURNAL_NAME)
    except OSError:
        _discard([temporary])
        raise
    _sync_folder(folder)


def _finish(folder: Path) -> None:
    """Do the renames that a journal names; those already done are passed over. The caller holds the lock.

    A journal can come with somebody's repository: only a temporary of ours is moved, and only to the name it was made for.
    """
    try:
        if not _is_plain(folder / JOURNAL_NAME):
            return
        for name, temporary in _renames(folder / JOURNAL_NAME).items():
            if _is_plain(folder / temporary):
                with suppress(IsADirectoryError):  # a folder took the name; the others must not wait for it
                    os.replace(folder / temporary, folder / name)
        _sync_folder(folder)
        (folder / JOURNAL_NAME).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"{folder}: a set of files is written but not all in place: {reasons.words(error)}. "
            "It is finished when somebody next reads or writes here.",
            path=folder,
        ) from error


def _renames(journal: Path) -> dict[str, str]:
    """What a journal says, as far as it can be ours."""
    if journal.stat().st_size > _LARGEST_JOURNAL_BYTES:
        return {}
    try:
        said = loads(journal.read_bytes())
    except (ValueError, RecursionError):
        return {}
    pairs = said.items() if isinstance(said, dict) else ()
    return {
        name: temporary for name, temporary in pairs if _is_name(name) and _is_temporary_of(name, temporary)
    }


def _stale(folder: Path) -> list[Path]:
    stale = clock.now().timestamp() - _STALE_SECONDS
    with suppress(OSError), os.scandir(folder) as entries:
        return [
            folder / entry.name
            for entry in entries
            if _TEMPORARY.fullmatch(entry.name)
            and entry.is_file(follow_symlinks=False)
            and entry.stat(follow_symlinks=False).st_mtime < stale
        ]
    return []


def _require_names(names: Iterable[str]) -> None:
    for name in names:
        if not _is_name(name):
            raise ValueError(
                f"{name!r} cannot be a file of a set: names only, and none that begins with a dot."
            )


def _is_name(name: str) -> bool:
    return bool(name) and Path(name).name == name and not name.startswith(".") and "\0" not in name


def _is_temporary_of(name: str, temporary: object) -> bool:
    match = _TEMPORARY.fullmatch(temporary) if isinstance(temporary, str) else None
    return match is not None and match[1] == name and Path(match[0]).name == match[0]


def _is_plain(path: Path) -> bool:
    """Whether a file stands there, and no link, folder or device."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a name no file can have
        return False
    except OSError as error:
        raise _unreadable(path, error) from error


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error


def _refuse_folder(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")


def _write_synced(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, _PRIVATE_FILE)
    with os.fdopen(fd, "wb", buffering=0) as file:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) or 0 :]
        os.fsync(fd)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # pragma: no cover - other systems cannot open folders
        return
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _discard(paths: list[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


def _trouble(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: not written: {reasons.words(error)}. What was there is intact.", path=path)


def _unreadable(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be read: {reasons.words(error)}.", path=path)
