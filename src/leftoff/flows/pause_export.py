"""A copy of a snapshot's JSON where the user wants one."""

from __future__ import annotations

from pathlib import Path

from leftoff.errors import StorageError
from leftoff.flows.pause_finalize import Finalized
from leftoff.system import files, reasons


def export(finalized: Finalized, target: Path) -> Path:
    """The copy; a folder gets a file of the snapshot's own name."""
    path = target / finalized.main.name if target.is_dir() else target
    try:
        data = finalized.main.read_bytes()
    except OSError as error:
        raise StorageError(f"{finalized.main}: cannot be read: {reasons.words(error)}.") from error
    files.write_file(path, data)
    return path
