"""leftoff's own log file in the user's state folder: problems that could not be reported anywhere else, one line each.

The fast path writes to it in the same form. Writing never raises, and the file is rotated at one megabyte."""

from __future__ import annotations

import os
from pathlib import Path

from leftoff.errors import StorageError
from leftoff.platform import clock, files, paths

NAME = "leftoff.log"
_LARGEST_BYTES = 1024 * 1024
_LONGEST_LINE = 500
_LOCK_SECONDS = 0.1  # hooks and the status line write here too, and an agent waits for them


def log_path() -> Path:
    """Return the path of the log file."""
    return paths.state_folder() / NAME


def write_line(text: str) -> None:
    """Append a line with the current time."""
    line = f"{clock.format_rfc3339(clock.now())} {' '.join(text.split())[:_LONGEST_LINE]}\n"
    try:
        path = log_path()
        files.make_folder(path.parent)
        if path.is_file() and path.stat().st_size > _LARGEST_BYTES:
            os.replace(path, path.with_name(f"{NAME}.1"))
        files.append_lines(path, line.encode("utf-8", "replace"), timeout_seconds=_LOCK_SECONDS)
    except (OSError, StorageError):
        return  # there is no other place to report it
