"""The loader of 001: what a session reads and does to go on with a project."""

from __future__ import annotations

from pathlib import Path

from leftoff.errors import NotFoundError
from leftoff.flows.project_homes import projects_here
from leftoff.projects import facts, keeping, manifest
from leftoff.projects.manifest import Loaded


def load(words: str | None, working_folder: Path) -> Loaded:
    """The answer for the project that is meant; NotTrustedError for a state that came from elsewhere."""
    here = projects_here(working_folder)
    home = here.named(words)
    try:
        document = keeping.load(home)
    except NotFoundError:
        return manifest.loaded(home, None, facts.gather(home), here.folder)
    here.require(home)
    return manifest.loaded(home, document, facts.gather(home), here.folder)
