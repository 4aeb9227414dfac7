"""Changes a large file in a few places atomically, for the price of the change; and copies many small files at once.

``apply_patches`` first writes the change with what it replaces into a small file beside the large one. From then on it counts
as written: ``finish_patch`` completes it if the writer could not. If another program changed the file in between, it is left as
it is, and the new text is kept beside it and reported. All callers hold the folder's lock."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import orjson

from leftoff.errors import StorageError, describe_os_error
from leftoff.platform import clock, files

_OPENING = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_LARGEST_BYTES = 64 * 1024 * 1024  # for larger changes the whole file is written
_CREATING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_BLOCK_BYTES = 1024 * 1024
_DRAFT = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Bytes to write at an offset."""

    at: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """The bytes at an offset before and after. Only the last change, which runs to the end of the file, changes the length."""

    at: int
    before: bytes
    after: bytes


def apply_patches(path: Path, size: int, patches: Sequence[Patch]) -> bool:
    """Change a file of ``size`` bytes, which then ends with the last patch. The caller holds the lock.

    Return False, and change nothing, if the file is gone, has another size, or the record cannot be written. Return True if
    the change is written, or recorded so that ``finish_patch`` will write it.
    """
    finish_patch(path)
    changes = _read_changes(path, size, patches)
    if changes is None:
        return False
    record = _pack(changes)
    if len(record) > _LARGEST_BYTES:
        return False
    try:
        files.write_file(_record_path(path), record)
    except StorageError:
        return False
    with suppress(StorageError):
        finish_patch(path)
    return True


def finish_patch(path: Path) -> None:
    """Complete a recorded change, if there is one. The caller holds the lock.

    StorageError if it cannot be completed now, or never, because another program changed the file. That is reported once.
    """
    record = files.read_small_file(_record_path(path), _LARGEST_BYTES)
    if record is None:
        return
    changes = _unpack(record)
    unsaved: Path | None = None
    try:
        if changes is not None and not _write_changes(path, changes):
            unsaved = next(
                each for each in _unsaved_paths(path) if files.create_file(each, changes[-1].after)
            )
        _record_path(path).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"{path}: a change of it is written but not all in place: {describe_os_error(error)}. "
            "It is completed when leftoff next reads or writes here.",
            path=path,
        ) from error
    if unsaved is not None:
        raise StorageError(
            f"{path}: it was changed while it was being saved. What was to be added is in {unsaved.name}, beside it.",
            path=path,
        )


def has_unfinished_patch(path: Path) -> bool:
    """Return whether a change is recorded but not complete."""
    return files.read_small_file(_record_path(path), _LARGEST_BYTES) is not None


def discard_patch(path: Path) -> None:
    """Remove the record of a change and what others left, for a file that is deleted."""
    with suppress(OSError):
        _record_path(path).unlink()
    files.discard_temporaries(_record_path(path))
    files.discard_temporaries(path)
    for unsaved in _unsaved_paths(path):
        if not os.path.lexists(unsaved):
            break
        with suppress(OSError):
            unsaved.unlink()


def _record_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.patch")


def _unsaved_paths(path: Path) -> Iterator[Path]:
    """Iterate over the names for changes that could not be completed."""
    yield path.with_name(f"{path.name}.unsaved")
    for number in count(2):
        yield path.with_name(f"{path.name}.unsaved-{number}")


def _read_changes(path: Path, size: int, patches: Sequence[Patch]) -> list[_Change] | None:
    """Return the patches with the bytes they replace; None if the file is not the expected one."""
    try:
        with _opened(path) as fd:
            if os.fstat(fd).st_size != size:
                return None
            *first, last = patches
            changes = [
                _Change(at=each.at, before=_read_all(fd, each.at, len(each.data)), after=each.data)
                for each in first
            ]
            tail = _read_all(fd, last.at, size - last.at)
    except OSError:
        return None
    return [*changes, _Change(at=last.at, before=tail, after=last.data)]


def _pack(changes: Sequence[_Change]) -> bytes:
    """Return the record of the changes: one line of JSON with offsets and lengths, then the bytes."""
    places = [[each.at, len(each.before), len(each.after)] for each in changes]
    return b"\n".join(
        [orjson.dumps({"changes": places}), b"".join(each.before + each.after for each in changes)]
    )


