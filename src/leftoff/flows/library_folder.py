"""Where the library is; as text, because a search has no time to load more."""

from __future__ import annotations

from leftoff.system import user_folders

NAME = "library"
LOCK = "update.lock"  # held by whoever reads in, archives or forgets


def library_folder() -> str:
    """In the user's data folder."""
    return f"{user_folders.user_folder('data')}/{NAME}"
