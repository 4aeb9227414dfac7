"""Resume states as files: read, changed under a lock, written whole, and remembered in the register.

Promises: a change starts from what stands on the disk, so that nobody's words are lost; what changes between our look and our
writing is an error, and nothing was written. Our own additions never make a foreign document ours: one that this machine
wrote stays written by it, one that the user trusted stays trusted, any other stays foreign.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from leftoff.errors import NotFoundError
from leftoff.model.values import dataclass
from leftoff.projects import layout
from leftoff.projects.document import LARGEST_BYTES, Document
from leftoff.projects.layout import Home, Tree
from leftoff.system import files, foreign_files, locks, paths
from leftoff.system.register import Register, Standing

FOLDER = "projects"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A resume state as it stands now. ``is_changed``: it was written just now."""

    home: Home
    document: Document
    is_changed: bool
    standing: Standing


def load(home: Home) -> Document:
    """The resume state; NotFoundError where there is none."""
    data = layout.content_bytes(layout.checked(home), home.state, LARGEST_BYTES)
    if data is None:
        raise NotFoundError(
            f"{home.state}: {home.id} has no resume state yet. To make one: leftoff project import {home.id}",
            path=home.state,
        )
    return Document.of_bytes(data, str(home.state))


def change(home: Home, step: Callable[[Document], Document], register: Register, at: datetime) -> Kept:
    """Take one step from the resume state as it is now; the caller holds the project's lock."""
    before = load(home)
    after = step(before)
    standing = register.standing(home.state)
    if after.text == before.text:
        return Kept(home=home, document=before, is_changed=False, standing=standing)
    foreign_files.replace(home.state, before.to_bytes(), after.to_bytes())
    if standing == "trusted":
        register.trust(home.state, at)
    elif standing == "written":
        register.note_written(home.state, home.id, at)
    return Kept(home=home, document=after, is_changed=True, standing=standing)


def create(home: Home, document: Document) -> bool:
    """The first resume state of a project; False where there is one, which stays. Whether it is ours, the caller knows."""
    return files.create_file(layout.checked(home).state, document.to_bytes())


@contextmanager
def locked(home: Home) -> Iterator[None]:
    """While the block runs, nobody else of ours changes the project."""
    with _lock(home.state):
        yield


@contextmanager
def locked_tree(tree: Tree) -> Iterator[None]:
    """While the block runs, nobody else of ours begins a project here."""
    with _lock(tree.projects):
        yield


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """The lock stands with our own state, not in the repository."""
    folder = paths.state_folder() / FOLDER
    files.make_folder(folder)
    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:24]
    with locks.held(folder / f"{name}.lock"):
        yield


def write(path: Path, before: str, after: str) -> None:
    """A document of the project with its new text; refused where it has changed since it was read."""
    if before != after:
        foreign_files.replace(
            path, before.encode("utf-8", "surrogateescape"), after.encode("utf-8", "surrogateescape")
        )
