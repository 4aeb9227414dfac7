"""Writes files so that a crash, a full disk or a second writer never leaves half of anything.

A file is written under a temporary name in the same folder, synced and renamed. Lines are appended whole, in one write, under
a lock. Temporary files of killed writers are removed by later ones. Files of others, such as an agent's settings, are replaced
only if they have not changed since they were read; links, mode and owner stay. See ``file_sets`` for files that belong together."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from leftoff.errors import StorageError, UnreadableFileError, describe_os_error
from leftoff.platform import clock, locks

if TYPE_CHECKING:
    from typing import IO

LOCK_NAME = ".lock"
HEAD_BYTES = 512
LARGEST_FILE_BYTES = 64 * 1024 * 1024  # of settings, registers and states; none is nearly as large
MAX_SETTINGS_BYTES = 1_000_000
MAX_DOCUMENT_BYTES = 16_000_000  # of a chat or pause in a project; a document from elsewhere may be anything
_PRIVATE_FILE = 0o600
_PRIVATE_FOLDER = 0o700
_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{12}\.tmp", re.DOTALL)
STALE_SECONDS = 3600  # longer than writing any file takes
_APPENDING = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_CREATING = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_DRAFT_BUFFER_BYTES = 1024 * 1024
_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def make_folder(folder: Path) -> None:
    """Create the folder and its missing parents, private to this user; an existing folder stays as it is."""
    try:
        if not folder.parent.exists():
            make_folder(folder.parent)
        folder.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
    except OSError as error:
        raise not_written(folder, error) from error


def is_folder(path: str | Path) -> bool:
    """Say whether a folder is there; False also for one that is behind a locked folder, or whose name no folder can have."""
    return os.path.isdir(path)


def write_file(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Replace the file at ``path``: readers see the old file or the new one.

    That holds after a crash too, unless ``sync`` is False, which is faster and suits what may be lost.
    """
    make_folder(path.parent)
    temporary = temporary_path(path)
    try:
        write_synced(temporary, data, sync=sync)
        os.replace(temporary, path)
        if sync:
            sync_folder(path.parent)
    except OSError as error:
        discard([temporary])
        raise not_written(path, error) from error


def create_file(path: Path, data: bytes) -> bool:
    """Write a new file; return False, and change nothing, if ``path`` exists."""
    make_folder(path.parent)
    temporary = temporary_path(path)
    try:
        write_synced(temporary, data)
        _link(temporary, path, data)
        sync_folder(path.parent)
    except FileExistsError:
        return False
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        discard([temporary])
    return True


