"""Private copies of many small files: there all at once or not at all, and not waited for until they are on the disk.

What a killed writer left stands under a name that nobody looks at, and is removed by a later one.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from leftoff.errors import StorageError
from leftoff.system import clock, files, reasons

_CREATING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_BLOCK_BYTES = 1024 * 1024
_DRAFT = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")
_STALE_SECONDS = 3600


def copy_into(folder: Path, originals: Mapping[str, Path]) -> dict[Path, str]:
    """Copy the files, byte by byte, into a new folder that takes its name when all are in it; the keys are their paths in it.

    Those that cannot be read are left out, and come back with the reason. StorageError where something cannot be written: then nothing is left.
    """
    _sweep(folder.parent)
    draft = folder.with_name(f".{folder.name}.{os.urandom(6).hex()}.tmp")
    try:
        told = {path: _copied(path, draft / name) for name, path in originals.items()}
        left = {path: why for path, why in told.items() if why is not None}
        if len(left) < len(originals):
            draft.rename(folder)
    except OSError as error:
        raise StorageError(f"{folder}: not written: {reasons.words(error)}.", path=folder) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return left


def _copied(original: Path, copy: Path) -> str | None:
    """Copy the file; in words why it cannot be read, None where it is copied. OSError where the copy cannot be written."""
    files.make_folder(copy.parent)
    try:
        source = os.fdopen(os.open(original, _READING), "rb", buffering=0)
    except OSError as error:
        return reasons.words(error)
    with source, os.fdopen(os.open(copy, _CREATING, 0o600), "wb", buffering=0) as made:
        while True:
            try:
                block = source.read(_BLOCK_BYTES)
            except OSError as error:
                copy.unlink()
                return reasons.words(error)
            if not block:
                return None
            rest = memoryview(block)
            while rest:
                rest = rest[made.write(rest) or 0 :]


def _sweep(folder: Path) -> None:
    """Remove the drafts of writers who were killed long ago."""
    stale = clock.now().timestamp() - _STALE_SECONDS
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if (
                _DRAFT.fullmatch(entry.name)
                and entry.is_dir(follow_symlinks=False)
                and entry.stat(follow_symlinks=False).st_mtime < stale
            ):
                shutil.rmtree(entry.path, ignore_errors=True)
