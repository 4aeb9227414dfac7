"""leftoff's own log: what went wrong where nobody could be told, one line each, in the user's state folder.

Written by the fast path in the same form. It never raises, and does not grow beyond a megabyte and the one before it.
"""

from __future__ import annotations

import os
from pathlib import Path

from leftoff.errors import StorageError
from leftoff.system import clock, files, paths

NAME = "leftoff.log"
_LARGEST_BYTES = 1024 * 1024
_LONGEST_LINE = 500


def path() -> Path:
    """Where it is."""
    return paths.state_folder() / NAME


def note(words: str) -> None:
    """Add a line."""
    line = f"{clock.rfc3339(clock.now())} {' '.join(words.split())[:_LONGEST_LINE]}\n"
    try:
        own = path()
        files.make_folder(own.parent)
        if own.is_file() and own.stat().st_size > _LARGEST_BYTES:
            os.replace(own, own.with_name(f"{NAME}.1"))
        files.append_lines(own, line.encode("utf-8", "replace"))
    except (OSError, StorageError):
        return  # then nobody can be told at all