@contextmanager
def atomic_writer(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file for writing; it is renamed to ``path`` if the block succeeds, and removed if it fails."""
    make_folder(path.parent)
    remove_stale_drafts(path.parent)
    temporary = temporary_path(path)
    try:
        fd = os.open(temporary, _CREATING, _PRIVATE_FILE)
        with os.fdopen(fd, "w+b", buffering=_DRAFT_BUFFER_BYTES) as file:
            yield file
            file.flush()
            os.fsync(fd)
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        raise not_written(path, error) from error
    finally:
        discard([temporary])


def _link(temporary: Path, path: Path, data: bytes) -> None:
    """Give the file its name; unlike a rename, this fails if the name exists."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        # On a USB stick or a network share the file is created directly; only a crash can leave it incomplete.
        try:
            write_synced(path, data)
        except FileExistsError:
            raise
        except OSError:
            discard([path])
            raise


def read_regular_file(path: Path, max_bytes: int, *, follow_links: bool = True) -> bytes:
    """Return the content of a file that may come from anyone, if it is a regular file of at most ``max_bytes``.

    A pipe would keep us waiting, a device never ends, and a sparse file of a terabyte costs its sender nothing. These, and a
    file that cannot be read, raise UnreadableFileError; a missing file raises FileNotFoundError.
    """
    with open_regular_file(path, follow_links=follow_links) as file:
        try:
            size_bytes = os.fstat(file.fileno()).st_size
            # One byte more than allowed: a file may grow meanwhile, and those in /proc have no size.
            data = b"" if size_bytes > max_bytes else file.read(max_bytes + 1)
        except OSError as error:
            raise _unreadable(path, error) from error
    if max(size_bytes, len(data)) > max_bytes:
        raise UnreadableFileError(path, f"it is larger than {_describe_size(max_bytes)}")
    return data


def open_regular_file(path: Path, *, follow_links: bool = True, buffer_bytes: int = -1) -> IO[bytes]:
    """Open a regular file for reading, without waiting for a writer of a pipe; the errors are those of ``read_regular_file``."""
    try:
        fd = os.open(path, _READING if follow_links else _READING | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise _unreadable(path, error) from error
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        os.close(fd)
        kind = "folder" if stat.S_ISDIR(mode) else "pipe, socket or device"
        raise UnreadableFileError(path, f"it is a {kind}, not a file")
    return os.fdopen(fd, "rb", buffer_bytes)


def _describe_size(size_bytes: int) -> str:
    return f"{size_bytes // 1_000_000} MB" if size_bytes >= 1_000_000 else f"{size_bytes // 1000} KB"


def _unreadable(path: Path, error: OSError | ValueError) -> UnreadableFileError:
    reason = describe_os_error(error) if isinstance(error, OSError) else "no file can have this name"
    return UnreadableFileError(path, reason)


def read_small_file(path: Path, most_bytes: int) -> bytes | None:
    """Return the content of a regular file; None if it is missing, larger than ``most_bytes``, or a link, folder or device."""
    try:
        return read_regular_file(path, most_bytes, follow_links=False)
    except OSError:
        return None


def remove_stale_drafts(folder: Path) -> None:
    """Remove old temporary files that killed writers left in ``folder``."""
    discard(_stale_temporaries(folder))


def abandoned_files(folder: Path) -> list[Path]:
    """Return the files that killed writers in ``folder`` did not finish."""
    matches = (_TEMPORARY.fullmatch(path.name) for path in _stale_temporaries(folder))
    return [folder / match[1] for match in matches if match is not None]


def discard_temporaries(path: Path) -> None:
    """Remove the temporary files that killed writers left of this file. The caller holds its lock."""
    with suppress(OSError), os.scandir(path.parent) as entries:
        discard([path.parent / entry.name for entry in entries if is_temporary_of(path.name, entry.name)])


def append_lines(
    path: Path,
    lines: bytes,
    *,
    lock: Path | str | None = None,
    sync: bool = False,
    timeout_seconds: float | None = None,
) -> None:
    """Append whole lines in one write. ``lock`` defaults to the folder's lock; all writers must use the same one.

    If a crash cut off the last line, a line end is added first, so that only that line is damaged. A write that the disk
    accepts only in part is undone.
    """
    if not lines.endswith(b"\n"):
        raise ValueError("append_lines takes whole lines: the last byte must be a line end.")
    # Built as text: creating a Path takes longer than the write.
    lock = lock or f"{os.path.dirname(path) or os.curdir}{os.sep}{LOCK_NAME}"
    with locks.hold(lock, timeout_seconds=timeout_seconds):
        try:
            _append(os.open(path, _APPENDING | os.O_CREAT, _PRIVATE_FILE), lines, sync=sync)
        except OSError as error:
            raise not_written(path, error) from error


def extend_file(path: Path, lines_after: Callable[[bytes], bytes], *, sync: bool = False) -> bool:
    """Append to an existing file as ``append_lines`` does; return False if it does not exist. The caller holds its lock.

    ``lines_after`` gets the first bytes of the file and returns the lines.
    """
    try:
        fd = os.open(path, _APPENDING)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise not_written(path, error) from error
    try:
        _append(fd, lines_after(os.pread(fd, HEAD_BYTES, 0)), sync=sync)
    except OSError as error:
        raise not_written(path, error) from error
    return True


def _append(fd: int, lines: bytes, *, sync: bool) -> None:
    """Write the lines and close the file in any case."""
    try:
        size = os.lseek(fd, 0, os.SEEK_END)
        if size and os.pread(fd, 1, size - 1) != b"\n":
            lines = b"\n" + lines
        written = 0
        try:
            written = os.write(fd, lines)
        finally:
            if written != len(lines):
                with suppress(OSError):  # then the next writer ends the incomplete line
                    os.ftruncate(fd, size)  # the lock is held, so no other line follows
        if written != len(lines):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def _stale_temporaries(folder: Path) -> list[Path]:
    stale = clock.now().timestamp() - STALE_SECONDS
    with suppress(OSError), os.scandir(folder) as entries:
        return [
            folder / entry.name
            for entry in entries
            if _TEMPORARY.fullmatch(entry.name)
            and entry.is_file(follow_symlinks=False)
            and entry.stat(follow_symlinks=False).st_mtime < stale
        ]
    return []


def is_temporary_of(name: str, temporary: object) -> bool:
    """Return whether ``temporary`` is a name that ``temporary_path`` gives for a file of that name."""
    match = _TEMPORARY.fullmatch(temporary) if isinstance(temporary, str) else None
    return match is not None and match[1] == name and Path(match[0]).name == match[0]


def temporary_path(path: Path) -> Path:
    """Return a new temporary name for a file, in the same folder."""
    return path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")


def write_synced(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Create a private file with this content; FileExistsError if it exists."""
    fd = os.open(path, _CREATING, _PRIVATE_FILE)
    with os.fdopen(fd, "wb", buffering=0) as file:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) or 0 :]
        if sync:
            os.fsync(fd)


def sync_folder(folder: Path) -> None:
    """Make renames in the folder survive a crash of the machine."""
    if os.name != "posix":  # pragma: no cover - other systems cannot open folders
        return
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def discard(paths: list[Path]) -> None:
    """Remove those of the files that can be removed."""
    for path in paths:
        with suppress(OSError):
            path.unlink()


def not_written(path: Path, error: OSError) -> StorageError:
    """Return the error for a file that could not be written."""
    return StorageError(
        f"{path}: not written: {describe_os_error(error)}. What was there is intact.", path=path
    )


def not_readable(path: Path, error: OSError) -> StorageError:
    """Return the error for a file that could not be read."""
    return StorageError(f"{path}: cannot be read: {describe_os_error(error)}.", path=path)


def resolve_links(path: Path) -> Path:
    """Return the file that a path leads to with all links followed."""
    return Path(os.path.realpath(path))


def read_file(path: Path, max_bytes: int = LARGEST_FILE_BYTES) -> bytes:
    """Return the content of a regular file; StorageError if it is missing, too large or cannot be read."""
    try:
        return read_regular_file(path, max_bytes)
    except FileNotFoundError as error:
        raise not_readable(path, error) from error


def read_if_exists(path: Path, max_bytes: int = LARGEST_FILE_BYTES) -> bytes | None:
    """Return the content of a regular file; None if it does not exist."""
    try:
        return read_regular_file(path, max_bytes)
    except FileNotFoundError:
        return None


def replace_if_unchanged(path: Path, before: bytes | None, after: bytes | None) -> None:
    """Replace the content ``before`` by ``after``; None means no file. StorageError if the file has changed."""
    target = resolve_links(path)
    if read_if_exists(target) != before:
        raise StorageError(
            f"{target}: another program has just changed it. Nothing was changed; try again.", path=target
        )
    if after is None:
        try:
            target.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{target}: not removed: {describe_os_error(error)}.", path=target) from error
        return
    status = target.stat() if before is not None else None
    write_file(target, after)
    if status is not None:
        target.chmod(status.st_mode & 0o7777)
        with suppress(OSError):  # without root rights the file is the user's own
            os.chown(target, status.st_uid, status.st_gid)


def remove_if_empty(folder: Path) -> None:
    """Remove the folder if it is empty."""
    with suppress(OSError):
        folder.rmdir()
