"""``ProjectLoader`` (001): what a session reads and does to go on with a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leftoff.flows import project_list, project_load
from leftoff.system import paths


class ProjectLoader:
    """The loader of one repository."""

    def __init__(self, project_path: Path | str | None = None) -> None:
        self.project_path = Path(project_path) if project_path is not None else paths.working_folder()

    def load(self, project: str | int | None = None) -> dict[str, Any]:
        """``{state, action, recommended_reads, instructions}``; NotTrustedError for a state that came from elsewhere."""
        words = None if project is None else str(project)
        return dict(project_load.load(words, self.project_path).to_dict())

    def list(self) -> list[dict[str, Any]]:
        """The projects of the repository, by number."""
        return [dict(each.to_dict()) for each in project_list.projects(self.project_path)]
