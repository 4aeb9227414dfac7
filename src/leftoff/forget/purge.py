"""Everything that leftoff keeps for this user: list it, and delete it for good.

That is the user's own folders and the documents of the current project, without what a project shares with others.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from leftoff.errors import StorageError, describe_os_error
from leftoff.forget.places import documents_of_folder, files_below
from leftoff.platform import paths


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptData:
    """A folder or file of ours, and how much is in it."""

    path: Path
    what: str
    files: int
    size_bytes: int


def kept_data(working_folder: Path) -> list[KeptData]:
    """List what would be deleted, as far as it exists."""
    project = paths.find_project(working_folder)
    found = {  # on some systems two of them are the same folder
        paths.config_folder(): "your settings",
        paths.state_folder(): "warnings given, extractions, running pauses",
        paths.data_folder(): "register, pins, library, archive",
    }
    if project.folder.name == paths.PROJECT_FOLDER:
        found |= dict.fromkeys(documents_of_folder(project), "documents of this project")
    kept = []
    for path, what in found.items():
        if os.path.lexists(path):
            sizes = [each.lstat().st_size for each in files_below(path)]
            kept.append(KeptData(path=path, what=what, files=len(sizes), size_bytes=sum(sizes)))
    return kept


def purge(kept: Iterable[KeptData]) -> None:
    """Delete it; StorageError names what could not be deleted."""
    for each in kept:
        try:
            if each.path.is_dir() and not each.path.is_symlink():
                shutil.rmtree(each.path)
            else:
                each.path.unlink(missing_ok=True)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StorageError(
                f"{each.path}: not removed: {describe_os_error(error)}.", path=each.path
            ) from error
