"""Begin a project: its folders with the documents to be written, and its first resume state."""

from __future__ import annotations

from pathlib import Path

from leftoff.errors import UsageError
from leftoff.flows.project_homes import Here, own_folder, projects_here
from leftoff.flows.project_update import news
from leftoff.projects import keeping, layout, update
from leftoff.projects.facts import TO_DO
from leftoff.projects.layout import Home
from leftoff.system import clock, files, paths

_LONGEST_NAME = 200
_DOCUMENTS = {
    "overview": f"# {{name}}\n\n{TO_DO}\n\n## Purpose\n\n## Goals\n\n## Success\n",
    "plan": f"# Plan: {{name}}\n\n{TO_DO}\n\n## Approach\n\n## Decisions\n\n## Risks\n",
    "steps": f"# Steps: {{name}}\n\n{TO_DO}\n\n## Section 1: Setup\n",
    "research": f"# Research: {{name}}\n\n{TO_DO}\n\n## Findings\n",
}


def init(name: str, working_folder: Path) -> Home:
    """A project in the numbered tree, with the next free number."""
    here, project = projects_here(working_folder), paths.project_of(working_folder)
    _checked(name)
    with keeping.locked_tree(here.tree):  # two that begin at once must not take one number
        home = layout.numbered(here.tree, layout.new_id(here.tree, name))
        paths.contained(here.tree.root, home.folder)
        if not project.in_git:
            paths.make_project_folder(project)  # by which the root is found again from the folders below
        files.make_folder(home.folder)
    for folder in (home.planning, home.resources, *([home.working] if home.working else [])):
        files.make_folder(folder)
    for part, text in _DOCUMENTS.items():
        files.create_file(home.part(part), text.format(name=name.strip()).encode())  # type: ignore[arg-type]
    return _begun(here, home, name)


def init_plain(name: str, working_folder: Path) -> Home:
    """A state of its own for this repository, without any tree."""
    here = projects_here(working_folder)
    _checked(name)
    paths.make_project_folder(own_folder(paths.project_of(working_folder)))
    files.make_folder(here.tree.plain)
    return _begun(here, layout.plain(here.tree), name)


def _begun(here: Here, home: Home, name: str) -> Home:
    at = clock.now()
    with keeping.locked(home):
        first = update.created(home.id, name.strip(), news(here, home, at))
        if not keeping.create(home, first):
            raise UsageError(f"{home.state}: this project has a resume state already.", path=home.state)
        here.register.note_written(home.state, home.id, at)
    return home


def _checked(name: str) -> None:
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise UsageError(f"A project needs a name of one line, at most {_LONGEST_NAME} characters.")