def _unpack(record: bytes) -> list[_Change] | None:
    """Read a record; None if it is not valid, since it can have come from a cloned repository."""
    head, _, data = record.partition(b"\n")
    try:
        places = [(int(at), int(old), int(new)) for at, old, new in orjson.loads(head)["changes"]]
    except (ValueError, TypeError, KeyError):
        return None
    changes, rest = [], memoryview(data)
    for at, old, new in places:
        if min(at, old, new) < 0 or old + new > len(rest):
            return None
        changes.append(_Change(at=at, before=bytes(rest[:old]), after=bytes(rest[old : old + new])))
        rest = rest[old + new :]
    if not changes or rest or any(len(each.before) != len(each.after) for each in changes[:-1]):
        return None
    return changes


def _write_changes(path: Path, changes: Sequence[_Change]) -> bool:
    """Write the changes; return False, and write nothing, if another program changed or removed the file."""
    try:
        with _opened(path) as fd:
            if not _matches(fd, changes):
                return False
            for each in changes:
                _write_all(fd, each.at, each.after)
            os.ftruncate(fd, changes[-1].at + len(changes[-1].after))
            os.fsync(fd)
    except FileNotFoundError:
        return False
    return True


def _matches(fd: int, changes: Sequence[_Change]) -> bool:
    """Return whether the file is as before, as after, or partly written, byte by byte."""
    last = changes[-1]
    size = os.fstat(fd).st_size
    if not last.at <= size <= last.at + max(len(last.before), len(last.after)):
        return False
    if size < last.at + min(len(last.before), len(last.after)):
        return False
    return all(
        _is_between(_read_all(fd, each.at, max(len(each.before), len(each.after))), each) for each in changes
    )


def _is_between(current: bytes, change: _Change) -> bool:
    before, after = change.before, change.after
    if current in (before, after):
        return True
    grown = b"\0" * max(len(after) - len(before), 0)  # a crash of the machine can leave new blocks empty
    return all(
        byte in either
        for byte, *either in zip(current, before + grown, after + before[len(after) :], strict=False)
    )


def _write_all(fd: int, at: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(fd, rest, at)
        rest, at = rest[written:], at + written


def _read_all(fd: int, at: int, length: int) -> bytes:
    """Read ``length`` bytes, or as many as there are."""
    parts = []
    while length > 0 and (part := os.pread(fd, length, at)):
        parts.append(part)
        at, length = at + len(part), length - len(part)
    return b"".join(parts)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    fd = os.open(path, _OPENING)
    try:
        yield fd
    finally:
        os.close(fd)


def copy_files(folder: Path, originals: Mapping[str, Path]) -> dict[Path, str]:
    """Copy files into a new folder, which appears when it is complete; the keys of ``originals`` are the paths in it.

    Return the files that could not be read, with the reason. If writing fails, StorageError is raised and nothing is left.
    """
    _remove_stale_drafts(folder.parent)
    draft = folder.with_name(f".{folder.name}.{os.urandom(6).hex()}.tmp")
    try:
        results = {path: _copy_file(path, draft / name) for name, path in originals.items()}
        failed = {path: reason for path, reason in results.items() if reason is not None}
        if len(failed) < len(originals):
            draft.rename(folder)
    except OSError as error:
        raise StorageError(f"{folder}: not written: {describe_os_error(error)}.", path=folder) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return failed


def _copy_file(original: Path, copy: Path) -> str | None:
    """Copy a file; return why it cannot be read, or None. OSError if the copy cannot be written."""
    files.make_folder(copy.parent)
    try:
        source = os.fdopen(os.open(original, _READING), "rb", buffering=0)
    except OSError as error:
        return describe_os_error(error)
    with source, os.fdopen(os.open(copy, _CREATING, 0o600), "wb", buffering=0) as target:
        while True:
            try:
                block = source.read(_BLOCK_BYTES)
            except OSError as error:
                copy.unlink()
                return describe_os_error(error)
            if not block:
                return None
            rest = memoryview(block)
            while rest:
                rest = rest[target.write(rest) or 0 :]


def _remove_stale_drafts(folder: Path) -> None:
    """Remove the old temporary folders of killed writers."""
    stale = clock.now().timestamp() - files.STALE_SECONDS
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if (
                _DRAFT.fullmatch(entry.name)
                and entry.is_dir(follow_symlinks=False)
                and entry.stat(follow_symlinks=False).st_mtime < stale
            ):
                shutil.rmtree(entry.path, ignore_errors=True)
