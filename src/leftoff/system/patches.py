"""A large file changed in a few places, whole or not at all, for the price of the change and not of the file.

What is to be written, and what stands there now, is first put beside the file, synced, under one name. From then on it
counts as written: whoever comes next through ``settle`` finishes it if we did not live to, or could not. A file that
somebody else changed in between is left as it is; what was to be written is then kept beside it, and said. Everybody holds
the folder's lock.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import orjson

from leftoff.errors import StorageError
from leftoff.model.values import dataclass
from leftoff.system import files, reasons

_OPENING = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_LARGEST_BYTES = 64 * 1024 * 1024  # a change beyond that is none: its file is written anew


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Bytes and where they go."""

    at: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What stands at a place before and after. All but the last change of a file are of one length; the last runs to its end."""

    at: int
    before: bytes
    after: bytes


def apply(path: Path, size: int, patches: Sequence[Patch]) -> bool:
    """Change a file of ``size`` bytes, which then ends with the last patch. The caller holds the lock.

    False, and nothing is changed: the file is gone, has another size, or the change cannot be put beside it. True: it is
    written, or will be by whoever settles the file next.
    """
    settle(path)
    changes = _changes(path, size, patches)
    if changes is None:
        return False
    record = _told(changes)
    if len(record) > _LARGEST_BYTES:
        return False
    try:
        files.write_file(_beside(path), record)
    except StorageError:
        return False
    with suppress(StorageError):
        settle(path)
    return True


def settle(path: Path) -> None:
    """Finish a change that was begun; nothing where none was. The caller holds the lock.

    StorageError: it cannot be finished now; or never, as somebody else has changed the file. That is said once.
    """
    beside = _beside(path)
    told = files.read_plain(beside, _LARGEST_BYTES)
    if told is None:
        return
    changes = _read(told)
    try:
        kept = None if changes is None or _write(path, changes) else _keep_aside(path, changes[-1].after)
        beside.unlink(missing_ok=True)
    except OSError as error:
        raise _unfinished(path, error) from error
    if kept is not None:
        raise StorageError(
            f"{path}: somebody changed it while it was being saved. What was to be added is in {kept.name}, beside it.",
            path=path,
        )


def is_unsettled(path: Path) -> bool:
    """Whether a change was begun and not finished."""
    return files.read_plain(_beside(path), _LARGEST_BYTES) is not None


def forget(path: Path) -> None:
    """Drop a change that was begun and whatever was left of others, for a file that is deleted."""
    with suppress(OSError):
        _beside(path).unlink()
    files.discard_temporaries(_beside(path))
    files.discard_temporaries(path)
    for kept in _aside(path):
        if not os.path.lexists(kept):
            break
        with suppress(OSError):
            kept.unlink()


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.patch")


def _aside(path: Path) -> Iterator[Path]:
    """Where changes are kept that could not be finished."""
    yield path.with_name(f"{path.name}.unsaved")
    for number in count(2):
        yield path.with_name(f"{path.name}.unsaved-{number}")


def _keep_aside(path: Path, data: bytes) -> Path:
    return next(each for each in _aside(path) if files.create_file(each, data))


def _changes(path: Path, size: int, patches: Sequence[Patch]) -> list[_Change] | None:
    """The patches with what they replace; None when the file is not the one that they are for."""
    try:
        with _opened(path) as fd:
            if os.fstat(fd).st_size != size:
                return None
            *first, last = patches
            found = [
                _Change(at=each.at, before=_read_all(fd, each.at, len(each.data)), after=each.data)
                for each in first
            ]
            tail = _read_all(fd, last.at, size - last.at)
    except OSError:
        return None
    return [*found, _Change(at=last.at, before=tail, after=last.data)]


def _told(changes: Sequence[_Change]) -> bytes:
    """The file beside: one line of JSON that says where everything goes, and then the bytes."""
    places = [[each.at, len(each.before), len(each.after)] for each in changes]
    return b"\n".join(
        [orjson.dumps({"changes": places}), b"".join(each.before + each.after for each in changes)]
    )


def _read(told: bytes) -> list[_Change] | None:
    """What a file beside says; None when it cannot be ours: it may have come with somebody's repository."""
    head, _, data = told.partition(b"\n")
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


def _write(path: Path, changes: Sequence[_Change]) -> bool:
    """Put everything in its place; False, and nothing is written, where somebody else was at work. A file that is gone stays so."""
    try:
        with _opened(path) as fd:
            if not _fits(fd, changes):
                return False
            for each in changes:
                _write_all(fd, each.at, each.after)
            os.ftruncate(fd, changes[-1].at + len(changes[-1].after))
            os.fsync(fd)
    except FileNotFoundError:
        return False
    return True


def _fits(fd: int, changes: Sequence[_Change]) -> bool:
    """Whether the file is as it was before, as it will be after, or torn between the two, byte by byte."""
    last = changes[-1]
    size = os.fstat(fd).st_size
    if not last.at <= size <= last.at + max(len(last.before), len(last.after)):
        return False
    if size < last.at + min(len(last.before), len(last.after)):
        return False
    return all(
        _is_between(_read_all(fd, each.at, max(len(each.before), len(each.after))), each) for each in changes
    )


def _is_between(found: bytes, change: _Change) -> bool:
    before, after = change.before, change.after
    if found in (before, after):
        return True
    grown = b"\0" * max(
        len(after) - len(before), 0
    )  # what a crash of the whole machine may leave of new blocks
    return all(
        byte in either
        for byte, *either in zip(found, before + grown, after + before[len(after) :], strict=False)
    )


def _write_all(fd: int, at: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(fd, rest, at)
        rest, at = rest[written:], at + written


def _read_all(fd: int, at: int, length: int) -> bytes:
    """As much as there is of that."""
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


def _unfinished(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path}: a change of it is written but not all in place: {reasons.words(error)}. "
        "It is finished when somebody next reads or writes here.",
        path=path,
    )
