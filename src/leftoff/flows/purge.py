"""Everything that leftoff has kept for this user: what there is, and taking it away for good.

The user's own three folders, and the documents of the project we are in; what a project shares with others
(``configuration.yaml``, ``project/``) stays.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from leftoff.errors import StorageError
from leftoff.model.values import dataclass
from leftoff.system import paths, reasons

_SHARED = {"configuration.yaml", "project", ".gitignore"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A folder or file of ours, and what is in it."""

    path: Path
    what: str
    files: int
    size_bytes: int


def kept_data(working_folder: Path) -> list[Kept]:
    """All that would go, and where it is; what is not there is left out."""
    project = paths.project_of(working_folder).folder
    found = {  # on some systems two of them are the same
        paths.config_folder(): "your settings",
        paths.state_folder(): "levels said, extractions, running pauses",
        paths.data_folder(): "register, pins, library, archive",
    }
    if project.is_dir() and not project.is_symlink() and project.name == paths.PROJECT_FOLDER:
        inner = sorted(each for each in project.iterdir() if each.name not in _SHARED)
        found |= dict.fromkeys(inner, "documents of this project")
    return [_kept(path, what) for path, what in found.items() if os.path.lexists(path)]


def purge(kept: Iterable[Kept]) -> None:
    """Take it all away; StorageError names what could not be."""
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
                f"{each.path}: not removed: {reasons.words(error)}.", path=each.path
            ) from error


def _kept(path: Path, what: str) -> Kept:
    sizes = [*_sizes(path)]
    return Kept(path=path, what=what, files=len(sizes), size_bytes=sum(sizes))


def _sizes(path: Path) -> Iterator[int]:
    if path.is_symlink() or path.is_file():
        yield path.lstat().st_size
        return
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name).lstat().st_size for name in names)
