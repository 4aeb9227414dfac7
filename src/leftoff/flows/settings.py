"""The settings in force here and now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from leftoff.config import layers
from leftoff.config.layers import Config
from leftoff.system import paths


def settings_here(working_folder: Path | None = None, options: Mapping[str, str] | None = None) -> Config:
    """Defaults < user file < project file < environment < ``options``. Nothing is created."""
    project = paths.project_of(working_folder or paths.working_folder())
    return layers.load(
        user_file=paths.config_folder() / layers.FILE_NAME,
        project_file=project.folder / layers.FILE_NAME,
        environment=paths.environment(),
        options=options,
    )
