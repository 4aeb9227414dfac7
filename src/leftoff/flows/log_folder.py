"""Where a project's resume logs are kept as files: the one place that knows how the setting is read."""

from __future__ import annotations

from pathlib import Path, PurePath

from leftoff.system import paths
from leftoff.system.paths import Project


def log_folder(project: Project, storage_dir: str) -> Path:
    """The folder that the setting names: below ``.leftoff`` wherever that stands, else below the root that holds it."""
    named = PurePath(storage_dir)
    if named.is_absolute():
        return Path(named)
    if named.parts[:1] == (paths.PROJECT_FOLDER,):
        return paths.contained(project.folder, project.folder.joinpath(*named.parts[1:]))
    return paths.contained(project.root, project.root / named)
