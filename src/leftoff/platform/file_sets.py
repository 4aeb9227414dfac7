"""Sets of files that belong together: a reader sees all of a set or nothing of it, also after a crash.

All files of a set are written and synced under temporary names first; then a journal names the renames. From then on the set
counts as written: if the writer dies, the next reader or writer finishes the renames. Readers use ``consistent_set``.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson

from leftoff.errors import OutsideFolderError, StorageError, describe_os_error
from leftoff.platform import files, locks

JOURNAL_NAME = ".journal"
_LARGEST_JOURNAL_BYTES = 1024 * 1024


def write_set(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write all files (name → content) into ``folder``; readers see all of them or none."""
    _require_names(contents)
    if folder.is_symlink():
        raise OutsideFolderError(
            f"{folder}: this is a symbolic link; leftoff writes only into a real folder.", path=folder
        )
    files.make_folder(folder)
    with locks.hold(folder / files.LOCK_NAME):
        _finish_renames(folder)
        files.remove_stale_drafts(folder)
        temporaries = {name: files.temporary_path(folder / name) for name in contents}
        try:
            for name, data in contents.items():
                if (folder / name).is_dir() and not (folder / name).is_symlink():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
                files.write_synced(temporaries[name], data)
            _write_journal(folder, {name: temporary.name for name, temporary in temporaries.items()})
        except OSError as error:
            # The journal first: it must not name an incomplete set.
            files.discard([folder / JOURNAL_NAME, *temporaries.values()])
            raise files.not_written(folder, error) from error
        _finish_renames(folder)


@contextmanager
def consistent_set(folder: Path) -> Iterator[None]:
    """Finish a set that is only partly in place, and let no writer in while the block runs."""
    if not folder.is_dir():
        yield
        return
    while True:
        with locks.hold(folder / files.LOCK_NAME, shared=True):
            # Checked under the lock: otherwise a writer could die between the check and the reading.
            if not _is_plain(folder / JOURNAL_NAME):
                yield
                return
        with locks.hold(folder / files.LOCK_NAME):
            _finish_renames(folder)


def read_set(
    folder: Path, names: Iterable[str], max_bytes: int = files.MAX_DOCUMENT_BYTES
) -> dict[str, bytes]:
    """Return the named files that exist, all from the same write. Links and folders are ignored; see ``read_regular_file``."""
    names = [*names]
    _require_names(names)
    with consistent_set(folder):
        return {name: files.read_file(folder / name, max_bytes) for name in names if _is_plain(folder / name)}


def _write_journal(folder: Path, renames: Mapping[str, str]) -> None:
    """Write the journal atomically; once it exists, the set counts as written."""
    temporary = files.temporary_path(folder / JOURNAL_NAME)
    try:
        files.write_synced(temporary, json.dumps(renames).encode())
        os.replace(temporary, folder / JOURNAL_NAME)
    except OSError:
        files.discard([temporary])
        raise
    files.sync_folder(folder)


def _finish_renames(folder: Path) -> None:
    """Do the remaining renames of a journal. The caller holds the lock.

    A journal can come from a cloned repository: only leftoff's own temporary files are moved, and only to the names that
    they were written for.
    """
    try:
        if not _is_plain(folder / JOURNAL_NAME):
            return
        for name, temporary in _read_journal(folder / JOURNAL_NAME).items():
            if _is_plain(folder / temporary):
                with suppress(IsADirectoryError):  # a folder has the name; the other renames still count
                    os.replace(folder / temporary, folder / name)
        files.sync_folder(folder)
        (folder / JOURNAL_NAME).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"{folder}: a set of files is written but not all in place: {describe_os_error(error)}. "
            "It is completed when leftoff next reads or writes here.",
            path=folder,
        ) from error


def _read_journal(journal: Path) -> dict[str, str]:
    """Return the renames in a journal (name → temporary name) without any that leftoff cannot have written."""
    try:
        renames = orjson.loads(files.read_small_file(journal, _LARGEST_JOURNAL_BYTES) or b"")
    except (ValueError, RecursionError):
        return {}
    pairs = renames.items() if isinstance(renames, dict) else ()
    return {
        name: temporary
        for name, temporary in pairs
        if _is_name(name) and files.is_temporary_of(name, temporary)
    }


def _require_names(names: Iterable[str]) -> None:
    for name in names:
        if not _is_name(name):
            raise ValueError(
                f"{name!r} cannot be a file of a set: names only, and none that begins with a dot."
            )


def _is_name(name: str) -> bool:
    return bool(name) and Path(name).name == name and not name.startswith(".") and "\0" not in name


def _is_plain(path: Path) -> bool:
    """Return whether the path is a regular file: no link, folder or device."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: an impossible file name
        return False
    except OSError as error:
        raise files.not_readable(path, error) from error
