"""Files that belong to others, such as an agent's settings: replaced as a careful editor would.

Links are followed and stay links; mode and owner stay; nothing is written when the file has changed since it was read.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from leftoff.errors import StorageError
from leftoff.system import files, reasons


def real(path: Path) -> Path:
    """The file itself, with all links followed."""
    return Path(os.path.realpath(path))


def read(path: Path) -> bytes | None:
    """What stands in it; None when there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{path}: cannot be read: {reasons.words(error)}.", path=path) from error


def replace(path: Path, before: bytes | None, after: bytes | None) -> None:
    """Put ``after`` in the place of ``before``; None stands for no file."""
    target = real(path)
    if read(target) != before:
        raise StorageError(
            f"{target}: somebody else has changed it just now. Nothing was changed; try again.", path=target
        )
    if after is None:
        _unlink(target)
        return
    status = target.stat() if before is not None else None
    files.write_file(target, after)
    if status is not None:
        target.chmod(status.st_mode & 0o7777)
        with suppress(OSError):  # who is not root writes only files of their own
            os.chown(target, status.st_uid, status.st_gid)


def remove_if_empty(folder: Path) -> None:
    """Take away a folder in which nothing is left."""
    with suppress(OSError):
        folder.rmdir()


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{path}: not removed: {reasons.words(error)}.", path=path) from error
