"""Which projects there are here, and which one is meant: by the words given, by the folder, or because it is the only open one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from leftoff.config.settings import ProjectStateSettings
from leftoff.errors import LeftoffError, NotFoundError, NotTrustedError, UsageError
from leftoff.flows.settings import settings_here
from leftoff.model.values import dataclass
from leftoff.projects import keeping, layout
from leftoff.projects.document import Document
from leftoff.projects.layout import Home, Tree
from leftoff.system import paths
from leftoff.system.paths import Project
from leftoff.system.register import Register


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """The projects of the repository that a folder belongs to, with the settings in force."""

    folder: Path
    tree: Tree
    homes: tuple[Home, ...]
    settings: ProjectStateSettings
    register: Register

    def named(self, words: str | None) -> Home:
        """The project that the words mean; without any, the one that the folder is in, or the only one that is open."""
        if words is not None:
            return layout.checked(layout.named(self.homes, words, self.names))
        inside = [
            home
            for home in self.homes
            if home.working is not None and self.folder.is_relative_to(home.folder)
        ]
        meant = inside or [home for home in self.homes if not self.is_complete(home)] or [*self.homes]
        if not meant:
            raise NotFoundError('There is no project here yet. To begin one: leftoff project init "NAME"')
        if len(meant) > 1:
            some = ", ".join(home.id for home in meant[:6])
            raise UsageError(f"{len(meant)} projects are open here: {some}. Say which one is meant.")
        return layout.checked(meant[0])

    @property
    def names(self) -> dict[str, str]:
        """What the projects are called, by id, as far as their states can be read."""
        read = {home.id: self.state_of(home) for home in self.homes}
        return {
            each: document.state.project.project_name or ""
            for each, document in read.items()
            if document is not None
        }

    def state_of(self, home: Home) -> Document | None:
        """A project's resume state; None where there is none that can be read."""
        with suppress(LeftoffError):
            document = keeping.load(home)
            _ = document.state  # which finds out whether it can be one
            return document
        return None

    def require(self, home: Home) -> None:
        """Pass for a state that may be handed on; NotTrustedError, with what to type, for any other."""
        if self.register.standing(home.state) == "foreign":
            raise NotTrustedError(
                f"{home.state}: it was edited since leftoff wrote it, or came from elsewhere. "
                f"Read it, then: leftoff trust {home.state}",
                path=home.state,
            )

    def is_complete(self, home: Home) -> bool:
        """Whether nothing is left to do in it."""
        document = self.state_of(home)
        return document is not None and document.state.project.project_status == "COMPLETE"


def own_folder(project: Project) -> Project:
    """The same with the folder of this very checkout: a state goes with its branch, so a worktree has its own."""
    if project.worktree is None:
        return project
    return replace(project, folder=project.root / paths.PROJECT_FOLDER)


def projects_here(working_folder: Path) -> Here:
    """All projects of the repository that the folder belongs to. Nothing is created."""
    project, settings = paths.project_of(working_folder), settings_here(working_folder).settings.project_state
    parts = settings.layout
    tree = Tree(
        root=project.root,
        projects=paths.contained(project.root, project.root / settings.root),
        plain=own_folder(project).folder / layout.PLAIN_FOLDER,
        planning=parts.get("planning", "01-planning"),
        resources=parts.get("resources", "02-resources"),
        working=parts.get("working", "03-working"),
    )
    return Here(
        folder=working_folder.resolve(),
        tree=tree,
        homes=tuple(layout.found(tree)),
        settings=settings,
        register=Register(folder=paths.data_folder()),
    )
