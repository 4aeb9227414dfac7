"""Values of a resume state set by hand, on top of whatever was written meanwhile: nothing of either is lost.

A key that somebody else has changed since it was read is refused, by name; everything else is put together.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from leftoff.errors import StorageError, UsageError
from leftoff.flows.project_homes import projects_here
from leftoff.projects import keeping, layout, values
from leftoff.projects.document import Document
from leftoff.projects.keeping import Kept
from leftoff.projects.layout import Home
from leftoff.projects.values import Plain
from leftoff.system import clock


def opened(words: str | None, working_folder: Path) -> tuple[Home, Document]:
    """The project that is meant, and its state as it stands."""
    home = projects_here(working_folder).named(words)
    return home, keeping.load(home)


def checked(changes: Mapping[str, Plain], where: str) -> dict[str, Plain]:
    """The changes, when every key is one of the front matter's and every value of its kind."""
    if unknown := [key for key in changes if key not in values.KEYS]:
        raise UsageError(f"{unknown[0]!r} is no key of a resume state. There are: {', '.join(values.KEYS)}.")
    values.state_of({key: value for key, value in changes.items() if value is not None}, where=where)
    return dict(changes)


def edit(home: Home, read: Document, changes: Mapping[str, Plain], working_folder: Path) -> Kept:
    """Set the keys; ``read`` is what the caller saw when it decided so."""
    here, at = projects_here(working_folder), clock.now()

    def step(found: Document) -> Document:
        then, now = read.values, found.values
        clashing = [key for key in changes if then.get(key) != now.get(key) != changes[key]]
        if clashing:
            raise StorageError(
                f"{home.state}: somebody else has changed {', '.join(clashing)} meanwhile. "
                "Nothing was written; load it again.",
                path=home.state,
            )
        made = found.with_values(changes)
        if made.text == found.text or "last_updated" in changes:
            return made
        return made.with_values({"last_updated": clock.rfc3339(at.replace(microsecond=0))})

    with keeping.locked(layout.checked(home)):
        return keeping.change(home, step, here.register, at)
